//! Takes secrets out of what agents and checks print and say, before any of it
//! is stored or shown: the values of the operator's secret-looking variables,
//! also in base64, percent-encoded and JSON-escaped, and the token formats that
//! vendors document.
//!
//! [`known::secrets`] chooses the variables, a [`Redactor`] is built from them
//! once, and its [`StreamRedactor`] takes any number of bytes in any pieces with a
//! buffer of fixed size: where a piece ends never changes the result.
//!
//! It deliberately guesses little. A hash, an object id, a UUID or a checksum is
//! not a secret, and entropy alone is no reason. It reads no environment.
//!
//! Neighbours: `agent` and `gate` clean what was captured, `driver` cleans every
//! text and blob that a performer returns.

mod file;
mod format;
pub mod known;
mod scan;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

pub use known::Secret;

use scan::{ScanPiece, ScanState, Scanner};

/// How much of a stream is looked at together.
const BLOCK: usize = 64 * 1024;

/// Cheap to clone; without a scanner it changes nothing.
#[derive(Clone)]
pub struct Redactor(Option<Arc<Scanner>>);

impl Redactor {
    /// Knows these values, and every format.
    pub fn new(secrets: &[Secret]) -> Self {
        Self(Some(Arc::new(Scanner::new(secrets))))
    }

    /// Lets everything through: for tests that show what redaction prevents.
    pub fn off() -> Self {
        Self(None)
    }

    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(scanner) = &self.0 else { return Cow::Borrowed(bytes) };
        // Until something is hidden, what is kept is the beginning of what was given.
        let mut kept_so_far = 0;
        let mut clean: Option<Vec<u8>> = None;
        let mut state = ScanState::default();
        scanner.advance(&mut state, bytes, scan::InputEnded::Yes, &mut |piece| match (piece, &mut clean) {
            (ScanPiece::Keep(kept), None) => kept_so_far += kept.len(),
            (ScanPiece::Keep(kept), Some(clean)) => clean.extend_from_slice(kept),
            (ScanPiece::Hide(name), clean) => {
                push_mark(clean.get_or_insert_with(|| bytes[..kept_so_far].to_owned()), name);
            }
        });
        clean.map_or(Cow::Borrowed(bytes), Cow::Owned)
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(clean) => Cow::Owned(String::from_utf8_lossy(&clean).into_owned()),
        }
    }

    pub fn stream(&self) -> StreamRedactor<'_> {
        StreamRedactor {
            scanner: self.0.as_deref(),
            state: ScanState::default(),
            buffer: Vec::new(),
            hidden: 0,
        }
    }
}

/// Never what it knows.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Redactor" } else { "Redactor(off)" })
    }
}

/// Bytes in pieces. What is decided late is held back, never more than a block.
pub struct StreamRedactor<'a> {
    scanner: Option<&'a Scanner>,
    state: ScanState,
    buffer: Vec<u8>,
    hidden: u64,
}

impl StreamRedactor<'_> {
    /// Appends to `clean` what is decided.
    pub fn push(&mut self, bytes: &[u8], clean: &mut Vec<u8>) {
        for piece in bytes.chunks(BLOCK) {
            self.buffer.extend_from_slice(piece);
            if self.buffer.len() >= BLOCK {
                self.advance(scan::InputEnded::No, clean);
            }
        }
    }

    /// Appends the rest; says how many secrets were hidden in all.
    pub fn finish(mut self, clean: &mut Vec<u8>) -> u64 {
        self.advance(scan::InputEnded::Yes, clean);
        self.hidden
    }

    fn advance(&mut self, ended: scan::InputEnded, clean: &mut Vec<u8>) {
        let Some(scanner) = self.scanner else {
            clean.append(&mut self.buffer);
            return;
        };
        let hidden = &mut self.hidden;
        let decided = scanner.advance(&mut self.state, &self.buffer, ended, &mut |piece| match piece {
            ScanPiece::Keep(kept) => clean.extend_from_slice(kept),
            ScanPiece::Hide(name) => {
                *hidden += 1;
                push_mark(clean, name);
            }
        });
        self.buffer.drain(..decided);
    }
}

fn push_mark(clean: &mut Vec<u8>, name: &str) {
    clean.extend_from_slice(b"[redacted:");
    clean.extend_from_slice(name.as_bytes());
    clean.push(b']');
}
