//! CONNECT: a tunnel whose first bytes must agree with the host it was opened for.

use std::net::Shutdown;
use std::time::Instant;

use crate::allow::{Destination, TargetHost};
use crate::flow::{Flow, FlowError, Relay, Until};
use crate::head::{LONGEST_HEAD, RequestHead, head_size};
use crate::hello::{self, Hello};
use crate::socket::{Socket, WaitError, wait, wanted};
use crate::{Connection, LaterRequests, RefusalReason, Shared, first_word};

/// A first line may be an HTTP request up to here.
const LONGEST_LINE: usize = 8 * 1024;

const METHODS: &[&str] = &[
    "GET ",
    "HEAD ",
    "POST ",
    "PUT ",
    "PATCH ",
    "DELETE ",
    "OPTIONS ",
    "TRACE ",
    "CONNECT ",
    "PRI ",
    "PROPFIND ",
    "PROPPATCH ",
    "MKCOL ",
    "COPY ",
    "MOVE ",
    "LOCK ",
    "UNLOCK ",
    "REPORT ",
    "SEARCH ",
    "QUERY ",
];

/// What a client begins with.
#[derive(Debug, PartialEq, Eq)]
enum Opening {
    /// It may still become anything.
    Unclear,
    Tls,
    Http,
    Other,
}

/// What becomes of a tunnel.
enum Inspection {
    /// It agrees.
    Pass,
    /// It says nothing about hosts, as long as it does not become a request.
    PassOthers,
    /// An HTTP request, whose head has this size.
    Request(usize),
    Refuse(RefusalReason),
}

impl Shared {
    pub(super) fn tunnel(&self, client: Socket<'_>, head: &RequestHead, rest: Vec<u8>) {
        let target = match head.tunnel_target() {
            Ok(target) => target,
            Err(why) => {
                return self.refuse(
                    client,
                    first_word(head.target.as_bytes()),
                    RefusalReason::Malformed(why),
                );
            }
        };
        let Some(connection) = self.reach(client, &target) else { return };
        let client = &connection.client;
        let patience = self.terms.patience;
        if client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n", Instant::now() + patience.head).is_err() {
            return;
        }
        let mut seen = rest;
        match self.first_bytes(&connection, &target, &mut seen) {
            Ok(Inspection::Pass) => {
                // However it ends, both sides are closed and nothing is left to say.
                self.relayed(&connection, Ok(Flow::everything(seen))).ok();
            }
            Ok(Inspection::PassOthers) => {
                if let Err(FlowError::Client(why)) = self.relayed(&connection, self.others(&seen)) {
                    self.record(target.to_string(), RefusalReason::Malformed(why));
                    client.stream.shutdown(Shutdown::Both).ok();
                }
            }
            Ok(Inspection::Request(size)) => {
                self.tunnelled(connection, &target, &seen[..size], &seen[size..])
            }
            Ok(Inspection::Refuse(why)) => {
                self.record(target.to_string(), why);
                // Neither side learns anything from a connection that was to deceive.
                client.stream.shutdown(Shutdown::Both).ok();
            }
            Err(_) => {}
        }
    }

    fn relayed(&self, connection: &Connection<'_>, up: Result<Flow, &'static str>) -> Result<(), FlowError> {
        let Connection { client, server } = connection;
        let exchange = Relay { client, server, stop: &self.stop, idle: self.terms.patience.idle };
        exchange.run(up.map_err(FlowError::Client)?, Flow::everything(Vec::new()), Until::BothEnd).1
    }

    fn others(&self, seen: &[u8]) -> Result<Flow, &'static str> {
        match self.terms.later_requests {
            LaterRequests::Refused => Flow::anything_else(seen),
            #[cfg(feature = "weaken")]
            LaterRequests::Passed => Ok(Flow::everything(seen.to_vec())),
        }
    }

    fn tunnelled(&self, connection: Connection<'_>, target: &Destination, head: &[u8], rest: &[u8]) {
        let parsed =
            RequestHead::parse(head).and_then(|head| head.tunnelled(target).map(|request| (head, request)));
        match parsed {
            Ok((head, request)) => self.exchange(connection, &head, &request, rest),
            Err(why) => self.refuse(connection.client, target.to_string(), RefusalReason::Malformed(why)),
        }
    }

    /// Holds back what the client says until it is clear whom it says it to. What the server says first, as
    /// some protocols want, passes.
    fn first_bytes(
        &self,
        connection: &Connection<'_>,
        target: &Destination,
        seen: &mut Vec<u8>,
    ) -> Result<Inspection, WaitError> {
        let Connection { client, server } = connection;
        let patience = self.terms.patience;
        let mut buffer = [0; 8192];
        let mut first_at = None;
        loop {
            if let Some(inspected) = judge(seen, target) {
                return Ok(inspected);
            }
            if !seen.is_empty() && first_at.is_none() {
                first_at = Some(Instant::now());
            }
            let until = first_at.map_or(Instant::now() + patience.idle, |first| first + patience.head);
            let mut slots = vec![self.stop.slot()];
            slots.extend(wanted(&client.stream, true, false));
            slots.extend(wanted(&server.stream, true, false));
            match wait(&mut slots, until) {
                Ok(()) => {}
                // What is unclear may still become a request to another host.
                Err(WaitError::Late) if !seen.is_empty() => {
                    return Ok(Inspection::Refuse(RefusalReason::Slow));
                }
                Err(ended) => return Err(ended),
            }
            let [client_ready, server_ready] = [1, 2].map(|at: usize| !slots[at].revents().is_empty());
            drop(slots);
            if server_ready {
                let size = server.read(&mut buffer, Instant::now())?;
                if size == 0 {
                    return Err(WaitError::Broken(std::io::ErrorKind::UnexpectedEof.into()));
                }
                client.write_all(&buffer[..size], Instant::now() + patience.idle)?;
            }
            if client_ready {
                match client.read(&mut buffer, Instant::now())? {
                    0 => return Ok(at_the_end(seen)),
                    size => seen.extend_from_slice(&buffer[..size]),
                }
            }
        }
    }
}

/// `None`: more must be seen.
fn judge(seen: &[u8], target: &Destination) -> Option<Inspection> {
    match opening(seen) {
        Opening::Unclear => None,
        Opening::Other => Some(Inspection::PassOthers),
        Opening::Http if is_http2(seen) => Some(Inspection::Refuse(RefusalReason::Malformed(
            "it is HTTP/2 without TLS, whose host cannot be seen",
        ))),
        Opening::Http => match head_size(seen) {
            Ok(Some(size)) => Some(Inspection::Request(size)),
            Ok(None) if seen.len() > LONGEST_HEAD => {
                Some(Inspection::Refuse(RefusalReason::Malformed("its head is too long")))
            }
            Ok(None) => None,
            Err(why) => Some(Inspection::Refuse(RefusalReason::Malformed(why))),
        },
        Opening::Tls => match hello::read(seen) {
            Hello::Incomplete if seen.len() > hello::LONGEST => {
                Some(Inspection::Refuse(RefusalReason::Hello("its ClientHello is too long")))
            }
            Hello::Incomplete => None,
            Hello::Bad(why) => Some(Inspection::Refuse(RefusalReason::Hello(why))),
            Hello::Whole { server_name } => Some(agrees(server_name, target)),
        },
    }
}

fn agrees(server_name: Option<String>, target: &Destination) -> Inspection {
    match (server_name, &target.host) {
        (None, TargetHost::Address(_)) => Inspection::Pass,
        (None, TargetHost::Name(_)) => Inspection::Refuse(RefusalReason::NoServerName),
        (Some(named), TargetHost::Name(name)) if TargetHost::name(&named).as_ref() == Ok(name) => {
            Inspection::Pass
        }
        (Some(named), _) => Inspection::Refuse(RefusalReason::ServerName(first_word(named.as_bytes()))),
    }
}

/// The client has no more to say. What is unclear by then is no request, and never will be.
fn at_the_end(seen: &[u8]) -> Inspection {
    match opening(seen) {
        Opening::Unclear | Opening::Other => Inspection::PassOthers,
        Opening::Tls => Inspection::Refuse(RefusalReason::Hello("its ClientHello is not complete")),
        Opening::Http => Inspection::Refuse(RefusalReason::Malformed("it ends before it is complete")),
    }
}

fn opening(seen: &[u8]) -> Opening {
    // Servers skip blanks before a request, so they must not hide one.
    let start = seen.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(seen.len());
    let text = &seen[start..];
    match text {
        [] if seen.len() > LONGEST_LINE => return Opening::Other,
        [] => return Opening::Unclear,
        [0x16, ..] => return Opening::Tls,
        // The hello of SSL 2, which has no room for a name: read as TLS, where it cannot be read.
        [high, _, 1, ..] if high & 0x80 != 0 => return Opening::Tls,
        [high] | [high, _] if high & 0x80 != 0 => return Opening::Unclear,
        _ => {}
    }
    let begins = |method: &&str| {
        text.get(..method.len()).is_some_and(|start| start.eq_ignore_ascii_case(method.as_bytes()))
    };
    if METHODS.iter().any(begins) {
        return Opening::Http;
    }
    let (line, complete) = match text.iter().position(|&byte| byte == b'\n') {
        Some(end) => (&text[..end], true),
        None => (text, false),
    };
    let printable = line.iter().all(|&byte| (b' '..0x7f).contains(&byte) || byte == b'\r' || byte == b'\t');
    let names_http = line.windows(6).any(|word| word.eq_ignore_ascii_case(b" http/"));
    match (names_http, complete || !printable || line.len() > LONGEST_LINE) {
        (true, _) => Opening::Http,
        (false, true) => Opening::Other,
        (false, false) => Opening::Unclear,
    }
}

fn is_http2(seen: &[u8]) -> bool {
    seen.trim_ascii_start().get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"PRI "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_are_told_apart() {
        for (text, wanted) in [
            (&b""[..], Opening::Unclear),
            (b"\x16", Opening::Tls),
            (b"\r\n\x16\x03", Opening::Tls),
            (b"\x80\x2e\x01\x03\x01", Opening::Tls),
            (b"\x80", Opening::Unclear),
            (b"GET / HTTP/1.1\r\n", Opening::Http),
            (b"get / http/1.1\r\n", Opening::Http),
            (b"\r\n GET /", Opening::Http),
            (b"GET /old\r\n", Opening::Http),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Opening::Http),
            (b"FETCH / HTTP/1.1\r\n", Opening::Http),
            (b"FETCH / HT", Opening::Unclear),
            (b"G", Opening::Unclear),
            (b"SSH-2.0-OpenSSH_9.6\r\n", Opening::Other),
            (b"EHLO me\r\n", Opening::Other),
            (b"\0\0\0\x08\x04\xd2\x16\x2f", Opening::Other),
            (b"\x10\x2a\0\x04MQTT", Opening::Other),
        ] {
            assert_eq!(opening(text), wanted, "{:?}", String::from_utf8_lossy(text));
        }
        assert_eq!(opening(&b"x".repeat(LONGEST_LINE + 1)), Opening::Other);
    }
}
