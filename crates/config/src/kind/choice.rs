//! One word out of a few.

use windlass_core::nearest::nearest;
use windlass_core::policy::{NetworkKind, NetworkPolicy};

use super::text::text;
use super::{Setter, TomlValue, ValueKind, not_available, quoted, replace};
use crate::problem::TextProblem;

pub struct OneOf<T> {
    pub options: Vec<T>,
    /// The word for an option.
    pub name: fn(&T) -> &str,
    /// Words of later versions, refused as such.
    pub later: &'static [&'static str],
}

impl<T: Clone> OneOf<T> {
    fn words(&self) -> String {
        let words: Vec<String> = self.options.iter().map(|option| quoted((self.name)(option))).collect();
        words.join(", ")
    }

    fn parse(&self, key: &str, value: &TomlValue<'_>) -> Result<T, TextProblem> {
        let word = text(key, value)?;
        let name = |option| (self.name)(option);
        if let Some(option) = self.options.iter().find(|option| name(option) == word) {
            return Ok(option.clone());
        }
        let known = format!("known here: {}", self.words());
        if self.later.contains(&word.as_str()) {
            let problem = not_available(&format!("{key} = {}", quoted(&word)), value.span());
            return Err(TextProblem { help: known, ..problem });
        }
        let meant = nearest(&word, self.options.iter().map(name));
        let help = meant.map_or(known.clone(), |option| format!("did you mean {}? {known}", quoted(option)));
        let message = format!("`{key}` cannot be {}", quoted(&word));
        Err(TextProblem { span: value.span(), message, help })
    }
}

impl<T: Clone + Send + Sync + 'static> ValueKind for OneOf<T> {
    type Target = T;

    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<T>, Vec<TextProblem>> {
        replace(self.parse(key, value))
    }

    fn takes(&self) -> String {
        self.words()
    }

    fn show(&self, option: &T) -> String {
        quoted((self.name)(option))
    }
}

/// The word for a network; its list of hosts is another key.
pub struct NetworkWord;

impl NetworkWord {
    fn kinds() -> OneOf<NetworkKind> {
        OneOf {
            options: vec![NetworkKind::Open, NetworkKind::Loopback, NetworkKind::None, NetworkKind::Allow],
            name: |kind| kind.name(),
            later: &[],
        }
    }
}

impl ValueKind for NetworkWord {
    type Target = NetworkPolicy;

    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<NetworkPolicy>, Vec<TextProblem>> {
        let kind = Self::kinds().parse(key, value).map_err(|problem| vec![problem])?;
        Ok(Box::new(move |network| network.kind = kind))
    }

    fn takes(&self) -> String {
        Self::kinds().takes()
    }

    fn show(&self, network: &NetworkPolicy) -> String {
        quoted(network.meant().name())
    }
}
