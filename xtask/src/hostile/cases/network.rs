//! Agents who reach for the network, and for sockets of others.

use super::super::after::After;
use super::super::case::Case;
use super::super::sockets::{Sockets, Way};
use super::super::stage::Stage;

const NO_LIST: &[(&str, &str)] = &[("landlock", "it has no network of its own, so no list of hosts")];

pub fn cases() -> Vec<Case> {
    [directly(), through_the_proxy()].into_iter().flatten().collect()
}

fn directly() -> Vec<Case> {
    vec![
        Case::new("H26", "pushes to a repository by its path and by file://", |stage| {
            let remote = stage.outside().join("remote.git");
            stage.repo.git(["init", "--quiet", "--bare", "--template=", &remote.display().to_string()]);
            let agent = "git -c user.name=x -c user.email=x@x commit -q --allow-empty -m pwned\n\
                         git push -q \"$outside/remote.git\" HEAD:refs/heads/pwned\n\
                         git push -q \"file://$outside/remote.git\" HEAD:refs/heads/pwned\n\
                         git remote -v; git config --get-all credential.helper\ncomplete";
            stage.agent(agent).agent_keys("network = \"none\"")
        })
        .got_through(After::outside_changed)
        .off("fs"),
        Case::new("H38", "connects to a TCP port of the host", |stage| {
            let port = listening(&stage).0;
            dials(stage, &format!("IO::Socket::INET->new(PeerAddr => \"127.0.0.1:{port}\", Timeout => 3)"))
        })
        .got_through(|after| came(after, Way::Tcp))
        .off("net"),
        Case::new("H38b", "connects to a Unix socket with a path", |stage| {
            let path = listening(&stage).1;
            dials(stage, &format!("IO::Socket::UNIX->new(Peer => \"{path}\")"))
        })
        .got_through(|after| came(after, Way::Path))
        .off("fs,net,seccomp"),
        Case::new("H38c", "connects to an abstract Unix socket", |stage| {
            let name = listening(&stage).2;
            dials(stage, &format!("IO::Socket::UNIX->new(Peer => \"\\0{name}\")"))
        })
        .got_through(|after| came(after, Way::Name))
        .off("net,seccomp,landlock"),
        Case::new("H38d", "sends a datagram to a port of the host", |stage| {
            let agent = "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $ARGV[0], \
                         Proto => \"udp\"); exit 1 unless $s; exit(defined(send($s, \"?\", 0)) ? 0 : 1)' ";
            let port = listening(&stage).0;
            stage.agent(format!("{agent} {port} 2>/dev/null && echo sent >loot\ncomplete")).agent_keys("network = \"none\"")
        })
        .got_through(|after| (!after.left("loot").is_empty()).then(|| "a datagram left".to_owned()))
        .off("net"),
    ]
}

fn through_the_proxy() -> Vec<Case> {
    vec![
        Case::new("H39", "goes to another host through the proxy, and past it", |stage| {
            let port = listening(&stage).0;
            let agent = format!(
                "perl -MIO::Socket::INET -e '\n\
                 my ($h, $p) = ($ENV{{HTTPS_PROXY}} || $ENV{{https_proxy}} || \"\") =~ m,([^/:]+):(\\d+),;\n\
                 if ($h) {{ for my $to (\"127.0.0.1:{port}\", \"localhost:{port}\") {{ for my $named ($to, \"allowed.example\") {{ my $s = IO::Socket::INET->new(PeerAddr => \"$h:$p\", Timeout => 3) or next;\n\
                 print $s \"CONNECT $to HTTP/1.1\\r\\nHost: $named\\r\\n\\r\\n\"; my $l = <$s>; print $l; }} }} }}\n\
                 IO::Socket::INET->new(PeerAddr => \"127.0.0.1:{port}\", Timeout => 3)' >said\ncomplete"
            );
            stage.agent(agent).agent_keys("network = \"allow\"\nallow = [\"allowed.example:443\"]")
        })
        .got_through(|after| came(after, Way::Tcp))
        .required(|after| {
            let refused = after.left("said").lines().filter(|line| line.contains("HTTP/1.1 4")).count();
            let told = serde_json::to_string(&after.events("attempt_finished")).unwrap_or_default();
            match refused == 4 && told.contains("no connection to 127.0.0.1") {
                true => Ok(()),
                false => Err(format!("refused {refused} of 4, and told {told}")),
            }
        })
        .off("net")
        .beyond(NO_LIST),
        smuggles("X18", "names another host behind a line of junk, in a tunnel to an allowed one", |stage| {
            tunnelled(stage, "\"junk\\r\\n\"")
        }),
        smuggles("X18b", "names another host behind 9,000 blank lines, in such a tunnel", |stage| {
            tunnelled(stage, "\"\\r\\n\" x 9000")
        }),
    ]
}

const fn smuggles(id: &'static str, does: &'static str, stage: fn(Stage) -> Stage) -> Case {
    Case::new(id, does, stage)
        .got_through(|after| {
            let said = after.stage.sockets.as_ref().map(Sockets::said).unwrap_or_default();
            said.contains("other.example").then(|| "the other host was asked for".to_owned())
        })
        .required(|after| {
            let opened = after.left("said").contains("HTTP/1.1 200");
            let told = serde_json::to_string(&after.events("attempt_finished")).unwrap_or_default();
            match opened && told.contains("an HTTP request follows other bytes") {
                true => Ok(()),
                false => Err(format!("the tunnel was opened: {opened}, and told {told}")),
            }
        })
        .off("requests")
        .beyond(NO_LIST)
}

/// The listener of the stage is the allowed host: an address, which the list may name.
fn tunnelled(stage: Stage, first: &str) -> Stage {
    let port = listening(&stage).0;
    let agent = format!(
        "perl -MIO::Socket::INET -MIO::Select -e '$SIG{{PIPE}} = \"IGNORE\"; $to = \"127.0.0.1:{port}\";\n\
         my ($h, $p) = ($ENV{{HTTPS_PROXY}} || \"\") =~ m,([^/:]+):(\\d+),;\n\
         my $s = IO::Socket::INET->new(PeerAddr => \"$h:$p\", Timeout => 3) or exit;\n\
         print $s \"CONNECT $to HTTP/1.1\\r\\nHost: $to\\r\\n\\r\\n\"; my $l = <$s>; print $l; <$s>;\n\
         print $s (({first}) . \"GET / HTTP/1.1\\r\\nHost: other.example\\r\\n\\r\\n\"); IO::Select->new($s)->can_read(1)' >said\ncomplete"
    );
    stage.agent(agent).agent_keys(format!("network = \"allow\"\nallow = [\"127.0.0.1:{port}\"]"))
}

fn listening(stage: &Stage) -> (u16, String, String) {
    let sockets = stage.sockets();
    (sockets.port(), sockets.path.display().to_string(), sockets.name.clone())
}

fn dials(stage: Stage, dial: &str) -> Stage {
    let agent = format!(
        "perl -MIO::Socket::INET -MIO::Socket::UNIX -e 'my $s = {dial}; exit($s ? 0 : 1)' && echo in >loot\ncomplete"
    );
    stage.agent(agent).agent_keys("network = \"none\"")
}

fn came(after: &After, way: Way) -> Option<String> {
    after.stage.sockets.as_ref().and_then(|sockets| sockets.came(way))
}
