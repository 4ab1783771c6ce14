//! Reads the heads of requests and responses so strictly that nobody behind us can read them differently,
//! and writes them anew.

use crate::allow::Destination;

/// Of a request or a response.
pub const LONGEST_HEAD: usize = 32 * 1024;
const MOST_HEADERS: usize = 128;

const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Meant for one connection only (RFC 9110 §7.6.1), or said anew by us.
const NOT_PASSED_ON: &[&str] = &[
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

#[derive(Debug)]
pub struct RequestHead {
    pub method: String,
    pub target: String,
    version: u8,
    headers: Headers,
}

#[derive(Debug)]
pub struct ResponseHead {
    pub status: u16,
    reason: String,
    version: u8,
    headers: Headers,
}

#[derive(Debug)]
struct Headers(Vec<(String, Vec<u8>)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Length(u64),
    Chunked,
    UntilClosed,
}

/// A request as it is passed on: to whom, and its head.
#[derive(Debug, PartialEq, Eq)]
pub struct ProxiedRequest {
    pub target: Destination,
    /// From the first slash on.
    pub path: String,
    pub framing: Framing,
    pub is_head: bool,
    pub expects_continue: bool,
}

/// The size of the head that these bytes begin with, its empty line included. `None`: not all of it is there.
pub fn head_size(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    let mut previous = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' if previous != b'\r' => return Err("a line ends in a bare LF"),
            b'\n' if at == 1 => return Err("it begins with an empty line"),
            b'\n' if bytes[..at - 1].ends_with(b"\r\n") => return Ok(Some(at + 1)),
            0 => return Err("its head holds a NUL byte"),
            b' ' | b'\t' if previous == b'\n' => return Err("a header is folded over two lines"),
            other if previous == b'\r' && other != b'\n' => return Err("its head holds a bare CR"),
            _ => {}
        }
        if at >= LONGEST_HEAD {
            return Err("its head is too long");
        }
        previous = byte;
    }
    Ok(None)
}

impl RequestHead {
    /// `bytes` is a whole head, as [`head_size`] found it.
    pub fn parse(bytes: &[u8]) -> Result<RequestHead, &'static str> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(bytes) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Err("its head has no end"),
            Err(httparse::Error::TooManyHeaders) => return Err("it has too many headers"),
            Err(_) => return Err("its head is malformed"),
        }
        let (Some(method), Some(target), Some(version)) = (request.method, request.path, request.version)
        else {
            return Err("its first line is malformed");
        };
        if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("its target has other characters than ASCII");
        }
        let headers = Headers::own(request.headers);
        Ok(RequestHead { method: method.to_owned(), target: target.to_owned(), version, headers })
    }

    /// For CONNECT: whom to connect to.
    pub fn tunnel_target(&self) -> Result<Destination, &'static str> {
        let target = Destination::parse(&self.target, None)?;
        self.framing().and_then(|framing| match framing {
            Framing::Length(0) => Ok(()),
            Framing::Length(_) | Framing::Chunked | Framing::UntilClosed => Err("a CONNECT has a body"),
        })?;
        // Many clients leave the port out here, where it can mean nothing else.
        self.check_host(&target, target.port)?;
        Ok(target)
    }

    /// For every other method, in absolute form.
    pub fn proxied(&self) -> Result<ProxiedRequest, &'static str> {
        let scheme_end = self.target.find("://").ok_or("it is not in absolute form: no host is named")?;
        let (scheme, rest) = self.target.split_at(scheme_end);
        if !scheme.eq_ignore_ascii_case("http") {
            return Err("its scheme is not http: https goes through CONNECT");
        }
        let rest = &rest[3..];
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        if authority.contains('@') {
            return Err("its target holds a user name");
        }
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        self.request(Destination::parse(authority, Some(80))?, path, 80)
    }

    /// Inside a tunnel to `target`, in origin form.
    pub fn tunnelled(&self, target: &Destination) -> Result<ProxiedRequest, &'static str> {
        if !self.target.starts_with('/') {
            return Err("its target is no path");
        }
        if self.headers.all("host").next().is_none() {
            return Err("it has no Host header");
        }
        self.request(target.clone(), self.target.clone(), target.port)
    }

    fn request(
        &self,
        target: Destination,
        path: String,
        default_port: u16,
    ) -> Result<ProxiedRequest, &'static str> {
        if !METHODS.contains(&self.method.as_str()) {
            return Err("its method is not passed on");
        }
        if path.contains('#') {
            return Err("its target holds a fragment");
        }
        self.check_host(&target, default_port)?;
        let expects_continue =
            self.headers.all("expect").any(|value| value.eq_ignore_ascii_case(b"100-continue"));
        let framing = self.framing()?;
        Ok(ProxiedRequest { target, path, framing, is_head: self.method == "HEAD", expects_continue })
    }

    fn check_host(&self, target: &Destination, default_port: u16) -> Result<(), &'static str> {
        let mut hosts = self.headers.all("host");
        let Some(host) = hosts.next() else {
            return if self.version == 0 { Ok(()) } else { Err("it has no Host header") };
        };
        if hosts.next().is_some() {
            return Err("it has several Host headers");
        }
        let host = std::str::from_utf8(host).map_err(|_| "its Host header is malformed")?;
        let named =
            Destination::parse(host, Some(default_port)).map_err(|_| "its Host header is malformed")?;
        if named == *target { Ok(()) } else { Err("its Host header names another host than its target") }
    }

    fn framing(&self) -> Result<Framing, &'static str> {
        Ok(self.headers.framing(self.version)?.unwrap_or(Framing::Length(0)))
    }

    /// For the server: in origin form, one request and no more.
    pub fn rewritten(&self, request: &ProxiedRequest) -> Vec<u8> {
        let host = match (&request.target, request.target.port) {
            (Destination { host, .. }, 80) => host.to_string(),
            (target, _) => target.to_string(),
        };
        let mut head = format!("{} {} HTTP/1.1\r\nHost: {host}\r\n", self.method, request.path).into_bytes();
        self.headers.write(&mut head);
        let bodiless = matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS");
        if !bodiless || request.framing != Framing::Length(0) {
            request.framing.write(&mut head);
        }
        head.extend_from_slice(b"Connection: close\r\n\r\n");
        head
    }
}

impl ResponseHead {
    pub fn parse(bytes: &[u8]) -> Result<ResponseHead, &'static str> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        match response.parse(bytes) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) | Err(_) => return Err("the head of its answer is malformed"),
        }
        let (Some(status), Some(version)) = (response.code, response.version) else {
            return Err("the head of its answer is malformed");
        };
        let reason = response.reason.unwrap_or_default().to_owned();
        Ok(ResponseHead { status, reason, version, headers: Headers::own(response.headers) })
    }

    /// `None`: another head follows this one.
    pub fn framing(&self, to_head: bool) -> Result<Option<Framing>, &'static str> {
        match self.status {
            101 => Err("it changes the protocol, which was not asked for"),
            100..=199 => Ok(None),
            204 | 304 => Ok(Some(Framing::Length(0))),
            _ if to_head => Ok(Some(Framing::Length(0))),
            _ => Ok(Some(self.headers.framing(self.version)?.unwrap_or(Framing::UntilClosed))),
        }
    }

    /// For the client. The answer to a HEAD keeps the length it announces.
    pub fn rewritten(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, self.reason).into_bytes();
        self.headers.write(&mut head);
        if let Ok(Some(framing)) = self.headers.framing(self.version) {
            framing.write(&mut head);
        }
        if self.status >= 200 {
            head.extend_from_slice(b"Connection: close\r\n");
        }
        head.extend_from_slice(b"\r\n");
        head
    }
}

impl Headers {
    fn own(parsed: &[httparse::Header<'_>]) -> Headers {
        let own = |header: &httparse::Header<'_>| (header.name.to_owned(), header.value.to_vec());
        Headers(parsed.iter().map(own).collect())
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.0
            .iter()
            .filter(move |(have, _)| have.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_slice())
    }

    /// `None`: nothing is said about a body.
    fn framing(&self, version: u8) -> Result<Option<Framing>, &'static str> {
        let one = |name: &str, several: &'static str| {
            let mut values = self.all(name);
            let first = values.next();
            if values.next().is_some() { Err(several) } else { Ok(first) }
        };
        let length = one("content-length", "it has several Content-Length headers")?;
        let coding = one("transfer-encoding", "it has several Transfer-Encoding headers")?;
        match (length, coding) {
            (Some(_), Some(_)) => Err("it has both a Content-Length and a Transfer-Encoding"),
            (None, Some(coding)) if version == 1 && coding.eq_ignore_ascii_case(b"chunked") => {
                Ok(Some(Framing::Chunked))
            }
            (None, Some(_)) => Err("its Transfer-Encoding is not chunked"),
            (Some(length), None) => {
                let digits = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
                let size = std::str::from_utf8(length).ok().and_then(|text| text.parse().ok());
                match size {
                    Some(size) if digits => Ok(Some(Framing::Length(size))),
                    Some(_) | None => Err("its Content-Length is no number"),
                }
            }
            (None, None) => Ok(None),
        }
    }

    fn write(&self, to: &mut Vec<u8>) {
        let listed: Vec<String> = self
            .all("connection")
            .flat_map(|value| value.split(|&byte| byte == b','))
            .map(|word| String::from_utf8_lossy(word).trim().to_ascii_lowercase())
            .collect();
        for (name, value) in &self.0 {
            let lower = name.to_ascii_lowercase();
            if !NOT_PASSED_ON.contains(&lower.as_str()) && !listed.contains(&lower) {
                to.extend_from_slice(name.as_bytes());
                to.extend_from_slice(b": ");
                to.extend_from_slice(value);
                to.extend_from_slice(b"\r\n");
            }
        }
    }
}

impl Framing {
    fn write(self, to: &mut Vec<u8>) {
        match self {
            Framing::Length(size) => to.extend_from_slice(format!("Content-Length: {size}\r\n").as_bytes()),
            Framing::Chunked => to.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
            Framing::UntilClosed => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<RequestHead, &'static str> {
        match head_size(text)? {
            Some(size) => RequestHead::parse(&text[..size]),
            None => Err("incomplete"),
        }
    }

    fn proxied(text: &str) -> Result<(ProxiedRequest, String), &'static str> {
        let head = read(text.as_bytes())?;
        let request = head.proxied()?;
        let rewritten = String::from_utf8(head.rewritten(&request)).unwrap();
        Ok((request, rewritten))
    }

    #[test]
    fn a_request_is_written_anew() {
        let text = "POST HTTP://Example.org:8080/a?b=c HTTP/1.1\r\nHost: example.ORG:8080\r\nX-Kept: 1\r\n\
            Connection: close, X-Gone\r\nX-Gone: 1\r\nProxy-Authorization: secret\r\nTE: trailers\r\n\
            Upgrade: h2c\r\nContent-Length: 3\r\n\r\nabc";
        let (request, rewritten) = proxied(text).unwrap();
        assert_eq!(request.target, Destination::parse("example.org:8080", None).unwrap());
        assert_eq!(request.framing, Framing::Length(3));
        assert_eq!(
            rewritten,
            "POST /a?b=c HTTP/1.1\r\nHost: example.org:8080\r\nX-Kept: 1\r\nContent-Length: 3\r\n\
             Connection: close\r\n\r\n"
        );
        let (request, rewritten) =
            proxied("GET http://example.org?q HTTP/1.1\r\nHost: example.org\r\n\r\n").unwrap();
        assert_eq!(request.path, "/?q");
        assert_eq!(rewritten, "GET /?q HTTP/1.1\r\nHost: example.org\r\nConnection: close\r\n\r\n");
        let (_, rewritten) = proxied(
            "POST http://a.org/ HTTP/1.1\r\nhost: a.org:80\r\nConnection: content-length, transfer-encoding\r\n\
             transfer-encoding: CHUNKED\r\n\r\n",
        )
        .unwrap();
        assert!(rewritten.contains("\r\nTransfer-Encoding: chunked\r\n"), "{rewritten}");
        assert!(proxied("GET http://a.org/ HTTP/1.0\r\n\r\n").is_ok(), "HTTP/1.0 needs no Host");
    }

    #[test]
    fn smuggling_is_refused() {
        let get = "GET http://a.org/ HTTP/1.1\r\n";
        let post = "POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\n";
        for (text, says) in [
            ("GET / HTTP/1.1\r\nHost: a.org\r\n\r\n".to_owned(), "absolute form"),
            ("GET a.org:80 HTTP/1.1\r\nHost: a.org\r\n\r\n".to_owned(), "absolute form"),
            ("GET https://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n".to_owned(), "CONNECT"),
            ("GET ftp://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n".to_owned(), "scheme"),
            ("GET http://u:p@a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n".to_owned(), "user name"),
            ("GET http:///x HTTP/1.1\r\nHost: a.org\r\n\r\n".to_owned(), "no host"),
            ("GET http://a.org/#x HTTP/1.1\r\nHost: a.org\r\n\r\n".to_owned(), "fragment"),
            ("TRACE http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n".to_owned(), "method"),
            ("get http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n".to_owned(), "method"),
            ("PRI * HTTP/2.0\r\n\r\n".to_owned(), "malformed"),
            ("GET  http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n".to_owned(), "malformed"),
            ("\r\nGET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n".to_owned(), "empty line"),
            (format!("{get}\r\n"), "no Host"),
            (format!("{get}Host: a.org\r\nHost: a.org\r\n\r\n"), "several Host"),
            (format!("{get}Host: b.org\r\n\r\n"), "another host"),
            (format!("{get}Host: a.org:81\r\n\r\n"), "another host"),
            (format!("{get}Host: a.org, b.org\r\n\r\n"), "malformed"),
            (format!("{get}Host: \r\n\r\n"), "malformed"),
            (format!("{get}Host : a.org\r\n\r\n"), "malformed"),
            (format!("{get}Host: a.org\r\n folded\r\n\r\n"), "folded"),
            (format!("{get}Host: a.org\r\nX: a\nY: b\r\n\r\n"), "bare LF"),
            (format!("{get}Host: a.org\r\nX: a\rY: b\r\n\r\n"), "bare CR"),
            (format!("{get}Host: a.org\r\nX: a\0b\r\n\r\n"), "NUL"),
            ("GET http://a.org/ HTTP/1.1\nHost: a.org\n\n".to_owned(), "bare LF"),
            (format!("{post}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"), "both"),
            (format!("{post}Content-Length: 3\r\nContent-Length: 3\r\n\r\n"), "several Content-Length"),
            (format!("{post}Content-Length: 3, 3\r\n\r\n"), "no number"),
            (format!("{post}Content-Length: +3\r\n\r\n"), "no number"),
            (format!("{post}Content-Length: 0x3\r\n\r\n"), "no number"),
            (format!("{post}Content-Length: -1\r\n\r\n"), "no number"),
            (format!("{post}Content-Length: 99999999999999999999\r\n\r\n"), "no number"),
            (format!("{post}Content-Length:\r\n\r\n"), "no number"),
            (format!("{post}Transfer-Encoding: gzip, chunked\r\n\r\n"), "not chunked"),
            (format!("{post}Transfer-Encoding: xchunked\r\n\r\n"), "not chunked"),
            (format!("{post}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n"), "several"),
            ("POST http://a.org/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(), "not chunked"),
            (format!("{get}Host: a.org\r\n{}\r\n", "X: y\r\n".repeat(200)), "too many"),
            (format!("{get}Host: a.org\r\nX: {}\r\n\r\n", "y".repeat(LONGEST_HEAD)), "too long"),
        ] {
            let error = proxied(&text).unwrap_err();
            assert!(error.contains(says), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_connect_names_its_target_once() {
        let target = |text: &str| read(text.as_bytes()).and_then(|head| head.tunnel_target());
        let wanted = Destination::parse("a.org:443", None).unwrap();
        assert_eq!(target("CONNECT a.org:443 HTTP/1.1\r\nHost: a.org:443\r\n\r\n"), Ok(wanted.clone()));
        assert_eq!(target("CONNECT A.org.:443 HTTP/1.1\r\nHost: a.org\r\n\r\n"), Ok(wanted.clone()));
        assert_eq!(target("CONNECT a.org:443 HTTP/1.0\r\n\r\n"), Ok(wanted));
        for bad in [
            "CONNECT a.org HTTP/1.1\r\nHost: a.org\r\n\r\n",
            "CONNECT a.org:443 HTTP/1.1\r\nHost: b.org:443\r\n\r\n",
            "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org:80\r\n\r\n",
            "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org\r\nHost: b.org\r\n\r\n",
            "CONNECT https://a.org:443 HTTP/1.1\r\nHost: a.org\r\n\r\n",
            "CONNECT u@a.org:443 HTTP/1.1\r\nHost: a.org\r\n\r\n",
            "CONNECT a.org:443/x HTTP/1.1\r\nHost: a.org\r\n\r\n",
            "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org\r\nContent-Length: 5\r\n\r\n",
            "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            assert!(target(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_answer_ends_where_it_says() {
        let framing =
            |text: &str, to_head: bool| ResponseHead::parse(text.as_bytes()).unwrap().framing(to_head);
        assert_eq!(
            framing("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", false),
            Ok(Some(Framing::Length(4)))
        );
        assert_eq!(
            framing("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n", true),
            Ok(Some(Framing::Length(0)))
        );
        assert_eq!(framing("HTTP/1.1 200 OK\r\n\r\n", false), Ok(Some(Framing::UntilClosed)));
        assert_eq!(
            framing("HTTP/1.1 304 X\r\nContent-Length: 4\r\n\r\n", false),
            Ok(Some(Framing::Length(0)))
        );
        assert_eq!(framing("HTTP/1.1 103 X\r\n\r\n", false), Ok(None));
        assert!(framing("HTTP/1.1 101 X\r\n\r\n", false).is_err());
        assert!(framing("HTTP/1.1 200 X\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n", false).is_err());
        let text = b"HTTP/1.1 200 Fine\r\nKeep-Alive: 5\r\nConnection: keep-alive\r\nA: b\r\nContent-Length: 4\r\n\r\n";
        let rewritten = ResponseHead::parse(text).unwrap().rewritten();
        assert_eq!(
            String::from_utf8(rewritten).unwrap(),
            "HTTP/1.1 200 Fine\r\nA: b\r\nContent-Length: 4\r\nConnection: close\r\n\r\n"
        );
    }
}
