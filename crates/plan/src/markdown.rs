//! A Markdown text as pulldown-cmark reads it: headings, list items and comments
//! with their places, and what is code and therefore the author's own business.

use std::fmt;
use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::place::LineIndex;

pub(crate) struct MarkdownText<'a> {
    /// The whole file, without a byte order mark.
    pub text: &'a str,
    pub index: LineIndex<'a>,
    /// Those of the text itself, not those of a quote or an item.
    pub headings: Vec<Heading>,
    /// Every item of a list of the text itself, outer ones before inner ones.
    pub items: Vec<ListItem>,
    pub comments: Vec<Comment>,
    /// Where a paragraph, code or anything else than headings, comments and lists starts.
    pub prose: Option<usize>,
    code: Vec<Range<usize>>,
    /// Fences and comments that go on past where they were meant to end, in the order of the text.
    pub runaways: Vec<Runaway>,
}

/// Something that is never closed, or is closed by what closes another. What it holds is read as nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runaway {
    pub what: Opened,
    pub range: Range<usize>,
}

/// What starts with a mark and ends with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    Fence,
    Comment,
}

impl Opened {
    /// What closes it before a line that is not to be in it.
    pub(crate) fn remedy(self, line: usize) -> String {
        match self {
            Self::Fence => {
                format!("close it before line {line} with a line that has only the marks it starts with")
            }
            Self::Comment => format!("close it with `-->` before line {line}"),
        }
    }
}

impl fmt::Display for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fence => "fence",
            Self::Comment => "comment",
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    pub level: usize,
    pub text: String,
    pub range: Range<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ListItem {
    /// 0 for an item of an outermost list.
    pub depth: usize,
    /// Whether its box is checked; none where it has no box.
    pub checked: Option<bool>,
    pub range: Range<usize>,
    /// Where the first list inside of it starts, or its end.
    pub own_end: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Comment {
    /// With `<!--` and `-->`.
    pub range: Range<usize>,
    pub closed: bool,
}

impl Comment {
    /// What stands between the marks.
    pub fn inner(&self) -> Range<usize> {
        let end = if self.closed { self.range.end - 3 } else { self.range.end };
        self.range.start + 4..end
    }
}

impl<'a> MarkdownText<'a> {
    /// Reads a text after its first `skip_lines` lines, which are its front matter.
    pub fn new(text: &'a str, skip_lines: usize) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let index = LineIndex::new(text);
        let start = index.line_start(skip_lines + 1);
        let mut walk = Walk::default();
        for (event, range) in Parser::new_ext(&text[start..], Options::ENABLE_TASKLISTS).into_offset_iter() {
            walk.event(&event, range.start + start..range.end + start);
        }
        let Walk { headings, items, code, fences, html, prose, .. } = walk;
        let comments = comments(text, start, &code);
        let runaways = Vec::new();
        let mut read =
            Self { text, index, headings: Vec::new(), items, comments, prose: None, code, runaways };
        read.runaways = read.find_runaways(fences);
        let said = |range: &Range<usize>| !read.visible(range.clone()).trim().is_empty();
        read.prose = prose.into_iter().chain(html.into_iter().find(said).map(|range| range.start)).min();
        let named = |(level, inner, range): (usize, Range<usize>, Range<usize>)| Heading {
            level,
            text: read.visible(inner).trim().to_owned(),
            range,
        };
        read.headings = headings.into_iter().map(named).collect();
        read
    }

    /// A part of the text without its comments.
    pub fn visible(&self, range: Range<usize>) -> String {
        let mut shown = String::new();
        let mut from = range.start;
        let first = self.comments.partition_point(|comment| comment.range.end <= range.start);
        for comment in &self.comments[first..] {
            if comment.range.start >= range.end {
                break;
            }
            shown.push_str(&self.text[from..comment.range.start.max(from)]);
            from = comment.range.end.min(range.end);
        }
        shown.push_str(&self.text[from..range.end]);
        shown
    }

    /// The text of an item as one line, without its mark and its box.
    pub fn item_text(&self, range: Range<usize>) -> String {
        let visible = self.visible(range);
        let words: Vec<&str> = visible.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let line = words.join(" ");
        let marked = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let item = marked.strip_prefix(['-', '*', '+', '.', ')']).unwrap_or(marked).trim_start();
        let unboxed = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| item.strip_prefix(mark));
        unboxed.unwrap_or(item).trim().to_owned()
    }

    pub fn is_code(&self, offset: usize) -> bool {
        let after = self.code.partition_point(|code| code.start <= offset);
        self.code[..after].last().is_some_and(|code| offset < code.end)
    }

    fn find_runaways(&self, fences: Vec<Range<usize>>) -> Vec<Runaway> {
        let is_open = |range: &Range<usize>| fence_runs_on(&self.text[range.clone()]);
        let fence = |range| Runaway { what: Opened::Fence, range };
        let runs_on = |comment: &&Comment| {
            let inner = comment.inner();
            let mut inside = self.text[inner.clone()].match_indices("<!--");
            !comment.closed || inside.any(|(at, _)| !self.is_code(inner.start + at))
        };
        let comment = |comment: &Comment| Runaway { what: Opened::Comment, range: comment.range.clone() };
        let comments = self.comments.iter().filter(runs_on).map(comment);
        let mut found: Vec<Runaway> = fences.into_iter().filter(is_open).map(fence).chain(comments).collect();
        found.sort_by_key(|runaway| runaway.range.start);
        found
    }

    /// Each runaway that has a line in it, after its first, that is told by `is_meant`, with that line's number.
    pub fn hidden_lines(&self, is_meant: fn(&str) -> bool) -> Vec<(&Runaway, usize)> {
        let hidden = |runaway: &Runaway| {
            let mut offset = runaway.range.start;
            for line in self.text[runaway.range.clone()].split_inclusive('\n') {
                if offset > runaway.range.start && is_meant(line.trim()) {
                    return Some(self.index.placed(offset, ()).line);
                }
                offset += line.len();
            }
            None
        };
        self.runaways.iter().filter_map(|runaway| Some((runaway, hidden(runaway)?))).collect()
    }

    pub fn headings_in<'s>(
        &'s self,
        range: &Range<usize>,
    ) -> impl Iterator<Item = &'s Heading> + use<'s, 'a> {
        let first = self.headings.partition_point(|heading| heading.range.start < range.start);
        let end = range.end;
        self.headings[first..].iter().take_while(move |heading| heading.range.start < end)
    }

    pub fn items_in<'s>(&'s self, range: &Range<usize>) -> impl Iterator<Item = &'s ListItem> + use<'s, 'a> {
        let first = self.items.partition_point(|item| item.range.start < range.start);
        let end = range.end;
        self.items[first..].iter().take_while(move |item| item.range.start < end)
    }

    pub fn comments_in<'s>(
        &'s self,
        range: &Range<usize>,
    ) -> impl Iterator<Item = &'s Comment> + use<'s, 'a> {
        let first = self.comments.partition_point(|comment| comment.range.start < range.start);
        let end = range.end;
        self.comments[first..].iter().take_while(move |comment| comment.range.start < end)
    }
}

/// What is found on the way through the events.
#[derive(Default)]
struct Walk {
    headings: Vec<(usize, Range<usize>, Range<usize>)>,
    items: Vec<ListItem>,
    code: Vec<Range<usize>>,
    fences: Vec<Range<usize>>,
    html: Vec<Range<usize>>,
    prose: Option<usize>,
    /// Which of `items` are open.
    open: Vec<usize>,
    lists: usize,
    /// How many blocks are open that hold others and are no list.
    quotes: usize,
    heading: Option<(usize, Option<Range<usize>>)>,
}

#[expect(clippy::wildcard_enum_match_arm, reason = "most of Markdown says nothing to windlass")]
impl Walk {
    fn event(&mut self, event: &Event<'_>, range: Range<usize>) {
        if let Some((_, inner)) = &mut self.heading
            && !matches!(event, Event::End(TagEnd::Heading(_)))
        {
            let start = inner.as_ref().map_or(range.start, |inner| inner.start);
            let end = inner.as_ref().map_or(range.end, |inner| inner.end.max(range.end));
            *inner = Some(start..end);
        }
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(end) => self.end(*end, range),
            Event::Code(_) => self.code.push(range),
            Event::TaskListMarker(checked) if self.quotes == 0 => {
                if let Some(item) = self.open.last() {
                    self.items[*item].checked = Some(*checked);
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        let outermost = self.lists == 0 && self.quotes == 0;
        if outermost
            && !matches!(tag, Tag::Heading { .. } | Tag::List(_) | Tag::HtmlBlock)
            && self.heading.is_none()
        {
            self.prose.get_or_insert(range.start);
        }
        match tag {
            Tag::Heading { level, .. } if outermost => self.heading = Some((*level as usize, None)),
            Tag::CodeBlock(kind) => {
                if matches!(kind, CodeBlockKind::Fenced(_)) {
                    self.fences.push(range.clone());
                }
                self.code.push(range);
            }
            Tag::HtmlBlock if outermost => self.html.push(range),
            Tag::BlockQuote(_) => self.quotes += 1,
            Tag::List(_) => {
                if let Some(item) = self.open.last().map(|at| &mut self.items[*at]) {
                    item.own_end = item.own_end.min(range.start);
                }
                self.lists += 1;
            }
            Tag::Item if self.quotes == 0 => {
                self.open.push(self.items.len());
                let depth = self.lists - 1;
                self.items.push(ListItem { depth, checked: None, own_end: range.end, range });
            }
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd, range: Range<usize>) {
        match end {
            TagEnd::Heading(_) => {
                if let Some((level, inner)) = self.heading.take() {
                    self.headings.push((level, inner.unwrap_or(range.end..range.end), range));
                }
            }
            TagEnd::BlockQuote(_) => self.quotes -= 1,
            TagEnd::List(_) => self.lists -= 1,
            TagEnd::Item if self.quotes == 0 => {
                self.open.pop();
            }
            _ => {}
        }
    }
}

/// Whether a fence has no end of its own: none at all, or that of another fence which starts inside of it.
/// One that shows fences as its text is longer than those.
fn fence_runs_on(block: &str) -> bool {
    let block = block.trim_start();
    let Some(mark @ ('`' | '~')) = block.chars().next() else { return false };
    let length = block.chars().take_while(|c| *c == mark).count();
    let closes = |line: &str| {
        let bare = line.trim_start_matches(['>', ' ', '\t']).trim_end();
        let marks = bare.chars().take_while(|c| *c == mark).count();
        let rest = &bare[marks..];
        // Behind the marks of a fence stands no backtick: that would be a line of code in a text.
        (marks >= length && !(mark == '`' && rest.contains(mark))).then_some(rest.is_empty())
    };
    block.lines().skip(1).find_map(closes) != Some(true)
}

/// Every comment from `start` on that is no code.
fn comments(text: &str, start: usize, code: &[Range<usize>]) -> Vec<Comment> {
    let mut found = Vec::new();
    let mut from = start;
    let mut codes = code.iter().peekable();
    while let Some(at) = text[from..].find("<!--").map(|at| from + at) {
        while codes.next_if(|code| code.end <= at).is_some() {}
        if let Some(code) = codes.peek().filter(|code| code.start <= at) {
            from = code.end;
            continue;
        }
        if text[..at].ends_with('\\') {
            from = at + 4;
            continue;
        }
        // `<!-->` is a whole comment to a browser; nobody writes it for that.
        let close = text[at + 4..].find("-->").map(|close| at + 4 + close + 3);
        let end = close.unwrap_or(text.len());
        found.push(Comment { range: at..end, closed: close.is_some() });
        from = end;
    }
    found
}
