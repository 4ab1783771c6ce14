//! Plain HTTP: one request, one answer, then both connections end.

use std::time::Instant;

use crate::flow::{Flow, FlowError, Relay, Until};
use crate::head::{ProxiedRequest, RequestHead};
use crate::socket::{Socket, WaitError};
use crate::{Connection, RefusalReason, Shared, first_word};

impl Shared {
    pub(super) fn proxied(&self, client: Socket<'_>, head: &RequestHead, rest: &[u8]) {
        let request = match head.proxied() {
            Ok(request) => request,
            Err(why) => {
                return self.refuse(
                    client,
                    first_word(head.target.as_bytes()),
                    RefusalReason::Malformed(why),
                );
            }
        };
        if let Some(connection) = self.reach(client, &request.target) {
            self.exchange(connection, head, &request, rest);
        }
    }

    pub(super) fn exchange(
        &self,
        connection: Connection<'_>,
        head: &RequestHead,
        request: &ProxiedRequest,
        rest: &[u8],
    ) {
        let Connection { client, server } = connection;
        let what = request.target.to_string();
        let up = match Flow::body(head.rewritten(request), request.framing, rest) {
            Ok(up) => up,
            Err(why) => return self.refuse(client, what, RefusalReason::Malformed(why)),
        };
        let patience = self.terms.patience;
        if request.expects_continue {
            let now = b"HTTP/1.1 100 Continue\r\n\r\n";
            if client.write_all(now, Instant::now() + patience.goodbye).is_err() {
                return;
            }
        }
        let exchange = Relay { client: &client, server: &server, stop: &self.stop, idle: patience.idle };
        let (answered, outcome) = exchange.run(up, Flow::answer(request.is_head), Until::Answered);
        drop(server);
        match outcome {
            Ok(()) => client.close_gently(patience.goodbye),
            Err(FlowError::Client(why)) if answered => self.record(what, RefusalReason::Malformed(why)),
            Err(FlowError::Client(why)) => self.refuse(client, what, RefusalReason::Malformed(why)),
            Err(FlowError::Server(why)) if !answered => {
                self.answer(client, 502, &format!("{what} failed: {why}"));
            }
            Err(FlowError::Ended(WaitError::Late)) if !answered => {
                self.answer(client, 502, &format!("{what} failed: no answer in time"));
            }
            // An answer that was cut off is closed without its end, so that the client can tell.
            Err(FlowError::Server(_) | FlowError::Ended(_)) => {}
        }
    }
}
