//! Many clients, large requests, slow ones, and the log.

use std::io::Write;
use std::thread;

use serde_json::{Value, json};
use windlass_testkit::model::{Script, Server, Tokens};

use crate::client::{ALL, BRIEF, Speaks, Talk, open, post, read, serve};

#[test]
fn clients_at_once_are_kept_apart() {
    let server = serve(
        "[[rule]]\nwhen = 'task a'\nturns = [{ run = 'echo a' }, { say = 'a is done' }]\n\
         [[rule]]\nwhen = 'task b'\nturns = [{ run = 'echo b' }, { say = 'b is done' }]",
    );
    let talk = |api: Speaks, task: &str| {
        let brief = format!("nonce: {task}\ntask {task}\n");
        for _ in 0..10 {
            for ran in [0, 1] {
                let got = api.ask(&server, &Talk { brief: &brief, ran, stream: false });
                let wanted = if ran == 0 { format!("echo {task}") } else { format!("{task} is done") };
                assert!(got.body.contains(&wanted), "{api:?} {task}: {}", got.body);
            }
        }
    };
    thread::scope(|scope| {
        for api in ALL {
            for task in ["a", "b"] {
                scope.spawn(move || talk(api, task));
            }
        }
    });
    let requests = server.requests();
    assert_eq!(requests.len(), 8 * 20);
    assert!(requests.is_sorted_by_key(|seen| seen.at), "in the order of arrival");
    let mut sum = Tokens::default();
    requests.iter().for_each(|seen| sum.add(&seen.tokens.unwrap()));
    let mut total = Tokens::default();
    server.tokens().values().for_each(|tokens| total.add(tokens));
    assert_eq!(sum, total);
}

#[test]
fn a_request_of_ten_megabytes_is_read() {
    let server = serve("[[rule]]\nwhen = 'needle'\nturns = [{ say = 'found' }]");
    let brief = format!("nonce: big\n{}needle", "x".repeat(10_000_000));
    let got = Speaks::Responses.ask(&server, &Talk { brief: &brief, ran: 0, stream: true });
    assert!(got.whole && got.body.contains("found"));
    assert!(server.requests()[0].tokens.unwrap().input > 2_000_000);
}

#[test]
fn a_body_in_chunks_or_in_drops_is_read() {
    let server = serve("[[rule]]\nwhen = 'nonce'\nturns = [{ say = 'read' }]");
    let body = Speaks::Messages.body(&Talk { brief: BRIEF, ran: 0, stream: true }).to_string();
    let mut stream = open(&server);
    stream
        .write_all(
            b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n",
        )
        .unwrap();
    for piece in body.as_bytes().chunks(7) {
        stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).unwrap();
        stream.write_all(piece).unwrap();
        stream.write_all(b"\r\n").unwrap();
    }
    stream.write_all(b"0\r\n\r\n").unwrap();
    let got = read(&mut stream);
    assert_eq!(got.status, 100);
    assert!(
        got.body.starts_with("HTTP/1.1 200 OK") && got.body.contains("\"text\":\"read\""),
        "{}",
        got.body
    );

    let mut stream = open(&server);
    stream.set_nodelay(true).unwrap();
    let whole = format!("POST /v1/messages HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    whole.as_bytes().chunks(11).for_each(|piece| stream.write_all(piece).unwrap());
    assert!(read(&mut stream).body.contains("\"text\":\"read\""));
}

#[test]
fn a_client_that_goes_away_costs_nothing() {
    let server = serve("[[rule]]\nturns = [{ say = 'x', delay_ms = 60000 }]");
    let body = Speaks::Messages.body(&Talk { brief: BRIEF, ran: 0, stream: true });
    for _ in 0..20 {
        let mut stream = open(&server);
        stream.write_all(&crate::client::post_bytes("/v1/messages", body.to_string().as_bytes())).unwrap();
    }
    assert!(
        windlass_testkit::poll::until(std::time::Duration::from_secs(30), || server.requests().len() == 20)
    );
    assert!(server.tokens().is_empty());
    let side = json!({ "model": "m", "messages": [{ "role": "user", "content": "hi" }] });
    assert_eq!(post(&server, "/v1/messages", &side).status, 200);
}

#[test]
fn each_request_is_a_line_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let log = std::fs::File::create(&path).unwrap();
    let server =
        Server::listen("[[rule]]\nturns = [{ say = 'x' }]".parse::<Script>().unwrap(), 0, Some(log)).unwrap();
    let got = Speaks::Messages.ask(&server, &Talk { brief: BRIEF, ran: 0, stream: true });
    assert_eq!(got.status, 200);
    post(&server, "/v1/nothing", &json!({}));
    let requests = server.requests();
    drop(server);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], serde_json::to_value(&requests[0]).unwrap());
    assert_eq!(lines[0]["body"]["messages"][0]["role"], json!("user"));
    assert_eq!(lines[1]["status"], json!(404));
}
