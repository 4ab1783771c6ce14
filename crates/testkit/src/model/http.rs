//! HTTP/1.1 on a blocking socket, one request a connection. Written out here because an answer must be able
//! to stop in the middle of a frame, hang, or vanish, which servers made for production do not allow.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// Larger than any request line with headers that an agent sends.
const HEAD_BYTES: usize = 64 * 1024;
/// A model's whole conversation, pictures and all.
const BODY_BYTES: usize = 64 * 1024 * 1024;
/// How long a client may be silent in the middle of its own request.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the rest of a refused request is read, so that the refusal is not lost to a reset.
const LINGER: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub struct Incoming {
    pub method: String,
    /// Without the query.
    pub path: String,
    pub query: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Why a request was not read, with the status that says so.
#[derive(Debug)]
pub struct Refusal {
    pub status: u16,
    pub what: String,
    /// As far as it could be read.
    pub of: Incoming,
}

impl Incoming {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// None when the client said nothing at all.
pub fn read(stream: &mut TcpStream) -> Result<Option<Incoming>, Box<Refusal>> {
    let patience = stream.set_read_timeout(Some(PATIENCE));
    patience.map_err(|error| refusal(500, error.to_string(), Incoming::default()))?;
    let mut seen = Vec::new();
    loop {
        match head(&seen)? {
            Some((mut incoming, length)) => {
                let body = body(stream, &incoming, seen.split_off(length));
                return match body {
                    Ok(body) => {
                        incoming.body = body;
                        Ok(Some(incoming))
                    }
                    Err((status, what)) => Err(refusal(status, what, incoming)),
                };
            }
            None if seen.len() > HEAD_BYTES => {
                return Err(refusal(431, "the head of the request is too large", Incoming::default()));
            }
            None => {}
        }
        if more(stream, &mut seen).map_err(|what| refusal(400, what, Incoming::default()))? == 0 {
            return match seen.is_empty() {
                true => Ok(None),
                false => Err(refusal(400, "the request ends inside its head", Incoming::default())),
            };
        }
    }
}

fn head(seen: &[u8]) -> Result<Option<(Incoming, usize)>, Box<Refusal>> {
    let mut headers = [httparse::EMPTY_HEADER; 100];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(seen) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(refusal(400, format!("not HTTP: {error}"), Incoming::default())),
    };
    let target = request.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let of_header = |header: &httparse::Header<'_>| {
        (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).trim().to_owned())
    };
    let incoming = Incoming {
        method: request.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: request.headers.iter().map(of_header).collect(),
        body: Vec::new(),
    };
    match request.version {
        Some(1) => Ok(Some((incoming, length))),
        _ => Err(refusal(505, "only HTTP/1.1 is spoken here", incoming)),
    }
}

type Unread = (u16, String);

fn body(stream: &mut TcpStream, incoming: &Incoming, begun: Vec<u8>) -> Result<Vec<u8>, Unread> {
    if incoming.header("content-encoding").is_some_and(|coding| coding != "identity") {
        return Err((415, "a compressed body cannot be read here".to_owned()));
    }
    if incoming.header("expect").is_some_and(|wants| wants.eq_ignore_ascii_case("100-continue")) {
        let told = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
        told.map_err(|error| (400, error.to_string()))?;
    }
    let chunked = incoming.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked"));
    if chunked {
        return chunks(stream, begun);
    }
    let length = match incoming.header("content-length").map(str::parse::<usize>) {
        None => 0,
        Some(Ok(length)) if length <= BODY_BYTES => length,
        Some(Ok(_)) => return Err((413, format!("a body has at most {BODY_BYTES} bytes"))),
        Some(Err(_)) => return Err((400, "content-length is not a number".to_owned())),
    };
    let mut body = begun;
    while body.len() < length {
        if more(stream, &mut body).map_err(|what| (400, what))? == 0 {
            return Err((400, format!("the body ends after {} of {length} bytes", body.len())));
        }
    }
    body.truncate(length);
    Ok(body)
}

fn chunks(stream: &mut TcpStream, mut seen: Vec<u8>) -> Result<Vec<u8>, Unread> {
    let mut body = Vec::new();
    loop {
        match httparse::parse_chunk_size(&seen) {
            Ok(httparse::Status::Complete((start, size))) => {
                let size = usize::try_from(size).unwrap_or(usize::MAX);
                if size > BODY_BYTES - body.len() {
                    return Err((413, format!("a body has at most {BODY_BYTES} bytes")));
                }
                while seen.len() < start + size + 2 {
                    if more(stream, &mut seen).map_err(|what| (400, what))? == 0 {
                        return Err((400, "the body ends inside a chunk".to_owned()));
                    }
                }
                if size == 0 {
                    return Ok(body);
                }
                body.extend_from_slice(&seen[start..start + size]);
                seen.drain(..start + size + 2);
            }
            Ok(httparse::Status::Partial) => {
                if more(stream, &mut seen).map_err(|what| (400, what))? == 0 {
                    return Err((400, "the body ends between two chunks".to_owned()));
                }
            }
            Err(_) => return Err((400, "not a chunk".to_owned())),
        }
    }
}

fn more(stream: &mut TcpStream, seen: &mut Vec<u8>) -> Result<usize, String> {
    let mut buffer = [0; 64 * 1024];
    let length = stream.read(&mut buffer).map_err(|error| format!("reading the request: {error}"))?;
    seen.extend_from_slice(&buffer[..length]);
    Ok(length)
}

fn refusal(status: u16, what: impl Into<String>, of: Incoming) -> Box<Refusal> {
    Box::new(Refusal { status, what: what.into(), of })
}

pub type Headers = Vec<(String, String)>;

/// A whole answer.
pub fn whole(stream: &mut TcpStream, status: u16, headers: &Headers, body: &[u8]) -> io::Result<()> {
    let mut text = first_line(status, headers);
    text.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    stream.write_all(text.as_bytes())?;
    stream.write_all(body)
}

/// The head of an answer that comes in chunks, and ends with `end` or not at all.
pub fn begin(stream: &mut TcpStream, headers: &Headers) -> io::Result<()> {
    let text = first_line(200, headers) + "transfer-encoding: chunked\r\n\r\n";
    stream.write_all(text.as_bytes())
}

pub fn chunk(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let mut text = format!("{:x}\r\n", bytes.len()).into_bytes();
    text.extend_from_slice(bytes);
    text.extend_from_slice(b"\r\n");
    stream.write_all(&text)
}

pub fn end(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n")
}

fn first_line(status: u16, headers: &Headers) -> String {
    let mut text = format!("HTTP/1.1 {status} {}\r\nconnection: close\r\n", reason(status));
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        426 => "Upgrade Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        529 => "Overloaded",
        _ => "Status",
    }
}

/// Waits until the client goes away, or the server does.
pub fn hang(stream: &mut TcpStream) {
    if stream.set_read_timeout(None).is_ok() {
        let mut buffer = [0; 1024];
        while stream.read(&mut buffer).is_ok_and(|length| length > 0) {}
    }
}

/// Waits for a time. False when the client went away meanwhile.
pub fn pause(stream: &mut TcpStream, time: Duration) -> bool {
    if time.is_zero() {
        return true;
    }
    let waited = stream.set_read_timeout(Some(time)).and_then(|()| stream.peek(&mut [0]));
    !matches!(waited, Ok(0))
}

/// The end of an exchange: what the client still sends is read a little while, then nothing is left.
pub fn close(stream: &mut TcpStream) {
    if stream.shutdown(Shutdown::Write).is_ok() && stream.set_read_timeout(Some(LINGER)).is_ok() {
        let mut buffer = [0; 64 * 1024];
        let mut left = BODY_BYTES;
        while left > 0 {
            match stream.read(&mut buffer) {
                Ok(length) if length > 0 => left = left.saturating_sub(length),
                Ok(_) | Err(_) => break,
            }
        }
    }
    cut(stream);
}

pub fn cut(stream: &TcpStream) {
    // The client may be gone already, which is what is wanted.
    stream.shutdown(Shutdown::Both).ok();
}
