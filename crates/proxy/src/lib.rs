//! A forward proxy for programs that may reach a few hosts and nothing else.
//!
//! It speaks CONNECT, and plain HTTP in absolute form, one request a connection. The *name* a program asks
//! for decides; it is resolved here, and an address of this machine or its link is refused. Inside a tunnel
//! the first bytes are looked at: a TLS client must name the same host, and so must an HTTP request.
//!
//! What it cannot see: a second name inside the encrypted part of TLS (a server that serves several names
//! decides for itself whom to answer), and what an allowed host does with what it is sent.
//!
//! It knows no other crate of this workspace: `windlass-process` runs it beside a program whose network leads
//! nowhere else.

#![allow(
    clippy::disallowed_methods,
    reason = "it bounds its own waits on a monotonic clock, and its tests start clients"
)]

mod address;
mod allow;
mod body;
mod exchange;
mod flow;
mod head;
mod hello;
mod request_line;
mod socket;
#[cfg(test)]
mod tests;
mod tunnel;

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

pub use allow::{AllowError, AllowList};
use allow::{Destination, TargetHost};
use head::{RequestHead, head_size};
use socket::{EventFlag, Lookup, Resolver, Socket, WaitError, connect, read_until, resolve, wait};

/// At most this many connections at a time; more wait in the listener's queue.
const MOST_CONNECTIONS: usize = 256;
/// Refusals beyond are not handed out.
const MOST_REFUSALS: u64 = 1000;
const STACK: usize = 256 * 1024;
/// What a refusal quotes of a program's own words.
const LONGEST_QUOTE: usize = 300;

/// Something a program wanted and did not get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRequest {
    /// Since the proxy was started.
    pub at: Duration,
    /// `host:port`, or what the program wrote instead; printable ASCII only.
    pub what: String,
    pub why: RefusalReason,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RefusalReason {
    #[error("it is not on the list of allowed hosts")]
    NotAllowed,
    #[error("the name leads to {address}, {kind}")]
    Address { address: IpAddr, kind: &'static str },
    #[error("the request is refused: {0}")]
    Malformed(&'static str),
    #[error("the TLS client names {0:?}, another host than it asked for")]
    ServerName(String),
    #[error("the TLS client does not say which host it wants")]
    NoServerName,
    #[error("the TLS client is refused: {0}")]
    Hello(&'static str),
    #[error("the request did not arrive in time")]
    Slow,
}

/// Dropped, it ends every connection and waits until they are closed.
#[derive(Debug)]
pub struct ProxyHandle {
    shared: Arc<Shared>,
    address: SocketAddr,
    accepting: Option<JoinHandle<()>>,
}

/// Serves until the handle is dropped. `log` is told of every refusal, up to a bound, and must not wait: it
/// holds up the connection, and the end of the proxy.
pub fn serve(
    listener: TcpListener,
    allow: AllowList,
    log: impl FnMut(RefusedRequest) + Send + 'static,
) -> io::Result<ProxyHandle> {
    start(listener, allow, log, Terms::default())
}

/// Serves without looking for requests behind bytes that are none.
#[cfg(feature = "weaken")]
pub fn serve_later_requests(
    listener: TcpListener,
    allow: AllowList,
    log: impl FnMut(RefusedRequest) + Send + 'static,
) -> io::Result<ProxyHandle> {
    start(listener, allow, log, Terms { later_requests: LaterRequests::Passed, ..Terms::default() })
}

/// The variables by which programs find the proxy at this address. It is theirs to obey: only a network that leads
/// nowhere else makes them.
pub fn environment(proxy: SocketAddr) -> Vec<(OsString, OsString)> {
    let url = format!("http://{proxy}");
    let proxies = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"].map(|name| (name, url.as_str()));
    // Node looks at them from version 24 on, if it is told to. Nothing is to be reached without the proxy.
    let others = [("NODE_USE_ENV_PROXY", "1"), ("no_proxy", ""), ("NO_PROXY", "")];
    proxies.into_iter().chain(others).map(|(name, value)| (name.into(), value.into())).collect()
}

/// What tests change.
struct Terms {
    resolver: Arc<Resolver>,
    patience: Patience,
    later_requests: LaterRequests,
}

impl Default for Terms {
    fn default() -> Terms {
        let resolver = |name: &str, port: u16| (name, port).to_socket_addrs().map(Iterator::collect);
        let (patience, later_requests) = (Patience::default(), LaterRequests::Refused);
        Terms { resolver: Arc::new(resolver), patience, later_requests }
    }
}

/// What becomes of a request in a tunnel that begins with something else.
#[derive(Clone, Copy, Debug)]
enum LaterRequests {
    Refused,
    /// Whatever host it names.
    #[cfg(feature = "weaken")]
    Passed,
}

#[derive(Clone, Copy, Debug)]
struct Patience {
    /// For a whole head, or the first message of a TLS client.
    head: Duration,
    /// For a name to be resolved, and for a server to accept.
    connect: Duration,
    /// For the next byte of a connection; a model may think for minutes.
    idle: Duration,
    /// For a client to read our last words.
    goodbye: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        let secs = Duration::from_secs;
        Patience { head: secs(10), connect: secs(20), idle: secs(15 * 60), goodbye: secs(1) }
    }
}

struct Shared {
    allow: AllowList,
    terms: Terms,
    started: Instant,
    stop: EventFlag,
    /// Raised whenever a connection has ended.
    freed: EventFlag,
    connections: AtomicUsize,
    refusals: AtomicU64,
    log: Mutex<Box<dyn FnMut(RefusedRequest) + Send>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy").field("allow", &self.allow).field("connections", &self.connections).finish()
    }
}

impl ProxyHandle {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends every connection and returns when they are closed.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.shared.stop.raise();
        if let Some(accepting) = self.accepting.take() {
            accepting.join().ok();
        }
    }
}

impl Drop for ProxyHandle {
    fn drop(&mut self) {
        self.end();
    }
}

fn start(
    listener: TcpListener,
    allow: AllowList,
    log: impl FnMut(RefusedRequest) + Send + 'static,
    terms: Terms,
) -> io::Result<ProxyHandle> {
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let shared = Arc::new(Shared {
        allow,
        terms,
        started: Instant::now(),
        stop: EventFlag::new()?,
        freed: EventFlag::new()?,
        connections: AtomicUsize::new(0),
        refusals: AtomicU64::new(0),
        log: Mutex::new(Box::new(log)),
    });
    let accepting = std::thread::Builder::new().name("proxy".to_owned()).stack_size(STACK).spawn({
        let shared = Arc::clone(&shared);
        move || accept_all(&listener, &shared)
    })?;
    Ok(ProxyHandle { shared, address, accepting: Some(accepting) })
}

/// Longer than anybody waits; a wait without a deadline would need a second way to say so.
const LONG: Duration = Duration::from_secs(3600);

fn accept_all(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let full = shared.connections.load(Ordering::SeqCst) >= MOST_CONNECTIONS;
        let next = if full { shared.freed.slot() } else { PollFd::new(listener, PollFlags::IN) };
        match wait(&mut [shared.stop.slot(), next], Instant::now() + LONG) {
            Ok(()) if full => shared.freed.lower(),
            Ok(()) => match listener.accept() {
                Ok((stream, _)) => attend_in_thread(stream, shared),
                // Out of descriptors, or the client is gone: what is there to do waits for the next turn.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            },
            Err(WaitError::Late) => {}
            Err(WaitError::Stopped | WaitError::Broken(_)) => break,
        }
    }
    shared.stop.raise();
    while shared.connections.load(Ordering::SeqCst) > 0 {
        // Each of them sees the same signal within one wait; this bounds a fault of ours.
        let slots = &mut [shared.freed.slot()];
        let pause = rustix::event::Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        rustix::event::poll(slots, Some(&pause)).ok();
        shared.freed.lower();
    }
}

fn attend_in_thread(stream: TcpStream, shared: &Arc<Shared>) {
    shared.connections.fetch_add(1, Ordering::SeqCst);
    let place = ConnectionSlot(Arc::clone(shared));
    // On failure the closure is dropped, and with it the connection and its place.
    std::thread::Builder::new()
        .name("proxy-client".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            let shared = &place.0;
            if let Ok(client) = Socket::new(stream, &shared.stop) {
                shared.attend(client);
            }
        })
        .ok();
}

/// One of the connections that may be; free again when dropped.
struct ConnectionSlot(Arc<Shared>);

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::SeqCst);
        self.0.freed.raise();
    }
}

/// A client, and the server that it may reach.
struct Connection<'a> {
    client: Socket<'a>,
    server: Socket<'a>,
}

impl Shared {
    fn attend(&self, client: Socket<'_>) {
        let until = Instant::now() + self.terms.patience.head;
        let mut seen = Vec::new();
        let size = match read_until(&client, &mut seen, until, |seen| head_size(seen).transpose()) {
            Ok(Some(Ok(size))) => size,
            Ok(Some(Err(why))) => {
                return self.refuse(client, first_word(&seen), RefusalReason::Malformed(why));
            }
            Err(WaitError::Late) => return self.refuse(client, first_word(&seen), RefusalReason::Slow),
            // It left before it had asked for anything.
            Ok(None) | Err(WaitError::Stopped | WaitError::Broken(_)) => return,
        };
        let rest = seen.split_off(size);
        let head = match RequestHead::parse(&seen) {
            Ok(head) => head,
            Err(why) => return self.refuse(client, first_word(&seen), RefusalReason::Malformed(why)),
        };
        if head.method == "CONNECT" {
            self.tunnel(client, &head, rest);
        } else {
            self.proxied(client, &head, &rest);
        }
    }

    /// The socket of a server, if the list and its address permit. What stands in the way was said to the
    /// client.
    fn reach<'a>(&'a self, client: Socket<'a>, target: &Destination) -> Option<Connection<'a>> {
        let Some(permission) = self.allow.permission(target) else {
            self.refuse(client, target.to_string(), RefusalReason::NotAllowed);
            return None;
        };
        let until = Instant::now() + self.terms.patience.connect;
        let found = match &target.host {
            TargetHost::Address(address) => Ok(vec![SocketAddr::new(*address, target.port)]),
            TargetHost::Name(name) => {
                let lookup = Lookup { name, port: target.port, until };
                resolve(&self.terms.resolver, &lookup, &self.stop)
            }
        };
        let addresses = match found {
            Ok(addresses) => addresses,
            Err(ended) => {
                self.answer(client, 502, &format!("{target} cannot be resolved: {}", in_words(&ended)));
                return None;
            }
        };
        let mut objection = None;
        let mut last = WaitError::Broken(io::Error::other("it has no address"));
        for address in addresses {
            if let Some(kind) = address::objection(address.ip(), permission) {
                objection = Some(RefusalReason::Address { address: address.ip(), kind });
                continue;
            }
            // The port is the one that was asked for, whatever a resolver says.
            match connect(SocketAddr::new(address.ip(), target.port), &self.stop, until) {
                Ok(server) => return Some(Connection { client, server }),
                Err(ended) => {
                    objection = None;
                    last = ended;
                }
            }
        }
        match objection {
            Some(why) => self.refuse(client, target.to_string(), why),
            None => self.answer(client, 502, &format!("{target} cannot be reached: {}", in_words(&last))),
        }
        None
    }

    /// Records the refusal and says so to the client.
    fn refuse(&self, client: Socket<'_>, what: String, why: RefusalReason) {
        let status = match &why {
            RefusalReason::NotAllowed | RefusalReason::Address { .. } => 403,
            RefusalReason::Slow => 408,
            RefusalReason::Malformed(_)
            | RefusalReason::ServerName(_)
            | RefusalReason::NoServerName
            | RefusalReason::Hello(_) => 400,
        };
        let text = format!("{what}: {why}");
        self.record(what, why);
        self.answer(client, status, &text);
    }

    fn record(&self, what: String, why: RefusalReason) {
        let at = self.started.elapsed();
        if self.refusals.fetch_add(1, Ordering::Relaxed) < MOST_REFUSALS {
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            log(RefusedRequest { at, what, why });
        }
    }

    fn answer(&self, client: Socket<'_>, status: u16, text: &str) {
        let reason = match status {
            400 => "Bad Request",
            403 => "Forbidden",
            408 => "Request Timeout",
            _ => "Bad Gateway",
        };
        let body = format!("windlass proxy: {text}\n");
        let head = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let patience = self.terms.patience.goodbye;
        if client.write_all(format!("{head}{body}").as_bytes(), Instant::now() + patience).is_ok() {
            client.close_gently(patience);
        }
    }
}

fn in_words(ended: &WaitError) -> String {
    match ended {
        WaitError::Stopped => "the proxy is stopped".to_owned(),
        WaitError::Late => "no answer in time".to_owned(),
        WaitError::Broken(error) => error.to_string(),
    }
}

/// What a program asked for where no host can be made out, safe to show.
fn first_word(seen: &[u8]) -> String {
    let line = seen.split(|&byte| byte == b'\r' || byte == b'\n').next().unwrap_or_default();
    let shown: String = line
        .iter()
        .take(LONGEST_QUOTE)
        .map(|&byte| if byte.is_ascii_graphic() || byte == b' ' { byte as char } else { '?' })
        .collect();
    if shown.is_empty() { "(nothing)".to_owned() } else { shown }
}
