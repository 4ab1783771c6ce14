//! What a terminal shows: lines of text with their colours, as tmux hands them out.

use super::placeholders::steady;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    pub lines: Vec<Vec<Span>>,
}

/// Text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub text: String,
    pub style: Style,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    pub hue: Option<Hue>,
    pub is_bold: bool,
    pub is_faint: bool,
}

/// The colours that windlass paints with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hue {
    Red,
    Green,
    Yellow,
}

impl Screen {
    /// Of text with escape sequences for colours, without what differs from run to run and without the empty
    /// lines at its end.
    pub fn read(text: &str) -> Self {
        let mut style = Style::default();
        let mut lines: Vec<Vec<Span>> = text.lines().map(|line| spans(line, &mut style)).collect();
        while lines.last().is_some_and(Vec::is_empty) {
            lines.pop();
        }
        Self { lines }
    }

    pub fn text(&self) -> String {
        self.lines.iter().map(|line| plain(line).trim_end().to_owned() + "\n").collect()
    }

    /// The last line but `back`.
    pub fn line_from_end(&self, back: usize) -> String {
        let at = self.lines.len().checked_sub(back + 1);
        at.map(|at| plain(&self.lines[at]).trim_end().to_owned()).unwrap_or_default()
    }
}

fn plain(line: &[Span]) -> String {
    line.iter().map(|span| span.text.as_str()).collect()
}

/// A style lasts over the ends of lines.
fn spans(line: &str, style: &mut Style) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut add = |text: &str, style: Style| {
        if !text.is_empty() {
            spans.push(Span { text: steady(text), style });
        }
    };
    let mut parts = line.split("\u{1b}[");
    add(parts.next().unwrap_or_default(), *style);
    for part in parts {
        let (codes, text) = part.split_once('m').unwrap_or((part, ""));
        codes.split(';').for_each(|code| style.take(code));
        add(text, *style);
    }
    spans
}

impl Style {
    /// Colours of the background make no difference: windlass paints none.
    fn take(&mut self, code: &str) {
        match code {
            "" | "0" => *self = Self::default(),
            "1" => self.is_bold = true,
            "2" => self.is_faint = true,
            "22" => (self.is_bold, self.is_faint) = (false, false),
            "31" => self.hue = Some(Hue::Red),
            "32" => self.hue = Some(Hue::Green),
            "33" => self.hue = Some(Hue::Yellow),
            "39" => self.hue = None,
            "49" => {}
            other => panic!("a colour that the picture has not: {other:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_over_the_ends_of_lines() {
        let screen = Screen::read(
            "\u{1b}[1mloop\u{1b}[0m x\n\u{1b}[0;2m\u{1b}[39mfaint\nstill\u{1b}[0m\u{1b}[31m red\n\n",
        );
        let style = Style::default();
        let span = |text: &str, style| Span { text: text.to_owned(), style };
        let faint = Style { is_faint: true, ..style };
        let expected = [
            vec![span("loop", Style { is_bold: true, ..style }), span(" x", style)],
            vec![span("faint", faint)],
            vec![span("still", faint), span(" red", Style { hue: Some(Hue::Red), ..style })],
        ];
        assert_eq!(screen.lines, expected);
        assert_eq!(screen.text(), "loop x\nfaint\nstill red\n");
        assert_eq!((screen.line_from_end(1).as_str(), screen.line_from_end(3).as_str()), ("faint", ""));
    }
}
