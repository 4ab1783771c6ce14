//! One text, and one pattern of paths.

use super::{SimpleKind, TomlValue, quoted, wrong_type};
use crate::problem::TextProblem;

pub const TEXT: SimpleKind<String> = SimpleKind { takes: "text", parse: text, show: |text| quoted(text) };

/// One pattern of paths inside the repository.
pub const GLOB: SimpleKind<String> =
    SimpleKind { takes: "glob of paths in the repository", parse: glob, show: |glob| quoted(glob) };

pub fn text(key: &str, value: &TomlValue<'_>) -> Result<String, TextProblem> {
    let Some(text) = value.get_ref().as_str() else {
        return Err(wrong_type(key, "a text in quotes", value));
    };
    if text.contains('\0') {
        return Err(TextProblem {
            span: value.span(),
            message: format!("`{key}` has a NUL character in it"),
            help: "remove it: no program can be given one".to_owned(),
        });
    }
    Ok(text.to_owned())
}

fn glob(key: &str, value: &TomlValue<'_>) -> Result<String, TextProblem> {
    let written = text(key, value)?;
    if written.is_empty() {
        return Ok(written);
    }
    let wrong = |message: String| TextProblem {
        span: value.span(),
        message,
        help:
            "write it like \"target/junit.xml\" or \"build/**/TEST-*.xml\", from the root of the repository"
                .to_owned(),
    };
    let path = inside(&written).map_err(|why| wrong(format!("in `{key}`, {why}")))?;
    match globset::Glob::new(&path) {
        Ok(_) => Ok(path),
        Err(error) => {
            let why = format!("the glob {} is not valid: {}", quoted(&written), error.kind());
            Err(wrong(format!("in `{key}`, {why}")))
        }
    }
}

/// A path from the root of the repository, without a leading `./`.
pub fn inside(item: &str) -> Result<String, String> {
    let path = item.strip_prefix("./").unwrap_or(item);
    if path.trim().is_empty() {
        return Err("a path is empty".to_owned());
    }
    if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Err(format!("{} leads out of the repository", quoted(item)));
    }
    Ok(path.to_owned())
}
