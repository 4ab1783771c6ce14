//! Where something stands in a file.

use std::fmt;
use std::path::{Path, PathBuf};

/// Something written at a place; lines and columns count characters from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    pub value: T,
    pub line: usize,
    pub column: usize,
}

impl<T> Placed<T> {
    pub fn in_file(&self, file: &Path) -> FilePosition {
        FilePosition { file: file.to_owned(), line: self.line, column: self.column }
    }
}

/// A character in a file; lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePosition {
    pub file: PathBuf,
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// Finds the line and column of a byte. A whole file can be one line, so the
/// search never counts from the start of one.
pub(crate) struct LineIndex<'a> {
    text: &'a str,
    marks: Vec<Mark>,
}

#[derive(Clone, Copy)]
struct Mark {
    offset: usize,
    line: usize,
    column: usize,
}

impl<'a> LineIndex<'a> {
    const STEP: usize = 512;

    pub fn new(text: &'a str) -> Self {
        let mut last = Mark { offset: 0, line: 1, column: 1 };
        let mut marks = vec![last];
        let mut column = 1;
        for (offset, c) in text.char_indices() {
            if offset - last.offset >= Self::STEP {
                last = Mark { offset, line: last.line, column };
                marks.push(last);
            }
            column += 1;
            if c == '\n' {
                column = 1;
                last = Mark { offset: offset + 1, line: last.line + 1, column };
                marks.push(last);
            }
        }
        Self { text, marks }
    }

    pub fn placed<T>(&self, offset: usize, value: T) -> Placed<T> {
        let offset = self.text.floor_char_boundary(offset);
        let after = self.marks.partition_point(|mark| mark.offset <= offset);
        let mark = self.marks[after.saturating_sub(1)];
        let column = mark.column + self.text[mark.offset..offset].chars().count();
        Placed { value, line: mark.line, column }
    }

    /// Where a line starts; the end of the text for a line there is not.
    pub fn line_start(&self, line: usize) -> usize {
        let at = self.marks.partition_point(|mark| mark.line < line);
        self.marks.get(at).map_or(self.text.len(), |mark| mark.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_has_a_line_and_a_column_in_characters() {
        let long = format!("é{}\nab\n", "ü".repeat(2_000));
        let index = LineIndex::new(&long);
        let at = |offset| {
            let placed = index.placed(offset, ());
            (placed.line, placed.column)
        };
        assert_eq!([at(0), at(2), at(3), at(4)], [(1, 1), (1, 2), (1, 2), (1, 3)]);
        assert_eq!(at(4_002), (1, 2_002));
        assert_eq!([at(4_003), at(4_005), at(4_006), at(9_999)], [(2, 1), (2, 3), (3, 1), (3, 1)]);
        assert_eq!([index.line_start(1), index.line_start(2), index.line_start(9)], [0, 4_003, 4_006]);
        assert_eq!(LineIndex::new("").placed(7, ()).column, 1);
    }
}
