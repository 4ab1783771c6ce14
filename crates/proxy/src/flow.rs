//! Moves bytes both ways between a client and a server, in buffers of fixed size.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::body::Body;
use crate::head::{Framing, ResponseHead, head_size};
use crate::request_line::RequestLineFinder;
use crate::socket::{EventFlag, Socket, WaitError, wait, wanted};

const BUFFER: usize = 32 * 1024;

const REQUEST_AFTER_OTHERS: &str = "an HTTP request follows other bytes, and its host was not looked at";

/// One direction.
pub struct Flow {
    filter: Filter,
    pending: Vec<u8>,
    sent: usize,
    /// Nothing more is read.
    ended: bool,
    /// The end of the source is passed on as the end of the destination's input.
    passes_end: bool,
    shut: bool,
}

/// What of the source reaches the destination.
enum Filter {
    Everything,
    /// Anything but a request whose host nobody has looked at.
    AnythingElse(RequestLineFinder),
    Body(Body),
    /// Heads of responses, then a body.
    Answer {
        seen: Vec<u8>,
        to_head: bool,
    },
}

/// When both directions are done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Until {
    BothEnd,
    /// The answer is whole; whatever the client still says is not listened to.
    Answered,
}

#[derive(Debug)]
pub enum FlowError {
    Ended(WaitError),
    /// The client's side of the exchange is not what it should be.
    Client(&'static str),
    Server(&'static str),
}

impl Flow {
    /// As it comes, with what was already read of it.
    pub fn everything(read: Vec<u8>) -> Flow {
        Flow { pending: read, passes_end: true, ..Flow::new(Filter::Everything) }
    }

    /// The same, until a request begins in it: what completes its first line is not passed on.
    pub fn anything_else(read: &[u8]) -> Result<Flow, &'static str> {
        let filter = Filter::AnythingElse(RequestLineFinder::new());
        let mut flow = Flow { passes_end: true, ..Flow::new(filter) };
        flow.take(read)?;
        Ok(flow)
    }

    /// A head to be sent first, then a body of which `read` is the beginning.
    pub fn body(head: Vec<u8>, framing: Framing, read: &[u8]) -> Result<Flow, &'static str> {
        let mut flow = Flow { pending: head, ..Flow::new(Filter::Body(Body::new(framing))) };
        flow.take(read)?;
        Ok(flow)
    }

    /// One answer, to HEAD or to another method.
    pub fn answer(to_head: bool) -> Flow {
        Flow::new(Filter::Answer { seen: Vec::new(), to_head })
    }

    fn new(filter: Filter) -> Flow {
        Flow { filter, pending: Vec::new(), sent: 0, ended: false, passes_end: false, shut: false }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        match &mut self.filter {
            Filter::Everything => self.pending.extend_from_slice(bytes),
            Filter::AnythingElse(finder) => {
                if finder.finds_in(bytes) {
                    return Err(REQUEST_AFTER_OTHERS);
                }
                self.pending.extend_from_slice(bytes);
            }
            Filter::Body(body) => {
                let size = body.take(bytes)?;
                self.pending.extend_from_slice(&bytes[..size]);
                self.ended |= body.is_over();
            }
            Filter::Answer { seen, to_head } => {
                seen.extend_from_slice(bytes);
                let (mut seen, to_head) = (std::mem::take(seen), *to_head);
                while let Some(size) = head_size(&seen)? {
                    let head = ResponseHead::parse(&seen[..size])?;
                    self.pending.extend_from_slice(&head.rewritten());
                    seen.drain(..size);
                    if let Some(framing) = head.framing(to_head)? {
                        self.filter = Filter::Body(Body::new(framing));
                        return self.take(&seen);
                    }
                }
                self.filter = Filter::Answer { seen, to_head };
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), &'static str> {
        self.ended = true;
        match &self.filter {
            Filter::Everything | Filter::AnythingElse(_) | Filter::Body(Body::UntilClosed) => Ok(()),
            Filter::Body(body) if body.is_over() => Ok(()),
            Filter::Body(_) => Err("it closed in the middle of a body"),
            Filter::Answer { .. } => Err("it closed without an answer"),
        }
    }

    fn wants_read(&self) -> bool {
        !self.ended && self.pending.is_empty()
    }

    fn wants_write(&self) -> bool {
        !self.pending.is_empty()
    }

    fn is_done(&self) -> bool {
        self.ended && self.pending.is_empty() && (self.shut || !self.passes_end)
    }

    /// Whether the destination has been told anything.
    fn has_sent(&self) -> bool {
        self.sent > 0
    }

    fn read(&mut self, from: &TcpStream, buffer: &mut [u8]) -> Result<bool, Failed> {
        match { from }.read(buffer) {
            Ok(0) => self.end().map_err(Failed::Source)?,
            Ok(size) => self.take(&buffer[..size]).map_err(Failed::Source)?,
            Err(error) if is_transient(&error) => return Ok(false),
            Err(error) => return Err(Failed::Broken(error)),
        }
        Ok(true)
    }

    fn write(&mut self, to: &TcpStream) -> Result<bool, Failed> {
        let mut moved = false;
        if !self.pending.is_empty() {
            match { to }.write(&self.pending) {
                Ok(size) => {
                    self.pending.drain(..size);
                    self.sent += size;
                    moved = true;
                }
                Err(error) if is_transient(&error) => return Ok(false),
                Err(error) => return Err(Failed::Broken(error)),
            }
        }
        if self.ended && self.pending.is_empty() && self.passes_end && !self.shut {
            to.shutdown(Shutdown::Write).ok();
            self.shut = true;
        }
        Ok(moved)
    }
}

enum Failed {
    Source(&'static str),
    Broken(io::Error),
}

fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

pub struct Relay<'a> {
    pub client: &'a Socket<'a>,
    pub server: &'a Socket<'a>,
    pub stop: &'a EventFlag,
    /// Without a byte either way.
    pub idle: Duration,
}

impl Relay<'_> {
    /// Whether the client was sent anything, and how it went.
    pub fn run(&self, mut up: Flow, mut down: Flow, until: Until) -> (bool, Result<(), FlowError>) {
        let outcome = self.pump(&mut up, &mut down, until);
        (down.has_sent(), outcome)
    }

    fn pump(&self, up: &mut Flow, down: &mut Flow, until: Until) -> Result<(), FlowError> {
        let mut buffer = vec![0; BUFFER];
        let mut last = Instant::now();
        loop {
            if down.is_done() && (until == Until::Answered || up.is_done()) {
                return Ok(());
            }
            let mut slots = vec![self.stop.slot()];
            slots.extend(wanted(&self.client.stream, up.wants_read(), down.wants_write()));
            slots.extend(wanted(&self.server.stream, down.wants_read(), up.wants_write()));
            wait(&mut slots, last + self.idle).map_err(FlowError::Ended)?;
            // Trying costs a system call at most, and keeps one path for data, ends and errors.
            let mut moved = false;
            if down.wants_read() {
                moved |= down.read(&self.server.stream, &mut buffer).map_err(of_server)?;
            }
            moved |= down.write(&self.client.stream).map_err(of_client)?;
            if up.wants_read() {
                moved |= up.read(&self.client.stream, &mut buffer).map_err(of_client)?;
            }
            match up.write(&self.server.stream) {
                Ok(any) => moved |= any,
                // A server may answer and close before it has taken the whole request.
                Err(_) if until == Until::Answered => {
                    up.pending.clear();
                    up.ended = true;
                }
                Err(failed) => return Err(of_server(failed)),
            }
            if moved {
                last = Instant::now();
            }
        }
    }
}

fn of_client(failed: Failed) -> FlowError {
    match failed {
        Failed::Source(why) => FlowError::Client(why),
        Failed::Broken(error) => FlowError::Ended(WaitError::Broken(error)),
    }
}

fn of_server(failed: Failed) -> FlowError {
    match failed {
        Failed::Source(why) => FlowError::Server(why),
        Failed::Broken(_) => FlowError::Server("its connection broke"),
    }
}
