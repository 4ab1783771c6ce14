//! Where the body of a message ends. What is read is passed on as it is, so it must leave no room for a
//! second reading: chunk sizes are plain hexadecimal, lines end in CR LF, extensions are refused.

use crate::head::{Framing, LONGEST_HEAD};

#[derive(Debug, PartialEq, Eq)]
pub enum Body {
    Length(u64),
    Chunked(Chunks),
    UntilClosed,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    at: At,
    trailer_size: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    FirstDigit,
    Digit(u64),
    SizeEnd(u64),
    Data(u64),
    DataCr,
    DataLf,
    /// At the start of a line behind the last chunk.
    TrailerStart,
    TrailerLine,
    TrailerLf,
    LastLf,
    Over,
}

impl Body {
    pub fn new(framing: Framing) -> Body {
        match framing {
            Framing::Length(size) => Body::Length(size),
            Framing::Chunked => Body::Chunked(Chunks::default()),
            Framing::UntilClosed => Body::UntilClosed,
        }
    }

    pub fn is_over(&self) -> bool {
        match self {
            Body::Length(left) => *left == 0,
            Body::Chunked(chunks) => chunks.at == At::Over,
            Body::UntilClosed => false,
        }
    }

    /// How many of these bytes belong to the body.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, &'static str> {
        match self {
            Body::Length(left) => {
                let taken = (*left).min(bytes.len() as u64);
                *left -= taken;
                Ok(taken as usize)
            }
            Body::Chunked(chunks) => chunks.take(bytes),
            Body::UntilClosed => Ok(bytes.len()),
        }
    }
}

impl Chunks {
    fn take(&mut self, bytes: &[u8]) -> Result<usize, &'static str> {
        let mut taken = 0;
        while taken < bytes.len() && self.at != At::Over {
            if let At::Data(left) = self.at {
                let now = left.min((bytes.len() - taken) as u64);
                taken += now as usize;
                self.at = if now == left { At::DataCr } else { At::Data(left - now) };
            } else {
                self.at = self.step(bytes[taken])?;
                taken += 1;
            }
        }
        Ok(taken)
    }

    fn step(&mut self, byte: u8) -> Result<At, &'static str> {
        let digit = (byte as char).to_digit(16).map(u64::from);
        let next = match (self.at, byte) {
            (At::FirstDigit, _) => At::Digit(digit.ok_or("a chunk has no size")?),
            (At::Digit(size), b'\r') => At::SizeEnd(size),
            (At::Digit(size), _) => {
                let digit = digit.ok_or("a chunk size is no plain number")?;
                At::Digit(size.checked_mul(16).ok_or("a chunk is too large")? | digit)
            }
            (At::SizeEnd(0), b'\n') => At::TrailerStart,
            (At::SizeEnd(size), b'\n') => At::Data(size),
            (At::DataCr, b'\r') => At::DataLf,
            (At::DataLf, b'\n') => At::FirstDigit,
            (At::TrailerStart, b'\r') => At::LastLf,
            (At::TrailerLine, b'\r') => At::TrailerLf,
            (At::TrailerStart, b' ' | b'\t' | b'\n' | 0) | (At::TrailerLine, b'\n' | 0) => {
                return Err("a trailer is malformed");
            }
            (At::TrailerStart | At::TrailerLine, _) => {
                self.trailer_size += 1;
                if self.trailer_size > LONGEST_HEAD {
                    return Err("the trailers are too long");
                }
                At::TrailerLine
            }
            (At::TrailerLf, b'\n') => At::TrailerStart,
            (At::LastLf, b'\n') => At::Over,
            (At::SizeEnd(_) | At::DataCr | At::DataLf | At::TrailerLf | At::LastLf, _) => {
                return Err("a chunk does not end where it should");
            }
            (At::Data(_) | At::Over, _) => self.at,
        };
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Taken in pieces of `size`; how many bytes belong to the body, if it has an end.
    fn taken(text: &[u8], size: usize) -> Result<Option<usize>, &'static str> {
        let mut body = Body::new(Framing::Chunked);
        let mut total = 0;
        for piece in text.chunks(size) {
            let now = body.take(piece)?;
            total += now;
            if now < piece.len() {
                assert!(body.is_over());
            }
            if body.is_over() {
                return Ok(Some(total));
            }
        }
        Ok(None)
    }

    #[test]
    fn chunks_end_where_they_say() {
        let text = b"5\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\nGET / HTTP/1.1\r\n";
        let with_trailer = b"3\r\nabc\r\n000\r\nDigest: x\r\nA: b\r\n\r\nmore";
        for size in 1..text.len() {
            assert_eq!(taken(text, size), Ok(Some(text.len() - 16)), "{size}");
            assert_eq!(taken(with_trailer, size), Ok(Some(with_trailer.len() - 4)), "{size}");
        }
        assert_eq!(taken(b"5\r\nhel", 2), Ok(None));
    }

    #[test]
    fn nothing_has_two_readings() {
        for bad in [
            &b"\r\n"[..],
            b"5;ext=1\r\nhello",
            b"5 \r\nhello",
            b" 5\r\nhello",
            b"0x5\r\nhello",
            b"+5\r\nhello",
            b"-1\r\n",
            b"5\nhello",
            b"5\r\rhello",
            b"5\r\nhello\n0\r\n\r\n",
            b"5\r\nhelloX\r\n",
            b"5\r\nhello\rX",
            b"0\r\n\n",
            b"0\r\n folded\r\n\r\n",
            b"0\r\nA: b\nC: d\r\n\r\n",
            b"0\r\nA: b\rC: d\r\n\r\n",
            b"ffffffffffffffffff\r\n",
            b"g\r\n",
        ] {
            assert!(taken(bad, 1).is_err(), "{:?}", String::from_utf8_lossy(bad));
            assert!(taken(bad, 1000).is_err(), "{:?}", String::from_utf8_lossy(bad));
        }
        let endless = [&b"0\r\n"[..], &b"A: b\r\n".repeat(20_000)].concat();
        assert!(taken(&endless, 4096).is_err());
    }

    #[test]
    fn a_length_is_counted_down() {
        let mut body = Body::new(Framing::Length(5));
        assert_eq!(body.take(b"abc"), Ok(3));
        assert!(!body.is_over());
        assert_eq!(body.take(b"defg"), Ok(2));
        assert!(body.is_over());
        assert!(Body::new(Framing::Length(0)).is_over());
        assert!(!Body::new(Framing::UntilClosed).is_over());
    }
}
