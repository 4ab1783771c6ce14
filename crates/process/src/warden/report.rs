//! What the leader tells the warden, over a pipe that no program inherits: why the program did not start,
//! or how it ended.

use std::os::fd::AsFd;

/// Below PIPE_BUF, so that a message is never torn.
const LONGEST: usize = 2000;

#[derive(Debug, PartialEq, Eq)]
pub enum LeaderReport {
    NotStarted(String),
    /// The program's wait status, and whether any process was alive beside the namespace's init.
    Ended {
        status: i32,
        alone: bool,
    },
}

pub fn not_started(why: &str) -> Vec<u8> {
    let mut end = why.len().min(LONGEST);
    while !why.is_char_boundary(end) {
        end -= 1;
    }
    message(b'n', &why.as_bytes()[..end])
}

pub fn ended(status: i32, alone: bool) -> Vec<u8> {
    let [a, b, c, d] = status.to_le_bytes();
    message(b'e', &[a, b, c, d, u8::from(alone)])
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend_from_slice(&(body.len() as u16).to_le_bytes());
    message.extend_from_slice(body);
    message
}

/// Takes reports from the pipe as they come.
#[derive(Default)]
pub struct LeaderReports {
    pending: Vec<u8>,
}

impl LeaderReports {
    /// `false`: the pipe is at its end.
    pub fn read(&mut self, pipe: impl AsFd) -> bool {
        let mut bytes = [0; 4096];
        match rustix::io::read(pipe, &mut bytes) {
            Ok(0) => false,
            Ok(size) => {
                self.pending.extend_from_slice(&bytes[..size]);
                true
            }
            Err(error) => matches!(error, rustix::io::Errno::AGAIN | rustix::io::Errno::INTR),
        }
    }

    pub fn next(&mut self) -> Option<LeaderReport> {
        let &[kind, low, high] = self.pending.first_chunk()?;
        let size = 3 + usize::from(u16::from_le_bytes([low, high]));
        let body = self.pending.get(3..size)?.to_vec();
        self.pending.drain(..size);
        match (kind, body.as_slice()) {
            (b'e', &[a, b, c, d, alone]) => {
                Some(LeaderReport::Ended { status: i32::from_le_bytes([a, b, c, d]), alone: alone != 0 })
            }
            _ => Some(LeaderReport::NotStarted(String::from_utf8_lossy(&body).into_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_arrive_as_they_were_sent() {
        let mut reports = LeaderReports::default();
        let sent = [not_started("é"), ended(-7, true)].concat();
        for byte in sent {
            reports.pending.push(byte);
        }
        assert_eq!(reports.next(), Some(LeaderReport::NotStarted("é".to_owned())));
        assert_eq!(reports.next(), Some(LeaderReport::Ended { status: -7, alone: true }));
        assert_eq!(reports.next(), None);
        assert!(not_started(&"é".repeat(4000)).len() < 4096);
    }
}
