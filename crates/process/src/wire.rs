//! What supervisor and warden say to each other.
//!
//! Supervisor → warden: one request, then the pipe stays open. A [`CANCEL`] byte asks for the end, end of
//! file means that the supervisor died. Warden → supervisor: one [`Finished`](crate::Finished), then end of
//! file.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::finished::Containment;
use crate::program::Program;
use crate::sandbox::Weakened;

pub const CANCEL: u8 = b'c';

#[derive(Debug, Serialize, Deserialize)]
pub struct WardenRequest {
    pub program: Program,
    pub containment: WantedContainment,
    pub weakened: Weakened,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WantedContainment {
    /// A PID namespace, or a subreaper if the kernel refuses one at this moment.
    Best,
    Exactly(Containment),
}

/// The text is JSON, with the program's stdin behind it as it is.
pub fn write_request(to: &mut impl Write, request: &WardenRequest) -> io::Result<()> {
    let text = serde_json::to_vec(request)?;
    let stdin = &request.program.stdin;
    let mut message = Vec::with_capacity(16 + text.len() + stdin.len());
    message.extend_from_slice(&(text.len() as u64).to_le_bytes());
    message.extend_from_slice(&(stdin.len() as u64).to_le_bytes());
    message.extend_from_slice(&text);
    message.extend_from_slice(stdin);
    to.write_all(&message)
}

/// `None`: the supervisor went away before it had said everything.
pub fn read_request(from: &mut impl Read) -> io::Result<Option<WardenRequest>> {
    let mut sizes = [0u8; 16];
    if !filled(from.read_exact(&mut sizes))? {
        return Ok(None);
    }
    let (text_size, stdin_size) = sizes.split_at(8);
    let mut text = vec![0; size(text_size)?];
    let mut stdin = vec![0; size(stdin_size)?];
    if !filled(from.read_exact(&mut text))? || !filled(from.read_exact(&mut stdin))? {
        return Ok(None);
    }
    let mut request: WardenRequest = serde_json::from_slice(&text)?;
    request.program.stdin = stdin;
    Ok(Some(request))
}

fn filled(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn size(bytes: &[u8]) -> io::Result<usize> {
    let bytes = <[u8; 8]>::try_from(bytes).map_err(io::Error::other)?;
    usize::try_from(u64::from_le_bytes(bytes)).map_err(io::Error::other)
}
