//! The operator's own templates for briefs: read once, when the policy that names them is made, and kept with it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use windlass_agent::brief::{MAX_TEMPLATE_BYTES, NAMES, check};
use windlass_core::policy::{OwnMode, OwnText, Policy};
use windlass_core::task::TaskMode;
use windlass_gate::literal;

use crate::surroundings::Surroundings;

/// Where the texts of modes are, in the project and in the operator's configuration.
const PROMPTS: &str = "prompts";

#[derive(Debug, thiserror::Error)]
#[error("{key}: {why}")]
pub struct BadBrief {
    pub key: &'static str,
    pub why: String,
    /// Whether the file was read, so that its text is what is wrong.
    is_read: bool,
}

impl BadBrief {
    pub fn hints(&self) -> Vec<String> {
        match self.is_read {
            true => vec![format!(
                "a template may use {{{{ name }}}} and {{% if name %}} with: {}",
                NAMES.join(", ")
            )],
            false => vec![format!("correct {}, or take it out to use windlass's own text", self.key)],
        }
    }
}

/// Fills in what the files say, unless it is known. One inside the project steers agents, so none may change it.
pub fn read(policy: &mut Policy, project: &Path) -> Result<(), BadBrief> {
    let mut protected = Vec::new();
    for (part, own) in policy.brief.written_mut() {
        let key = part.key();
        let bad = |why: String, is_read| BadBrief { key, why, is_read };
        if own.text.is_empty() {
            let text = text(&project.join(&own.file));
            own.text = text.map_err(|why| bad(format!("cannot read {}: {why}", own.file), false))?;
        }
        check(&own.text).map_err(|wrong| bad(format!("{}:{wrong}", own.file), true))?;
        protected.extend(inside(project, &own.file));
    }
    protected.retain(|glob| !policy.gate.protect.contains(glob));
    policy.gate.protect.extend(protected);
    Ok(())
}

/// The same for the modes of the operator's that tasks have: `MODE.md`, and `MODE_review.md` for its reviewer, in
/// the project's prompts or in those of the operator's own configuration. Returns a mode that has none.
pub fn read_modes(
    policy: &mut Policy,
    modes: &[String],
    surroundings: &Surroundings,
) -> Result<Option<String>, BadBrief> {
    for mode in modes.iter().filter(|mode| !is_built_in(mode)) {
        if policy.modes.contains_key(mode) {
            continue;
        }
        let Some(author) = own_text(surroundings, &format!("{mode}.md"))? else {
            return Ok(Some(mode.clone()));
        };
        let reviewer = own_text(surroundings, &format!("{mode}_review.md"))?.unwrap_or_default();
        for file in [&author.file, &reviewer.file].into_iter().filter(|file| !file.is_empty()) {
            let globs = inside(&surroundings.project, file);
            policy.gate.protect.extend(globs);
        }
        policy.modes.insert(mode.clone(), OwnMode { author, reviewer });
    }
    Ok(None)
}

fn is_built_in(mode: &str) -> bool {
    match TaskMode::from(mode.to_owned()) {
        TaskMode::Implement | TaskMode::Explore | TaskMode::Fix => true,
        TaskMode::Own(_) => false,
    }
}

/// Whether a task may have the mode.
pub fn is_mode(surroundings: &Surroundings, mode: &str) -> bool {
    is_built_in(mode) || own_file(surroundings, &format!("{mode}.md")).is_some()
}

/// The first place that has the file.
fn own_file(surroundings: &Surroundings, name: &str) -> Option<String> {
    let config = surroundings.var("XDG_CONFIG_HOME").map(PathBuf::from);
    let home = || surroundings.var("HOME").map(|home| PathBuf::from(home).join(".config"));
    let config = config.or_else(home).map(|config| config.join("windlass"));
    let own = config.map(|config| config.join(PROMPTS).join(name).display().to_string());
    let places = [Some(format!("{PROMPTS}/{name}")), own];
    places.into_iter().flatten().find(|file| surroundings.project.join(file).exists())
}

fn own_text(surroundings: &Surroundings, name: &str) -> Result<Option<OwnText>, BadBrief> {
    let Some(file) = own_file(surroundings, name) else { return Ok(None) };
    let bad = |why: String, is_read| BadBrief { key: "mode", why, is_read };
    let text = text(&surroundings.project.join(&file));
    let text = text.map_err(|why| bad(format!("cannot read {file}: {why}"), false))?;
    check(&text).map_err(|wrong| bad(format!("{file}:{wrong}"), true))?;
    Ok(Some(OwnText { file, text }))
}

fn text(file: &Path) -> Result<String, String> {
    let opened = std::fs::File::open(file).map_err(|error| error.to_string())?;
    if !opened.metadata().is_ok_and(|found| found.is_file()) {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_TEMPLATE_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    opened.take(limit).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > MAX_TEMPLATE_BYTES {
        return Err(format!("it is longer than {MAX_TEMPLATE_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// The file as a pattern of `gate.protect`, and what it leads to if it is a link; nothing outside the project.
fn inside(project: &Path, file: &str) -> Vec<String> {
    let whole = |path: &Path| path.canonicalize().ok();
    let (Some(root), Some(real)) = (whole(project), whole(&project.join(file))) else { return Vec::new() };
    let parent = project.join(file).parent().and_then(whole);
    let named = parent.zip(Path::new(file).file_name()).map(|(parent, name)| parent.join(name));
    let mut globs: Vec<String> = [Some(real), named]
        .into_iter()
        .flatten()
        .filter_map(|path| path.strip_prefix(&root).ok()?.to_str().map(literal))
        .collect();
    globs.dedup();
    globs
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use windlass_core::policy::BriefPart;

    use super::*;

    fn policy(file: &str) -> Policy {
        let mut policy = Policy::default();
        policy.brief.part_mut(BriefPart::Rules).file = file.to_owned();
        policy
    }

    #[test]
    fn a_template_is_read_and_protected_where_an_agent_could_change_it() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        std::fs::create_dir_all(project.join("briefs")).unwrap();
        std::fs::write(project.join("briefs/my [rules].md"), "Be kind, {{ role }}.").unwrap();
        std::fs::write(root.path().join("mine.md"), "Be brief.").unwrap();
        symlink("my [rules].md", project.join("briefs/link.md")).unwrap();

        let read = |file: &str| {
            let mut policy = policy(file);
            read(&mut policy, &project)
                .map(|()| (policy.brief.part_mut(BriefPart::Rules).text.clone(), policy.gate.protect))
        };
        let kind = "Be kind, {{ role }}.".to_owned();
        let glob = "briefs/my [[]rules[]].md".to_owned();
        assert_eq!(read("briefs/my [rules].md").unwrap(), (kind.clone(), vec![glob.clone()]));
        assert_eq!(read("briefs/../briefs/my [rules].md").unwrap(), (kind.clone(), vec![glob.clone()]));
        assert_eq!(read("briefs/link.md").unwrap(), (kind, vec![glob, "briefs/link.md".to_owned()]));
        let outside = root.path().join("mine.md");
        assert_eq!(read(outside.to_str().unwrap()).unwrap(), ("Be brief.".to_owned(), vec![]));
        assert_eq!(read("").unwrap(), (String::new(), vec![]));
    }

    #[test]
    fn a_text_that_is_known_stays_and_is_protected_once() {
        let project = tempfile::tempdir().unwrap();
        std::fs::write(project.path().join("a.md"), "as it was").unwrap();
        let mut policy = policy("a.md");
        read(&mut policy, project.path()).unwrap();
        std::fs::write(project.path().join("a.md"), "as it is").unwrap();
        let before = policy.clone();
        read(&mut policy, project.path()).unwrap();
        assert_eq!(policy, before);
        policy.gate.protect.clear();
        read(&mut policy, project.path()).unwrap();
        assert_eq!(policy, before);
    }

    #[test]
    fn what_cannot_be_read_or_used_is_refused_with_its_key() {
        let project = tempfile::tempdir().unwrap();
        std::fs::write(project.path().join("a.md"), "x\n{{ tsk }}").unwrap();
        std::fs::write(project.path().join("b.md"), b"\xff").unwrap();
        std::fs::write(project.path().join("c.md"), vec![b'x'; 100_000]).unwrap();
        let said = |file| read(&mut policy(file), project.path()).unwrap_err().to_string();
        assert_eq!(said("a.md"), "brief.rules: a.md:2:1: there is no placeholder `tsk`");
        assert_eq!(said("b.md"), "brief.rules: cannot read b.md: it is not UTF-8");
        assert_eq!(said("c.md"), "brief.rules: cannot read c.md: it is longer than 8192 bytes");
        assert!(said("none.md").starts_with("brief.rules: cannot read none.md: No such file"));
        assert_eq!(said("."), "brief.rules: cannot read .: it is no file");
    }
}
