//! What is wrong with a configuration, shown where it was written.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet, normalize_untrusted_str};

use super::layer::Layer;

/// What stands before a help beside the number of its line: ` = help: `, and blanks.
const BEFORE_HELP: usize = 10;
/// The same before a message: `windlass: error: `.
const BEFORE_TITLE: usize = 17;

/// Everything found wrong, in the order of the layers and of their lines.
#[derive(Debug, PartialEq)]
pub struct ConfigError {
    pub problems: Vec<ConfigProblem>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ConfigProblem {
    /// The file, or `--set`.
    pub file: String,
    /// Line and column, from 1; none where the whole file is the problem.
    pub at: Option<(usize, usize)>,
    pub message: String,
    /// What to do about it.
    pub help: String,
    shown: Option<(Arc<Layer>, Range<usize>)>,
}

/// A problem inside one text, by byte offsets, before it is tied to its file.
#[derive(Clone, Debug, PartialEq)]
pub struct TextProblem {
    pub span: Range<usize>,
    pub message: String,
    pub help: String,
}

/// Whether the terminal may be sent colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Styling {
    Plain,
    Ansi,
}

impl ConfigProblem {
    pub fn in_text(layer: &Arc<Layer>, problem: TextProblem) -> Self {
        let span = problem.span.start.min(layer.text.len())..problem.span.end.min(layer.text.len());
        Self {
            file: layer.name.clone(),
            at: Some(layer.line_and_column(span.start)),
            message: problem.message,
            help: problem.help,
            shown: Some((Arc::clone(layer), span)),
        }
    }

    pub fn of_file(file: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { file: file.into(), at: None, message: message.into(), help: help.into(), shown: None }
    }

    pub fn at(mut self, line: usize, column: usize) -> Self {
        self.at = Some((line, column));
        self
    }

    fn render(&self, renderer: &Renderer, columns: usize) -> String {
        let message = normalize_untrusted_str(&self.message);
        let title = match (&self.shown, self.at) {
            (Some(_), _) => message,
            (None, None) => format!("{}: {message}", self.file),
            (None, Some((line, column))) => format!("{}:{line}:{column}: {message}", self.file),
        };
        let line = self.at.map_or(0, |(line, _)| line);
        let margin = line.to_string().len() + BEFORE_HELP;
        let help = broken(&normalize_untrusted_str(&self.help), columns.saturating_sub(margin));
        let help = Level::HELP.message(help);
        let title = Level::ERROR.primary_title(broken(&title, columns.saturating_sub(BEFORE_TITLE)));
        let group = match &self.shown {
            Some((layer, span)) => title.element(
                Snippet::source(layer.text.as_str())
                    .path(layer.name.as_str())
                    .annotation(AnnotationKind::Primary.span(span.clone())),
            ),
            None => annotate_snippets::Group::with_title(title),
        };
        renderer.render(&[group.element(help)])
    }
}

/// Lines of at most so many columns, broken between words; a word that is wider stays whole.
fn broken(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let room = word.chars().count();
        if used > 0 && used + 1 + room > columns {
            out.push('\n');
            used = 0;
        } else if !out.is_empty() {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += room;
    }
    out
}

impl ConfigError {
    /// For a page of so many columns.
    pub fn render(&self, styling: Styling, columns: usize) -> String {
        let renderer = match styling {
            Styling::Plain => Renderer::plain(),
            Styling::Ansi => Renderer::styled(),
        };
        let shown: Vec<String> =
            self.problems.iter().map(|problem| problem.render(&renderer, columns)).collect();
        shown.join("\n\n")
    }
}

impl From<ConfigProblem> for ConfigError {
    fn from(problem: ConfigProblem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Styling::Plain, usize::MAX))
    }
}

impl std::error::Error for ConfigError {}
