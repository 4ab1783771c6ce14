//! The network a program finds, made by the leader inside its own network namespace.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use windlass_core::policy::{NetworkKind, NetworkPolicy};

use crate::sys;

/// Where a program finds the proxy through which it may reach more than itself.
const PROXY_PORT: u16 = 3128;

/// A leader makes its namespaces and its root in milliseconds.
const HANDOVER_LIMIT: Duration = Duration::from_secs(20);

/// What may be reached through a proxy, whose listener is made inside and served outside.
pub fn hosts(network: &NetworkPolicy) -> Option<&[String]> {
    match network.meant() {
        NetworkKind::Allow => Some(&network.allow),
        NetworkKind::Open | NetworkKind::Loopback | NetworkKind::None => None,
    }
}

/// In the fresh network namespace of the leader.
pub fn arrange(network: NetworkKind) -> Result<(), String> {
    match network {
        NetworkKind::Open | NetworkKind::None => Ok(()),
        NetworkKind::Loopback | NetworkKind::Allow => {
            sys::loopback_up().map_err(|error| format!("cannot bring up a loopback interface: {error}"))
        }
    }
}

/// The variables by which a program with [`NetworkKind::Allow`] finds its proxy.
pub fn proxy_environment() -> Vec<(OsString, OsString)> {
    windlass_proxy::environment((Ipv4Addr::LOCALHOST, PROXY_PORT).into())
}

/// The two ends by which the leader hands its listener out of the namespace: inside, outside.
pub fn handover() -> io::Result<(OwnedFd, OwnedFd)> {
    let (inside, outside) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&outside, Timeout::Recv, Some(HANDOVER_LIMIT))?;
    Ok((inside, outside))
}

/// Listens where the program will look for its proxy, and hands the listener out of the namespace.
pub fn hand_out_listener(to: impl AsFd) -> io::Result<()> {
    send_listener(&TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT))?, to)
}

fn send_listener(listener: &TcpListener, to: impl AsFd) -> io::Result<()> {
    let fds = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    if !message.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::other("no room for a descriptor"));
    }
    retry_on_intr(|| sendmsg(&to, &[IoSlice::new(b"l")], &mut message, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// `None`: the leader went away, and says why over its report pipe.
pub fn take_listener(from: impl AsFd) -> io::Result<Option<TcpListener>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    retry_on_intr(|| {
        recvmsg(&from, &mut [IoSliceMut::new(&mut byte)], &mut message, RecvFlags::CMSG_CLOEXEC)
    })?;
    for message in message.drain() {
        if let RecvAncillaryMessage::ScmRights(mut fds) = message {
            return Ok(fds.next().map(TcpListener::from));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn a_listener_goes_from_hand_to_hand() {
        let (inside, outside) = handover().unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        send_listener(&listener, &inside).unwrap();
        drop(listener);
        let taken = take_listener(&outside).unwrap().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(b"hello").unwrap();
        drop(client);
        let mut heard = String::new();
        taken.accept().unwrap().0.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "hello");
    }

    #[test]
    fn a_leader_that_went_away_hands_nothing() {
        let (inside, outside) = handover().unwrap();
        drop(inside);
        assert!(take_listener(&outside).unwrap().is_none());
    }
}
