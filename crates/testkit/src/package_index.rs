//! A package index on loopback, for tests that install packages: pip is offered the wheels of one directory.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// It ends when dropped.
pub struct PackageIndex {
    /// What `PIP_INDEX_URL` is to be.
    pub url: String,
    port: u16,
    ending: Arc<AtomicBool>,
    door: Option<JoinHandle<()>>,
}

/// A client that says nothing must not keep the others waiting.
const PATIENCE: Duration = Duration::from_secs(20);

impl PackageIndex {
    /// Of the wheels in `dir`, on a port of the system's choice.
    #[track_caller]
    pub fn start(dir: PathBuf) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let ending = Arc::new(AtomicBool::new(false));
        let inside = Arc::clone(&ending);
        let door = thread::spawn(move || {
            for stream in listener.incoming() {
                if inside.load(Ordering::SeqCst) {
                    return;
                }
                // A client that goes away early is its own affair.
                stream.and_then(|stream| serve(&dir, &stream)).ok();
            }
        });
        Self { url: format!("http://127.0.0.1:{port}/simple/"), port, ending, door: Some(door) }
    }
}

impl Drop for PackageIndex {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok();
        if let Some(door) = self.door.take() {
            door.join().ok();
        }
    }
}

fn serve(dir: &Path, stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let (status, kind, body) = match answer(dir, request.split(' ').nth(1).unwrap_or_default()) {
        Some((kind, body)) => ("200 OK", kind, body),
        None => ("404 Not Found", "text/plain", Vec::new()),
    };
    let mut stream = stream;
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(&body)
}

/// A project's page lists its files; everything else is one of them.
fn answer(dir: &Path, path: &str) -> Option<(&'static str, Vec<u8>)> {
    let names = wheels(dir);
    if let Some(project) = path.strip_prefix("/simple/") {
        let wanted = normal(project.trim_matches('/'));
        let own = names.iter().filter(|name| name.split('-').next().is_some_and(|of| normal(of) == wanted));
        let links: Vec<String> = own.map(|name| format!("<a href=\"/files/{name}\">{name}</a>")).collect();
        return (!links.is_empty()).then(|| ("text/html", links.join("\n").into_bytes()));
    }
    let wanted = path.strip_prefix("/files/")?;
    let name = names.iter().find(|name| *name == wanted)?;
    Some(("application/octet-stream", fs::read(dir.join(name)).ok()?))
}

fn wheels(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".whl")).collect()
}

/// As the index of Python writes names.
fn normal(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_a_page_with_its_wheels_and_nothing_else_is_served() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("Some_thing-1.0-py3-none-any.whl"), "wheel").unwrap();
        fs::write(dir.path().join("secret.txt"), "no").unwrap();
        let text = |path: &str| answer(dir.path(), path).map(|(_, body)| String::from_utf8(body).unwrap());
        let page = text("/simple/some-thing/").unwrap();
        assert!(page.contains("/files/Some_thing-1.0-py3-none-any.whl"), "{page}");
        assert_eq!(text("/files/Some_thing-1.0-py3-none-any.whl").as_deref(), Some("wheel"));
        assert_eq!(
            [text("/simple/other/"), text("/files/secret.txt"), text("/files/../x.whl")],
            [const { None }; 3]
        );
    }
}
