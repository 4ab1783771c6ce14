//! Real loopback servers behind the proxy, and clients that try to get past it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::hello::tests as tls;
use super::*;

const SOON: Duration = Duration::from_secs(20);

/// A server for each connection: what it is sent, and what it does.
struct Server {
    port: u16,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn new(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (serve, stopped) = (Arc::new(serve), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut serving = Vec::new();
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let (serve, stream) = (Arc::clone(&serve), stream.unwrap());
                stream.set_read_timeout(Some(SOON)).unwrap();
                serving.push(std::thread::spawn(move || serve(stream)));
            }
            serving.into_iter().for_each(|thread| thread.join().unwrap());
        });
        Server { port: address.port(), address, stop, thread: Some(thread) }
    }

    /// Answers one request with a fixed text, and keeps what it was sent.
    fn answering(answer: &'static str) -> (Server, mpsc::Receiver<String>) {
        let (sender, requests) = mpsc::channel();
        let server = Server::new(move |mut stream| {
            sender.send(read_request(&mut stream)).ok();
            stream.write_all(answer.as_bytes()).ok();
        });
        (server, requests)
    }

    fn echo() -> Server {
        Server::new(|mut stream| {
            let mut from = stream.try_clone().unwrap();
            std::io::copy(&mut from, &mut stream).ok();
            stream.shutdown(Shutdown::Write).ok();
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        TcpStream::connect(self.address).ok();
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Head and body, by Content-Length or chunks.
fn read_request(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    let whole = |text: &[u8]| {
        let Some(end) = text.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
        let head = String::from_utf8_lossy(&text[..end]).to_ascii_lowercase();
        let length: Option<usize> =
            head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
        match length {
            Some(length) => text.len() >= end + 4 + length,
            None if head.contains("chunked") => text.ends_with(b"0\r\n\r\n"),
            None => true,
        }
    };
    while !whole(&text) && stream.read(&mut byte).is_ok_and(|size| size > 0) {
        text.push(byte[0]);
    }
    String::from_utf8_lossy(&text).into_owned()
}

struct Stand {
    proxy: ProxyHandle,
    refusals: mpsc::Receiver<RefusedRequest>,
}

impl Stand {
    /// Allowed hosts, and where their names lead.
    fn new(allow: &[String], names: &[(&'static str, &'static str)]) -> Stand {
        Stand::with(allow, names, Patience { goodbye: Duration::from_millis(500), ..Patience::default() })
    }

    fn with(allow: &[String], names: &[(&'static str, &'static str)], patience: Patience) -> Stand {
        let names: Vec<(&str, IpAddr)> =
            names.iter().map(|(name, address)| (*name, address.parse().unwrap())).collect();
        let resolver = move |name: &str, port: u16| {
            let found = names.iter().filter(|(have, _)| *have == name);
            Ok(found.map(|(_, address)| SocketAddr::new(*address, port)).collect())
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (sender, refusals) = mpsc::channel();
        let log = move |refusal| drop(sender.send(refusal));
        let terms = Terms { resolver: Arc::new(resolver), patience, ..Terms::default() };
        let proxy = start(listener, AllowList::parse(allow).unwrap(), log, terms).unwrap();
        Stand { proxy, refusals }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.proxy.address()).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream
    }

    /// Everything the proxy answers until it closes.
    fn say(&self, text: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(text).unwrap();
        rest_of(&mut stream)
    }

    /// A tunnel that was granted.
    fn tunnel(&self, target: &str) -> TcpStream {
        let mut stream = self.connect();
        write!(stream, "CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        let mut byte = [0];
        while !answer.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
            answer.push(byte[0]);
        }
        assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer));
        stream
    }

    fn refusal(&self) -> RefusedRequest {
        self.refusals.recv_timeout(SOON).unwrap()
    }

    fn no_refusal(&self) {
        assert_eq!(self.refusals.try_recv(), Err(mpsc::TryRecvError::Empty));
    }
}

fn rest_of(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    // A reset after the last byte is an end too.
    stream.read_to_end(&mut text).ok();
    String::from_utf8_lossy(&text).into_owned()
}

fn local(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

#[test]
fn a_plain_request_is_passed_on_once() {
    let (server, requests) =
        Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nKeep-Alive: 5\r\n\r\nhello and too much");
    let host = format!("localhost:{}", server.port);
    let stand = Stand::new(std::slice::from_ref(&host), &[("localhost", "127.0.0.1")]);
    let answer = stand.say(
        format!(
            "POST http://LocalHost:{}/x HTTP/1.1\r\nHost: {host}\r\nProxy-Connection: keep-alive\r\n\
             Content-Length: 3\r\n\r\nabcGET http://evil.org/ HTTP/1.1\r\nHost: evil.org\r\n\r\n",
            server.port
        )
        .as_bytes(),
    );
    assert_eq!(answer, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
    let sent = requests.recv_timeout(SOON).unwrap();
    assert_eq!(
        sent,
        format!("POST /x HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc")
    );
    assert!(requests.try_recv().is_err(), "a second request behind the first reaches nobody");
    stand.no_refusal();
}

#[test]
fn bodies_are_streamed_both_ways() {
    let server = Server::new(|mut stream| {
        let request = read_request(&mut stream);
        let body = request.split_once("\r\n\r\n").unwrap().1.len();
        stream
            .write_all(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            .unwrap();
        for _ in 0..64 {
            write!(stream, "1000\r\n{}\r\n", "x".repeat(4096)).unwrap();
        }
        write!(stream, "{:x}\r\n{body}\r\n0\r\n\r\n", body.to_string().len()).unwrap();
    });
    let host = local(server.port);
    let stand = Stand::new(std::slice::from_ref(&host), &[]);
    let mut stream = stand.connect();
    write!(stream, "PUT http://{host}/ HTTP/1.1\r\nHost: {host}\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
    for _ in 0..64 {
        write!(stream, "400\r\n{}\r\n", "y".repeat(1024)).unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    let answer = rest_of(&mut stream);
    let size = 64 * (1024 + 7) + 5;
    assert!(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\n"), "{}", &answer[..200]);
    assert!(answer.ends_with(&format!("\r\n{size}\r\n0\r\n\r\n")), "{}", &answer[answer.len() - 100..]);
    assert!(answer.len() > 64 * 4096);
    stand.no_refusal();
}

#[test]
fn an_answer_without_a_length_ends_with_the_connection() {
    let (server, _requests) = Server::answering("HTTP/1.0 200 OK\r\n\r\nuntil the end");
    let host = local(server.port);
    let stand = Stand::new(std::slice::from_ref(&host), &[]);
    let answer = stand.say(format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
    assert!(answer.ends_with("Connection: close\r\n\r\nuntil the end"), "{answer}");
}

#[test]
fn what_is_not_on_the_list_is_refused_and_recorded() {
    let stand = Stand::new(&["api.example.org:443".to_owned()], &[("evil.org", "10.0.0.1")]);
    for (asked, what) in [
        ("CONNECT evil.org:443 HTTP/1.1\r\nHost: evil.org:443\r\n\r\n", "evil.org:443"),
        ("CONNECT api.example.org:80 HTTP/1.1\r\nHost: api.example.org\r\n\r\n", "api.example.org:80"),
        ("CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n", "10.0.0.1:443"),
        ("CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n", "169.254.169.254:80"),
        ("GET http://evil.org/?secret=1 HTTP/1.1\r\nHost: evil.org\r\n\r\n", "evil.org:80"),
        (
            "GET http://api.example.org.evil.org:443/ HTTP/1.1\r\nHost: api.example.org.evil.org:443\r\n\r\n",
            "api.example.org.evil.org:443",
        ),
    ] {
        let answer = stand.say(asked.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains(what), "{asked:?}: {answer}");
        let refusal = stand.refusal();
        assert_eq!((refusal.what.as_str(), refusal.why), (what, RefusalReason::NotAllowed));
    }
}

#[test]
fn what_can_be_read_in_two_ways_is_refused_and_recorded() {
    let (server, requests) = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let host = local(server.port);
    let stand = Stand::new(std::slice::from_ref(&host), &[]);
    let texts = [
        format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        format!("GET http://{host}/ HTTP/1.1\r\nHost: evil.org\r\n\r\n"),
        format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nHost: evil.org\r\n\r\n"),
        format!("GET http://{host}/ HTTP/1.1\nHost: {host}\n\n"),
        format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nX: a\r\n b\r\n\r\n"),
        format!(
            "POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        format!(
            "POST http://{host}/ HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n4;x\r\nabcd\r\n0\r\n\r\n"
        ),
        format!("TRACE http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        "\u{16}\u{3}\u{1}".to_owned() + &"\0".repeat(40),
        "\r\n\r\n".to_owned(),
        "x".repeat(100_000),
    ];
    for text in texts {
        let answer = stand.say(text.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 400 ") || answer.is_empty(), "{text:?}: {answer}");
        let refusal = stand.refusal();
        assert!(matches!(refusal.why, RefusalReason::Malformed(_)), "{text:?}: {refusal:?}");
        assert!(refusal.what.len() <= LONGEST_QUOTE && refusal.what.is_ascii());
    }
    assert!(requests.try_iter().all(|sent| sent.is_empty()), "none of them reached the server");
}

#[test]
fn a_name_that_leads_to_this_machine_is_refused() {
    let server = Server::echo();
    let names = [
        ("rebound.example.org", "127.0.0.1"),
        ("metadata.example.org", "169.254.169.254"),
        ("mapped.example.org", "::ffff:127.0.0.1"),
        ("nowhere.example.org", "0.0.0.0"),
        ("localhost", "169.254.1.1"),
    ];
    let allow: Vec<String> =
        [format!("*.example.org:{}", server.port), format!("localhost:{}", server.port)].to_vec();
    let stand = Stand::new(&allow, &names);
    for (name, _) in names {
        let target = format!("{name}:{}", server.port);
        let answer = stand.say(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n").as_bytes());
        assert!(answer.starts_with("HTTP/1.1 403 "), "{name}: {answer}");
        let refusal = stand.refusal();
        assert!(matches!(refusal.why, RefusalReason::Address { .. }), "{refusal:?}");
        assert_eq!(refusal.what, target);
    }
    let unknown =
        format!("CONNECT a.example.org:{0} HTTP/1.1\r\nHost: a.example.org:{0}\r\n\r\n", server.port);
    assert!(stand.say(unknown.as_bytes()).starts_with("HTTP/1.1 502 "));
}

#[test]
fn a_tls_client_must_name_the_host_it_asked_for() {
    let server = Server::echo();
    let (name, address) = (format!("localhost:{}", server.port), local(server.port));
    let stand = Stand::new(&[name.clone(), address.clone()], &[("localhost", "127.0.0.1")]);
    let nameless = tls::record(&tls::message(&[tls::extension(10, &[0, 2, 0, 29])]));
    let hidden =
        tls::record(&tls::message(&[tls::server_name("localhost"), tls::extension(0xfe0d, &[0; 9])]));

    let passes = |target: &str, hello: &[u8]| {
        let mut tunnel = stand.tunnel(target);
        for piece in hello.chunks(7) {
            tunnel.write_all(piece).unwrap();
        }
        let mut back = vec![0; hello.len()];
        tunnel.read_exact(&mut back).unwrap();
        assert_eq!(back, hello, "the echo of it all");
    };
    passes(&name, &tls::hello("localhost"));
    passes(&name, &tls::hello("LocalHost."));
    passes(&address, &nameless);
    stand.no_refusal();

    let refused = |target: &str, hello: &[u8]| {
        let mut tunnel = stand.tunnel(target);
        tunnel.write_all(hello).unwrap();
        assert_eq!(rest_of(&mut tunnel), "", "nothing came back from the server");
        let refusal = stand.refusal();
        assert_eq!(refusal.what, target);
        refusal.why
    };
    assert_eq!(refused(&name, &tls::hello("evil.org")), RefusalReason::ServerName("evil.org".to_owned()));
    assert_eq!(
        refused(&name, &tls::hello("localhost.evil.org")),
        RefusalReason::ServerName("localhost.evil.org".to_owned())
    );
    assert_eq!(refused(&address, &tls::hello("evil.org")), RefusalReason::ServerName("evil.org".to_owned()));
    assert_eq!(refused(&name, &nameless), RefusalReason::NoServerName);
    assert!(matches!(refused(&name, &hidden), RefusalReason::Hello(_)));
    assert!(matches!(refused(&name, b"\x16\x03\x01\x00\x05hello and more"), RefusalReason::Hello(_)));
    assert!(matches!(refused(&name, b"\x80\x2e\x01\x03\x01\x00"), RefusalReason::Hello(_)));
}

#[test]
fn an_http_request_in_a_tunnel_is_one_and_to_the_same_host() {
    let (server, requests) = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let host = format!("localhost:{}", server.port);
    let stand = Stand::new(std::slice::from_ref(&host), &[("localhost", "127.0.0.1")]);
    let mut tunnel = stand.tunnel(&host);
    write!(tunnel, "GET /a HTTP/1.1\r\nHost: {host}\r\n\r\nGET /b HTTP/1.1\r\nHost: evil.org\r\n\r\n")
        .unwrap();
    assert!(rest_of(&mut tunnel).ends_with("\r\n\r\nok"));
    assert!(requests.recv_timeout(SOON).unwrap().starts_with("GET /a HTTP/1.1\r\n"));
    stand.no_refusal();

    for text in [
        "GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n".to_owned(),
        "\r\nGET / HTTP/1.1\r\nHost: evil.org\r\n\r\n".to_owned(),
        "get / HTTP/1.1\r\nHost: evil.org\r\n\r\n".to_owned(),
        "BREW / HTTP/1.1\r\nHost: evil.org\r\n\r\n".to_owned(),
        "GET /\r\n".to_owned(),
        "GET / HTTP/1.1\r\n\r\n".to_owned(),
        format!("GET http://evil.org/ HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
    ] {
        let mut tunnel = stand.tunnel(&host);
        tunnel.write_all(text.as_bytes()).unwrap();
        tunnel.shutdown(Shutdown::Write).unwrap();
        rest_of(&mut tunnel);
        let refusal = stand.refusal();
        assert!(matches!(refusal.why, RefusalReason::Malformed(_)), "{text:?}: {refusal:?}");
    }
    assert!(requests.try_iter().all(|sent| sent.is_empty()), "none of them reached the server");
}

/// Lenient servers skip what they cannot read, and answer what comes after it.
#[test]
fn a_request_after_other_bytes_does_not_reach_the_server() {
    let (sender, sent) = mpsc::channel();
    let server = Server::new(move |mut stream| sender.send(rest_of(&mut stream)).unwrap());
    let host = format!("localhost:{}", server.port);
    let stand = Stand::new(std::slice::from_ref(&host), &[("localhost", "127.0.0.1")]);
    let request = "GET / HTTP/1.1\r\nHost: evil.org\r\n\r\n";
    let blanks = "\r\n".repeat(9000);
    for first in ["junk\r\n", "\0\x01\n", &blanks, &"x".repeat(9000), "EHLO me\r\n"] {
        let line = if first.ends_with('\n') { "" } else { "\n" };
        for cut in [0, 5, 11] {
            let mut tunnel = stand.tunnel(&host);
            let (before, after) = request.split_at(cut);
            tunnel.write_all(format!("{first}{line}{before}").as_bytes()).unwrap();
            // The proxy may have closed it by now.
            tunnel.write_all(after.as_bytes()).ok();
            rest_of(&mut tunnel);
            assert!(matches!(stand.refusal().why, RefusalReason::Malformed(_)), "{:?} {cut}", &first[..4]);
            let reached = sent.recv_timeout(SOON).unwrap();
            assert!(!reached.contains("HTTP/"), "{reached:?}");
        }
    }
}

#[test]
fn other_protocols_pass_also_when_the_server_speaks_first() {
    let server = Server::new(|mut stream| {
        stream.write_all(b"220 ready\r\n").unwrap();
        let mut line = [0; 9];
        stream.read_exact(&mut line).unwrap();
        stream.write_all(&line).unwrap();
    });
    let stand = Stand::new(&[local(server.port)], &[]);
    let mut tunnel = stand.tunnel(&local(server.port));
    let mut greeting = [0; 11];
    tunnel.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"220 ready\r\n");
    tunnel.write_all(b"EHLO me\r\n").unwrap();
    assert_eq!(rest_of(&mut tunnel), "EHLO me\r\n");
    stand.no_refusal();
}

#[test]
fn a_half_closed_tunnel_still_brings_the_answer() {
    let server = Server::new(|mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        write!(stream, "{} bytes", all.len()).unwrap();
    });
    let stand = Stand::new(&[local(server.port)], &[]);
    let mut tunnel = stand.tunnel(&local(server.port));
    let bytes = [0u8; 300_000];
    tunnel.write_all(&bytes).unwrap();
    tunnel.shutdown(Shutdown::Write).unwrap();
    assert_eq!(rest_of(&mut tunnel), "300000 bytes");
}

#[test]
fn a_server_that_dies_is_a_bad_gateway_or_an_answer_cut_short() {
    let silent = Server::new(drop);
    let torn = Server::new(|mut stream| {
        read_request(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart").unwrap();
    });
    // Bound, so that nobody else gets the port, but nobody listens.
    let bound = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    rustix::net::bind(&bound, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let nobody = TcpListener::from(bound.try_clone().unwrap()).local_addr().unwrap().to_string();
    let stand = Stand::new(&[local(silent.port), local(torn.port), nobody.clone()], &[]);
    let get =
        |host: &str| stand.say(format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
    assert!(get(&local(silent.port)).starts_with("HTTP/1.1 502 "));
    assert!(get(&nobody).starts_with("HTTP/1.1 502 "));
    let part = get(&local(torn.port));
    assert!(part.starts_with("HTTP/1.1 200 ") && part.ends_with("part"), "{part}");
    let mut tunnel = stand.tunnel(&local(silent.port));
    assert_eq!(rest_of(&mut tunnel), "");
    stand.no_refusal();
}

#[test]
fn a_slow_client_is_not_waited_for() {
    let server = Server::echo();
    let patience =
        Patience { head: Duration::from_secs(1), goodbye: Duration::from_millis(300), ..Patience::default() };
    let stand = Stand::with(&[local(server.port)], &[], patience);
    let started = Instant::now();
    let mut stream = stand.connect();
    stream.write_all(b"GET http://").unwrap();
    assert!(rest_of(&mut stream).starts_with("HTTP/1.1 408 "));
    assert_eq!(stand.refusal().why, RefusalReason::Slow);

    for text in [&b"GET"[..], b"\x16\x03\x01\x01", b"  "] {
        let mut tunnel = stand.tunnel(&local(server.port));
        tunnel.write_all(text).unwrap();
        assert_eq!(rest_of(&mut tunnel), "", "what may become a request is not passed on");
        assert_eq!(stand.refusal().why, RefusalReason::Slow);
    }
    assert!(started.elapsed() < SOON);
}

#[test]
fn a_thousand_connections_are_served_a_few_at_a_time() {
    let (server, _requests) = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let host = local(server.port);
    let stand = Stand::new(std::slice::from_ref(&host), &[]);
    let address = stand.proxy.address();
    let most = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let (host, most, shared) = (host.clone(), Arc::clone(&most), Arc::clone(&stand.proxy.shared));
            std::thread::spawn(move || {
                let ask = |_| {
                    let mut stream = TcpStream::connect(address).unwrap();
                    stream.set_read_timeout(Some(SOON)).unwrap();
                    write!(stream, "GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
                    stream
                };
                let streams: Vec<TcpStream> = (0..125).map(ask).collect();
                most.fetch_max(shared.connections.load(Ordering::SeqCst), Ordering::SeqCst);
                streams
                    .into_iter()
                    .map(|mut stream| rest_of(&mut stream))
                    .filter(|text| text.ends_with("\r\n\r\nok"))
                    .count()
            })
        })
        .collect();
    let served: usize = clients.into_iter().map(|client| client.join().unwrap()).sum();
    assert_eq!(served, 1000);
    assert!(most.load(Ordering::SeqCst) <= MOST_CONNECTIONS);
    stand.no_refusal();
}

#[test]
fn stopping_ends_every_connection_at_once() {
    let server = Server::echo();
    let stand = Stand::new(&[local(server.port)], &[]);
    let mut idle = stand.connect();
    idle.write_all(b"GET ").unwrap();
    let mut fresh = stand.tunnel(&local(server.port));
    let mut busy = stand.tunnel(&local(server.port));
    busy.write_all(b"\0\0").unwrap();
    busy.read_exact(&mut [0; 2]).unwrap();
    let address = stand.proxy.address();
    let started = Instant::now();
    stand.proxy.stop();
    assert!(started.elapsed() < Duration::from_secs(5));
    for stream in [&mut idle, &mut fresh, &mut busy] {
        assert_eq!(rest_of(stream), "");
    }
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn refusals_are_handed_out_up_to_a_bound() {
    let stand = Stand::new(&[], &[]);
    let shared = &stand.proxy.shared;
    for _ in 0..MOST_REFUSALS + 7 {
        shared.record("evil.org:443".to_owned(), RefusalReason::NotAllowed);
    }
    assert_eq!(stand.refusals.try_iter().count() as u64, MOST_REFUSALS);
}

/// Real clients: curl for plain HTTP, openssl for TLS. Neither knows that it is tested.
#[test]
fn real_clients_are_served_and_caught() {
    let (server, requests) = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let (sender, hellos) = mpsc::channel();
    let tls = Server::new(move |mut stream| {
        let mut bytes = vec![0; 1024];
        let size = stream.read(&mut bytes).unwrap_or(0);
        sender.send(bytes[..size].to_vec()).ok();
    });
    let allow = [format!("localhost:{}", server.port), format!("localhost:{}", tls.port)];
    let stand = Stand::new(&allow, &[("localhost", "127.0.0.1")]);
    let run = |program: std::path::PathBuf, args: &[&str]| {
        let output = std::process::Command::new(program)
            .args(args)
            .env_clear()
            .envs(environment(stand.proxy.address()))
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    if let Some(curl) = windlass_testkit::capability::program("curl") {
        let url = format!("http://localhost:{}/x", server.port);
        assert_eq!(run(curl.clone(), &["-s", "-m", "20", "-d", "body", &url]), "hello");
        assert!(requests.recv_timeout(SOON).unwrap().ends_with("\r\n\r\nbody"));
        let refused = run(curl, &["-s", "-m", "20", "http://evil.org/"]);
        assert!(refused.contains("evil.org:80: it is not on the list"), "{refused}");
        assert_eq!(stand.refusal().what, "evil.org:80");
    }
    if let Some(openssl) = windlass_testkit::capability::program("openssl") {
        let (proxy, target) = (stand.proxy.address().to_string(), allow[1].as_str());
        let connect = |more: &[&str]| {
            run(openssl.clone(), &[&["s_client", "-proxy", &proxy, "-connect", target], more].concat());
        };
        connect(&["-servername", "localhost"]);
        let hello = hellos.recv_timeout(SOON).unwrap();
        assert_eq!(hello::read(&hello), hello::Hello::Whole { server_name: Some("localhost".to_owned()) });
        for (more, why) in [
            (&["-servername", "evil.org"][..], RefusalReason::ServerName("evil.org".to_owned())),
            (&["-noservername"][..], RefusalReason::NoServerName),
        ] {
            connect(more);
            assert_eq!(stand.refusal().why, why);
            assert!(hellos.recv_timeout(SOON).unwrap().is_empty(), "the server was told nothing");
        }
    }
}
