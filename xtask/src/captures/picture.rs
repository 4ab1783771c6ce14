//! A screen as a picture: SVG with the fonts that its reader has.

use std::fmt::Write as _;

use super::screen::{Hue, Screen, Span, Style};

const CHARACTER: f64 = 8.4;
const LINE: f64 = 19.0;
const FONT: f64 = 14.0;
const MARGIN: f64 = 18.0;
const TITLE_BAR: f64 = 36.0;

pub struct Window<'w> {
    pub columns: usize,
    pub title: &'w str,
}

pub fn svg(screen: &Screen, window: &Window<'_>) -> String {
    let width = window.columns as f64 * CHARACTER + 2.0 * MARGIN;
    let height = TITLE_BAR + screen.lines.len() as f64 * LINE + 1.5 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-size=\"{FONT}\" font-family=\"ui-monospace, SFMono-Regular, Menlo, \
         Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace\" xml:space=\"preserve\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"9\" fill=\"#16181d\"/>\n\
         <path d=\"M0 {TITLE_BAR}h{width:.0}\" stroke=\"#2b2f38\"/>\n"
    );
    for (place, colour) in ["#ff5f57", "#febc2e", "#28c840"].iter().enumerate() {
        let x = MARGIN + 4.0 + 20.0 * place as f64;
        let _ = writeln!(out, "<circle cx=\"{x}\" cy=\"{}\" r=\"6\" fill=\"{colour}\"/>", TITLE_BAR / 2.0);
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\" fill=\"#8b929e\">{}</text>",
        width / 2.0,
        TITLE_BAR / 2.0 + 5.0,
        escaped(window.title)
    );
    for (number, line) in screen.lines.iter().enumerate() {
        let y = TITLE_BAR + MARGIN / 2.0 + FONT + number as f64 * LINE;
        let mut column = 0;
        for span in line {
            write_span(&mut out, span, Place { column, y });
            column += span.text.chars().count();
        }
    }
    out.push_str("</svg>\n");
    out
}

struct Place {
    column: usize,
    y: f64,
}

/// With the length that it must have: fonts differ in width, and columns must stay columns.
fn write_span(out: &mut String, span: &Span, place: Place) {
    let shown = span.text.trim();
    if shown.is_empty() {
        return;
    }
    let indent = span.text.chars().take_while(|c| c.is_whitespace()).count();
    let x = MARGIN + (place.column + indent) as f64 * CHARACTER;
    let length = shown.chars().count() as f64 * CHARACTER;
    let weight = if span.style.is_bold { " font-weight=\"bold\"" } else { "" };
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
         fill=\"{}\"{weight}>{}</text>",
        place.y,
        colour(span.style),
        escaped(shown)
    );
}

fn colour(style: Style) -> &'static str {
    match (style.hue, style.is_faint, style.is_bold) {
        (Some(Hue::Red), ..) => "#ff7b72",
        (Some(Hue::Green), ..) => "#6bd08a",
        (Some(Hue::Yellow), ..) => "#e3b341",
        (None, true, _) => "#8b929e",
        (None, false, true) => "#ffffff",
        (None, false, false) => "#d5d9e0",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_coloured_and_kept_in_its_columns() {
        let window = Window { columns: 40, title: "a & b" };
        let svg = svg(&Screen::read("$ \u{1b}[31m  a <b> & c\u{1b}[0m\n\u{1b}[2mfaint\u{1b}[0m\n"), &window);
        let red = "<text x=\"51.6\" y=\"59.0\" textLength=\"75.6\" lengthAdjust=\"spacingAndGlyphs\" fill=\"#ff7b72\">\
                   a &lt;b&gt; &amp; c</text>\n";
        assert!(svg.contains(red), "{svg}");
        assert!(svg.contains("y=\"78.0\"") && svg.contains("fill=\"#8b929e\">faint<"), "{svg}");
        assert!(svg.contains(">a &amp; b</text>"), "{svg}");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("href"), "{svg}");
    }
}
