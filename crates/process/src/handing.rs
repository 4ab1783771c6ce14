//! Descriptors, handed from process to process over a socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// In one message.
const MOST: usize = 3;
const LONGEST: usize = 16;

/// `note` is never empty: an empty one would look like the end.
pub fn send(to: impl AsFd, note: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !message.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("no room for a descriptor"));
    }
    retry_on_intr(|| sendmsg(&to, &[IoSlice::new(note)], &mut message, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// `None`: the other end is closed.
pub fn receive(from: impl AsFd) -> io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut note = [0; LONGEST];
    let received = retry_on_intr(|| {
        recvmsg(&from, &mut [IoSliceMut::new(&mut note)], &mut message, RecvFlags::CMSG_CLOEXEC)
    })?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut fds = Vec::new();
    for message in message.drain() {
        if let RecvAncillaryMessage::ScmRights(taken) = message {
            fds.extend(taken);
        }
    }
    Ok(Some((note[..received.bytes].to_vec(), fds)))
}
