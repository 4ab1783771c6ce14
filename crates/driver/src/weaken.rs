//! Switching one defence off, for the tests that show what it is good for.
//!
//! Only a build with the feature `weaken` knows the variable; in any other every
//! defence is always on, and nothing of this is in the binary.

/// What a test may do without, by the word that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defence {
    /// Protected paths are restored, and a change to one is found.
    Protect,
    /// The work is judged on trusted terms as well.
    Terms,
    /// The control is believed, whatever it says.
    Control,
    Junit,
    /// No check writes to the cache of another.
    Cache,
    /// Each check has a tree of its own.
    Fresh,
    /// What a check writes goes to a layer over the clean tree. Without one the
    /// tree is compared and rewritten, as where no layer can be mounted.
    Layer,
    /// Nothing that judges can be written while a check runs.
    Watch,
    /// No agent sees what is hidden, and each gate has it.
    Hidden,
    /// The PATH has no entry that an agent could fill.
    Path,
    /// Secrets are taken out of what is stored and shown.
    Redact,
    /// What is measured on a tree becomes a finding.
    Evidence,
}

#[cfg(feature = "weaken")]
impl Defence {
    fn word(self) -> &'static str {
        match self {
            Self::Protect => "protect",
            Self::Terms => "terms",
            Self::Control => "control",
            Self::Junit => "junit",
            Self::Cache => "cache",
            Self::Fresh => "fresh",
            Self::Layer => "layer",
            Self::Watch => "watch",
            Self::Hidden => "hidden",
            Self::Path => "path",
            Self::Redact => "redact",
            Self::Evidence => "evidence",
        }
    }
}

impl crate::surroundings::Surroundings {
    /// Whether this run is to do without the defence.
    #[cfg(feature = "weaken")]
    pub fn is_weak(&self, defence: Defence) -> bool {
        let asked = self.var("WINDLASS_WEAKEN").and_then(std::ffi::OsStr::to_str).unwrap_or_default();
        asked.split(',').any(|word| word.trim() == defence.word())
    }

    #[cfg(not(feature = "weaken"))]
    #[inline]
    pub fn is_weak(&self, _: Defence) -> bool {
        false
    }
}
