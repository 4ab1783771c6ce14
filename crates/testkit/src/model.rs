//! A model that follows a script, for tests of real agents: an HTTP server on loopback that speaks OpenAI's
//! Responses and Chat Completions, Anthropic's Messages and Google's Gemini, streamed or whole.
//!
//! A script says what is done in a conversation, not which bytes are sent: `run` picks the shell out of the
//! tools the agent offers, `report` takes the form the request asks for. Where a conversation stands is read
//! from the conversation, so an agent's own retries change nothing. Each failure an agent may meet can be
//! played, and every token handed out is recorded. `cargo xtask model` serves the same to anyone.

mod api;
mod ask;
mod exchange;
mod failure;
mod form;
mod http;
mod play;
mod record;
mod script;
mod tokens;
mod tool;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

pub use api::Api;
pub use record::Seen;
pub use script::{CASES, Script};
pub use tokens::Tokens;

use exchange::House;
use play::Stage;
use record::Records;

/// A served script. It ends when dropped, with every connection.
pub struct Server {
    /// `http://127.0.0.1:PORT`; an agent's base URL begins with it, and may have any path before `/v1`.
    pub url: String,
    pub port: u16,
    shared: Arc<Shared>,
    door: Option<JoinHandle<()>>,
}

struct Shared {
    house: House,
    ending: AtomicBool,
    guests: Mutex<Vec<Guest>>,
}

/// A connection, and the thread that serves it.
struct Guest {
    stream: TcpStream,
    thread: JoinHandle<()>,
}

/// At once; more are turned away.
const GUESTS: usize = 512;

impl Server {
    /// On a port of the system's choice.
    #[track_caller]
    pub fn start(script: Script) -> Self {
        Self::listen(script, 0, None).expect("a port on loopback")
    }

    /// `port` 0 is the system's choice. Each request becomes a line of `log` once it is answered.
    pub fn listen(script: Script, port: u16, log: Option<File>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let port = listener.local_addr()?.port();
        let house = House { stage: Stage::new(script), records: Records::new(log), seed: seed(port) };
        let shared = Arc::new(Shared { house, ending: AtomicBool::new(false), guests: Mutex::default() });
        let inside = shared.clone();
        let door =
            thread::Builder::new().name("model".to_owned()).spawn(move || inside.receive(&listener))?;
        Ok(Self { url: format!("http://127.0.0.1:{port}"), port, shared, door: Some(door) })
    }

    /// Every request so far, in the order of arrival; those under way are among them.
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.house.records.all()
    }

    /// What was handed out, by model.
    pub fn tokens(&self) -> BTreeMap<String, Tokens> {
        self.tokens_where(|_| true)
    }

    /// The same of some requests: an agent may keep what its titles cost to itself.
    pub fn tokens_where(&self, counts: impl Fn(&Seen) -> bool) -> BTreeMap<String, Tokens> {
        self.shared.house.records.tokens(counts)
    }

    /// Until the process ends, which is the only thing that ends it.
    pub fn forever(mut self) {
        self.shared.house.records.forget_bodies();
        if let Some(door) = self.door.take() {
            door.join().ok();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::SeqCst);
        // Whoever waits at the door is woken by one more guest.
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok();
        if let Some(door) = self.door.take() {
            door.join().ok();
        }
        let guests: Vec<_> = self.shared.guests().drain(..).collect();
        for guest in &guests {
            http::cut(&guest.stream);
        }
        for guest in guests {
            guest.thread.join().ok();
        }
    }
}

impl Shared {
    fn receive(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.ending.load(Ordering::SeqCst) {
                return;
            }
            let Ok(stream) = stream else { continue };
            self.admit(stream);
        }
    }

    fn admit(self: &Arc<Self>, mut stream: TcpStream) {
        let mut guests = self.guests();
        guests.retain(|guest| !guest.thread.is_finished());
        let Ok(kept) = stream.try_clone() else { return };
        if guests.len() >= GUESTS {
            return;
        }
        let inside = self.clone();
        let thread = thread::Builder::new().name("model guest".to_owned());
        if let Ok(thread) = thread.spawn(move || exchange::serve(&inside.house, &mut stream)) {
            guests.push(Guest { stream: kept, thread });
        }
    }

    fn guests(&self) -> MutexGuard<'_, Vec<Guest>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn seed(port: u16) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    format!("{since:x}{port:x}n")
}
