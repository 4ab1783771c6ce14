//! Finds the first line of an HTTP request in a stream of anything, as it passes.

/// A target longer than this is none that a server takes.
const LONGEST: usize = 64 * 1024;

/// Where in a line the last byte was. Servers skip blanks and blank lines before a request, and some skip a line
/// that they cannot read, so each line is looked at anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Start,
    Method(usize),
    BeforeTarget,
    Target(usize),
    BeforeVersion,
    /// So many bytes of it.
    Version(usize),
    /// Of a line that is no request.
    Elsewhere,
}

const VERSION: &[u8] = b"http/";
const LONGEST_METHOD: usize = 32;

#[derive(Debug)]
pub struct RequestLineFinder(Place);

impl RequestLineFinder {
    pub fn new() -> RequestLineFinder {
        RequestLineFinder(Place::Start)
    }

    /// Whether a request line is complete up to its version with one of these bytes.
    pub fn finds_in(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().any(|&byte| self.step(byte))
    }

    fn step(&mut self, byte: u8) -> bool {
        let blank = matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c);
        self.0 = match self.0 {
            _ if byte == b'\n' => Place::Start,
            Place::Start if blank => Place::Start,
            Place::Start if byte.is_ascii_graphic() => Place::Method(1),
            Place::Method(_) if blank => Place::BeforeTarget,
            Place::Method(size) if byte.is_ascii_graphic() && size < LONGEST_METHOD => {
                Place::Method(size + 1)
            }
            Place::BeforeTarget if blank => Place::BeforeTarget,
            Place::BeforeTarget => Place::Target(1),
            Place::Target(_) | Place::BeforeVersion if blank => Place::BeforeVersion,
            Place::Target(size) if size < LONGEST => Place::Target(size + 1),
            Place::BeforeVersion if byte.eq_ignore_ascii_case(&VERSION[0]) => Place::Version(1),
            // A target may have blanks in it as a lenient server reads it.
            Place::BeforeVersion => Place::Target(1),
            Place::Version(size)
                if byte.eq_ignore_ascii_case(&VERSION[size]) && size + 1 == VERSION.len() =>
            {
                self.0 = Place::Elsewhere;
                return true;
            }
            Place::Version(size) if byte.eq_ignore_ascii_case(&VERSION[size]) => Place::Version(size + 1),
            Place::Version(_) if blank => Place::BeforeVersion,
            Place::Version(_) => Place::Target(1),
            Place::Start | Place::Method(_) | Place::Target(_) | Place::Elsewhere => Place::Elsewhere,
        };
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_found_wherever_a_line_begins_and_however_it_is_cut() {
        for text in [
            "GET / HTTP/1.1",
            "junk\r\nGET / HTTP/1.1",
            "\0\x01\x02\nget /x http/1.0",
            "a b c\n \t POST  /x  HTTP/1.1",
            "x\nGET /a b HTTP/1.1",
            "x\nGET / HTTPS HTTP/1.1",
            "x\nPRI * HTTP/2.0",
        ] {
            assert!(RequestLineFinder::new().finds_in(text.as_bytes()), "{text:?}");
            let mut finder = RequestLineFinder::new();
            assert!(text.bytes().any(|byte| finder.finds_in(&[byte])), "{text:?} byte by byte");
        }
        assert!(RequestLineFinder::new().finds_in(&[&b"\r\n".repeat(9000)[..], b"GET / HTTP/1.1"].concat()));
    }

    #[test]
    fn what_only_speaks_of_http_is_none() {
        for text in [
            "SSH-2.0-OpenSSH_9.6\r\n",
            "EHLO me\r\nMAIL FROM:<a@b>\r\n",
            "\x10\x2a\0\x04MQTT HTTP/1.1",
            "HTTP/1.1 200 OK",
            "see http/1.1",
            "GET /\nHTTP/1.1",
        ] {
            assert!(!RequestLineFinder::new().finds_in(text.as_bytes()), "{text:?}");
        }
    }
}
