//! What listens on the host while an agent runs, and who came.

use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

pub struct Sockets {
    tcp: TcpListener,
    unix: UnixListener,
    by_name: UnixListener,
    pub path: PathBuf,
    pub name: String,
}

/// The way somebody came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Tcp,
    Path,
    Name,
}

impl Sockets {
    pub fn open(dir: &Path) -> Self {
        let path = dir.join("socket");
        let tail = dir.display().to_string();
        let name = format!("windlass-hostile-{}", tail.replace('/', "-"));
        let name = name[name.len().saturating_sub(90)..].to_owned();
        let address = SocketAddr::from_abstract_name(&name).expect("a short name is legal");
        let sockets = Self {
            tcp: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port"),
            unix: UnixListener::bind(&path).expect("a fresh directory takes a socket"),
            by_name: UnixListener::bind_addr(&address).expect("the name is this stage's own"),
            path,
            name,
        };
        sockets.tcp.set_nonblocking(true).expect("a listener can be asked without waiting");
        sockets.unix.set_nonblocking(true).expect("a listener can be asked without waiting");
        sockets.by_name.set_nonblocking(true).expect("a listener can be asked without waiting");
        sockets
    }

    pub fn port(&self) -> u16 {
        self.tcp.local_addr().expect("a bound listener has an address").port()
    }

    /// What everybody said who connected to the TCP port.
    pub fn said(&self) -> String {
        let mut said = Vec::new();
        while let Ok((mut stream, _)) = self.tcp.accept() {
            // What was sent is there by the end of a run; a connection that stays open has no more.
            if stream.set_nonblocking(true).is_ok() {
                let _ = stream.read_to_end(&mut said);
            }
        }
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Whether somebody connected this way.
    pub fn came(&self, way: Way) -> Option<String> {
        let came = match way {
            Way::Tcp => self.tcp.accept().is_ok(),
            Way::Path => self.unix.accept().is_ok(),
            Way::Name => self.by_name.accept().is_ok(),
        };
        came.then(|| format!("a connection came in: {way:?}"))
    }
}
