//! Which hosts may be reached: entries as an operator writes them, targets as a program asks for them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Entries without a port mean this one.
const DEFAULT_PORT: u16 = 443;

const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// The hosts a program may reach through the proxy. Nothing is allowed by an empty list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("network.allow: {entry:?} {why}")]
pub struct AllowError {
    pub entry: String,
    pub why: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    host: Pattern,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Pattern {
    Exactly(TargetHost),
    /// Every name that ends in a dot and this one.
    Below(String),
}

/// A name in lower case without its final dot, or an address. Names are never turned into addresses to
/// compare them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetHost {
    Name(String),
    Address(IpAddr),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    pub host: TargetHost,
    pub port: u16,
}

/// Which addresses a permitted target may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// Not this machine, and nothing that only this machine's network knows.
    Public,
    /// The entry is `localhost`.
    Loopback,
    /// The entry is this very address.
    Itself,
}

impl AllowList {
    /// `host:port`, `*.host:port`, `address:port` or `[v6 address]:port`; without a port it is 443.
    pub fn parse(entries: &[impl AsRef<str>]) -> Result<AllowList, AllowError> {
        let parse = |entry: &str| {
            Entry::parse(entry).map_err(|why| AllowError { entry: entry.to_owned(), why: why.to_owned() })
        };
        let entries = entries.iter().map(|entry| parse(entry.as_ref())).collect::<Result<_, _>>()?;
        Ok(AllowList { entries })
    }

    pub(super) fn permission(&self, target: &Destination) -> Option<Permission> {
        self.entries.iter().find(|entry| entry.covers(target)).map(|_| match &target.host {
            TargetHost::Address(_) => Permission::Itself,
            TargetHost::Name(name) if name == "localhost" => Permission::Loopback,
            TargetHost::Name(_) => Permission::Public,
        })
    }
}

impl Entry {
    fn parse(text: &str) -> Result<Entry, &'static str> {
        if text.contains("://") {
            return Err("is a URL: write host:port");
        }
        if text.contains('/') {
            return Err("has a slash: write host:port, no path and no mask");
        }
        if let Some(below) = text.strip_prefix("*.") {
            let Destination { host: TargetHost::Name(name), port } =
                Destination::parse(below, Some(DEFAULT_PORT))?
            else {
                return Err("puts a wildcard before an address: write the address itself");
            };
            if !name.contains('.') {
                return Err(
                    "is too wide: a wildcard needs at least two labels behind it, as in *.example.org",
                );
            }
            return Ok(Entry { host: Pattern::Below(name), port });
        }
        if text.contains('*') {
            return Err("has a wildcard that is not its first label: write *.host:port");
        }
        let target = Destination::parse(text, Some(DEFAULT_PORT))?;
        Ok(Entry { host: Pattern::Exactly(target.host), port: target.port })
    }

    fn covers(&self, target: &Destination) -> bool {
        self.port == target.port
            && match (&self.host, &target.host) {
                (Pattern::Exactly(host), asked) => host == asked,
                (Pattern::Below(domain), TargetHost::Name(name)) => {
                    name.strip_suffix(domain.as_str()).is_some_and(|front| front.ends_with('.'))
                }
                (Pattern::Below(_), TargetHost::Address(_)) => false,
            }
    }
}

impl Destination {
    /// `default_port` is for a text that names none; without it a port is required.
    pub fn parse(text: &str, default_port: Option<u16>) -> Result<Destination, &'static str> {
        let (host, port) = split_port(text)?;
        let port = match (port, default_port) {
            (Some(port), _) => parse_port(port)?,
            (None, Some(port)) => port,
            (None, None) => return Err("has no port: write host:port"),
        };
        Ok(Destination { host: TargetHost::parse(host)?, port })
    }
}

impl TargetHost {
    fn parse(text: &str) -> Result<TargetHost, &'static str> {
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let address: Ipv6Addr = inner.parse().map_err(|_| "has no IPv6 address in its brackets")?;
            return Ok(TargetHost::Address(IpAddr::V6(address).to_canonical()));
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(TargetHost::Address(IpAddr::V4(address)));
        }
        TargetHost::name(text).map(TargetHost::Name)
    }

    /// Lower case, without the final dot.
    pub fn name(text: &str) -> Result<String, &'static str> {
        let name = text.strip_suffix('.').unwrap_or(text);
        if name.is_empty() {
            return Err("has no host: write host:port");
        }
        if !name.is_ascii() {
            return Err("is not ASCII: write the name in its punycode form (xn--…)");
        }
        if name.len() > LONGEST_NAME {
            return Err("has a host name of more than 253 characters");
        }
        let is_label = |label: &str| {
            !label.is_empty()
                && label.len() <= LONGEST_LABEL
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
        };
        if !name.split('.').all(is_label) {
            return Err("has a host name with a label that is empty, too long or has other characters than \
                        letters, digits and inner hyphens");
        }
        // `127.1`, `2130706433` and `0x7f.1` are addresses to a resolver, and must not pass for names.
        let last = name.rsplit('.').next().unwrap_or(name);
        if last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") || last.starts_with("0X")
        {
            return Err("looks like an address but is none: write all four decimal numbers");
        }
        Ok(name.to_ascii_lowercase())
    }
}

fn split_port(text: &str) -> Result<(&str, Option<&str>), &'static str> {
    if text.starts_with('[') {
        let end = text.find(']').ok_or("opens a bracket and does not close it")?;
        let (host, rest) = text.split_at(end + 1);
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if rest.is_empty() => Ok((host, None)),
            None => Err("has text behind its bracket that is no port"),
        };
    }
    match text.split_once(':') {
        Some((_, port)) if port.contains(':') => Err("has several colons: put an IPv6 address in brackets"),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((text, None)),
    }
}

fn parse_port(text: &str) -> Result<u16, &'static str> {
    let digits = !text.is_empty() && text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse::<u16>() {
        Ok(port) if digits && port > 0 => Ok(port),
        Ok(_) | Err(_) => Err("has no port between 1 and 65535 behind its colon"),
    }
}

impl fmt::Display for TargetHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetHost::Name(name) => write!(f, "{name}"),
            TargetHost::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            TargetHost::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permitted(entries: &[&str], asked: &str) -> bool {
        let list = AllowList::parse(entries).unwrap();
        Destination::parse(asked, None).is_ok_and(|target| list.permission(&target).is_some())
    }

    #[test]
    fn the_name_and_the_port_decide() {
        let list =
            ["api.example.org:443", "*.example.net:8443", "10.0.0.7:80", "[2001:db8::1]:443", "Plain.Org"];
        for yes in [
            "api.example.org:443",
            "API.Example.ORG:443",
            "api.example.org.:443",
            "a.example.net:8443",
            "a.b.example.net:8443",
            "10.0.0.7:80",
            "[2001:DB8:0::1]:443",
            "plain.org:443",
        ] {
            assert!(permitted(&list, yes), "{yes}");
        }
        for no in [
            "api.example.org:80",
            "example.org:443",
            "xapi.example.org:443",
            "api.example.org.evil.org:443",
            "example.net:8443",
            "evilexample.net:8443",
            "10.0.0.8:80",
            "[::ffff:10.0.0.8]:80",
            "[2001:db8::2]:443",
            "plain.org:80",
            "api.example.org..:443",
        ] {
            assert!(!permitted(&list, no), "{no}");
        }
        assert!(permitted(&list, "[::ffff:10.0.0.7]:80"), "the same address, mapped");
        assert!(!permitted(&[], "api.example.org:443"));
    }

    #[test]
    fn a_bad_entry_says_what_is_wrong() {
        for (entry, says) in [
            ("", "has no host"),
            (":443", "has no host"),
            ("https://example.org", "is a URL"),
            ("example.org/path", "has a slash"),
            ("10.0.0.0/8", "has a slash"),
            ("example.org:", "no port between"),
            ("example.org:0", "no port between"),
            ("example.org:65536", "no port between"),
            ("example.org:+443", "no port between"),
            ("example.org:https", "no port between"),
            ("2001:db8::1", "put an IPv6 address in brackets"),
            ("[2001:db8::1", "does not close it"),
            ("[2001:db8::1]443", "no port"),
            ("[fe80::1%eth0]:443", "no IPv6 address"),
            ("[example.org]:443", "no IPv6 address"),
            ("*:443", "not its first label"),
            ("*.org:443", "too wide"),
            ("a.*.org:443", "not its first label"),
            ("*.10.0.0.7:80", "before an address"),
            ("bücher.example:443", "punycode"),
            ("127.1:80", "looks like an address"),
            ("2130706433:80", "looks like an address"),
            ("0x7f.0.0.0x1:80", "looks like an address"),
            ("a..b:443", "label"),
            ("-a.b:443", "label"),
            ("a b.org:443", "label"),
            ("a\r\n.org:443", "label"),
            ("user@example.org:443", "label"),
        ] {
            let error = AllowList::parse(&[entry]).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("network.allow"), "{entry:?}: {error}");
        }
        let long = format!("{}.org:443", "a".repeat(64));
        assert!(AllowList::parse(&[long]).is_err());
        let long = format!("{}org:443", "a.".repeat(130));
        assert!(AllowList::parse(&[long]).unwrap_err().to_string().contains("253"));
    }

    #[test]
    fn only_the_entry_itself_opens_special_addresses() {
        let permission = |entry: &str, asked: &str| {
            AllowList::parse(&[entry]).unwrap().permission(&Destination::parse(asked, None).unwrap())
        };
        assert_eq!(permission("127.0.0.1:80", "127.0.0.1:80"), Some(Permission::Itself));
        assert_eq!(permission("localhost:80", "LOCALHOST:80"), Some(Permission::Loopback));
        assert_eq!(permission("a.localhost:80", "a.localhost:80"), Some(Permission::Public));
        assert_eq!(permission("localhost:80", "127.0.0.1:80"), None);
        assert_eq!(permission("127.0.0.1:80", "localhost:80"), None);
    }
}
