//! Reads the server name out of a TLS ClientHello, and nothing else of it.

/// What the first bytes of a TLS client say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hello {
    Incomplete,
    Whole {
        server_name: Option<String>,
    },
    /// Not to be trusted: no ClientHello, or one that hides the name.
    Bad(&'static str),
}

/// Post-quantum hellos have about 2 KiB; nobody needs this much.
pub const LONGEST: usize = 32 * 1024;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: u16 = 0;
const ENCRYPTED_HELLO: u16 = 0xfe0d;
const ENCRYPTED_NAME: u16 = 0xffce;
const LONGEST_RECORD: usize = 1 << 14;

pub fn read(bytes: &[u8]) -> Hello {
    let message = match handshake_message(bytes) {
        Ok(Some(message)) => message,
        Ok(None) => return Hello::Incomplete,
        Err(why) => return Hello::Bad(why),
    };
    match client_hello(&message) {
        Some(Ok(server_name)) => Hello::Whole { server_name },
        Some(Err(why)) => Hello::Bad(why),
        None => Hello::Bad("its ClientHello cannot be read"),
    }
}

/// The first handshake message, put together from as many records as it was cut into. `None`: not all there.
fn handshake_message(mut bytes: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    let mut message = Vec::new();
    loop {
        if let &[kind, a, b, c, ..] = message.as_slice() {
            if kind != CLIENT_HELLO {
                return Err("its first message is no ClientHello");
            }
            let size = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            if size > LONGEST {
                return Err("its ClientHello is too long");
            }
            if message.len() >= 4 + size {
                // What is behind it in the record would be a second message, which no client may send yet.
                let alone = message.len() == 4 + size;
                return if alone {
                    Ok(Some(message.split_off(4)))
                } else {
                    Err("there is more behind its ClientHello")
                };
            }
        }
        let Some((&[kind, major, _, high, low], rest)) = bytes.split_first_chunk::<5>() else {
            let plausible = bytes.first().is_none_or(|kind| *kind == HANDSHAKE)
                && bytes.get(1).is_none_or(|major| *major == 3);
            return if plausible { Ok(None) } else { Err("its records are no TLS") };
        };
        let size = usize::from(u16::from_be_bytes([high, low]));
        if kind != HANDSHAKE || major != 3 || size == 0 || size > LONGEST_RECORD {
            return Err("its records are no TLS");
        }
        let Some((record, rest)) = rest.split_at_checked(size) else { return Ok(None) };
        message.extend_from_slice(record);
        bytes = rest;
    }
}

/// `None`: a length in it is wrong.
fn client_hello(message: &[u8]) -> Option<Result<Option<String>, &'static str>> {
    let mut all = Reader(message);
    all.bytes(2 + 32)?;
    all.short_block()?;
    all.block()?;
    all.short_block()?;
    if all.0.is_empty() {
        return Some(Ok(None));
    }
    let mut extensions = Reader(all.block()?);
    if !all.0.is_empty() {
        return None;
    }
    let mut server_name = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number()?;
        let body = extensions.block()?;
        match kind {
            ENCRYPTED_HELLO | ENCRYPTED_NAME => return Some(Err("its ClientHello is encrypted")),
            SERVER_NAME if server_name.is_some() => return Some(Err("it names two servers")),
            SERVER_NAME => server_name = Some(name_in(body)?),
            _ => {}
        }
    }
    Some(Ok(server_name))
}

/// Exactly one name, of the only kind there is.
fn name_in(body: &[u8]) -> Option<String> {
    let mut outer = Reader(body);
    let mut list = Reader(outer.block()?);
    let kind = list.bytes(1)?;
    let name = list.block()?;
    let whole = outer.0.is_empty() && list.0.is_empty() && kind == [0] && !name.is_empty() && name.is_ascii();
    whole.then(|| String::from_utf8_lossy(name).into_owned())
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u16> {
        self.bytes(2)?.try_into().map(u16::from_be_bytes).ok()
    }

    fn block(&mut self) -> Option<&'a [u8]> {
        let size = self.number()?;
        self.bytes(usize::from(size))
    }

    fn short_block(&mut self) -> Option<&'a [u8]> {
        let size = self.bytes(1)?[0];
        self.bytes(usize::from(size))
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    fn block(body: &[u8]) -> Vec<u8> {
        [&(body.len() as u16).to_be_bytes()[..], body].concat()
    }

    pub fn extension(kind: u16, body: &[u8]) -> Vec<u8> {
        [&kind.to_be_bytes()[..], &block(body)].concat()
    }

    pub fn server_name(name: &str) -> Vec<u8> {
        extension(SERVER_NAME, &block(&[&[0][..], &block(name.as_bytes())].concat()))
    }

    /// A TLS 1.2 ClientHello with these extensions, as a handshake message.
    pub fn message(extensions: &[Vec<u8>]) -> Vec<u8> {
        let mut hello = vec![3, 3];
        hello.extend_from_slice(&[7; 32]);
        hello.extend_from_slice(&[4, 1, 2, 3, 4]);
        hello.extend_from_slice(&block(&[0x13, 0x01, 0xc0, 0x2f]));
        hello.extend_from_slice(&[1, 0]);
        if !extensions.is_empty() {
            hello.extend_from_slice(&block(&extensions.concat()));
        }
        let size = (hello.len() as u32).to_be_bytes();
        [&[CLIENT_HELLO][..], &size[1..], &hello].concat()
    }

    pub fn record(body: &[u8]) -> Vec<u8> {
        [&[HANDSHAKE, 3, 1][..], &block(body)].concat()
    }

    pub fn hello(name: &str) -> Vec<u8> {
        let groups = extension(10, &[0, 2, 0, 29]);
        record(&message(&[groups, server_name(name), extension(43, &[2, 3, 4])]))
    }

    fn named(name: &str) -> Hello {
        Hello::Whole { server_name: Some(name.to_owned()) }
    }

    #[test]
    fn the_name_is_found() {
        assert_eq!(read(&hello("api.example.org")), named("api.example.org"));
        assert_eq!(read(&record(&message(&[]))), Hello::Whole { server_name: None });
        assert_eq!(read(&record(&message(&[extension(10, &[])]))), Hello::Whole { server_name: None });
        let followed = [hello("a.org"), vec![20, 3, 3, 0, 1, 1]].concat();
        assert_eq!(read(&followed), named("a.org"), "what comes after the message is not looked at");
    }

    #[test]
    fn any_part_of_it_is_incomplete_and_any_cut_into_records_is_the_same() {
        let whole = hello("api.example.org");
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end]), Hello::Incomplete, "{end}");
        }
        let message = message(&[server_name("api.example.org")]);
        for size in 1..message.len() {
            let cut: Vec<u8> = message.chunks(size).flat_map(record).collect();
            assert_eq!(read(&cut), named("api.example.org"), "records of {size}");
        }
    }

    #[test]
    fn what_hides_the_name_is_bad() {
        let two = message(&[server_name("a.org"), server_name("b.org")]);
        let pair = block(&[&[0][..], &block(b"a.org"), &[0], &block(b"b.org")].concat());
        let encrypted = message(&[server_name("a.org"), extension(ENCRYPTED_HELLO, &[0; 8])]);
        let esni = message(&[extension(ENCRYPTED_NAME, &[0; 8])]);
        let mut server_hello = message(&[]);
        server_hello[0] = 2;
        for bad in [
            record(&two),
            record(&message(&[extension(SERVER_NAME, &pair)])),
            record(&message(&[extension(SERVER_NAME, &[])])),
            record(&message(&[extension(SERVER_NAME, &block(&[&[1][..], &block(b"a.org")].concat()))])),
            record(&message(&[server_name("b\u{fc}cher.org")])),
            record(&encrypted),
            record(&esni),
            record(&server_hello),
            record(&[message(&[]), message(&[server_name("b.org")])].concat()),
            record(&[CLIENT_HELLO, 0xff, 0xff, 0xff]),
            vec![HANDSHAKE, 3, 1, 0, 0],
            vec![HANDSHAKE, 3, 1, 0xff, 0xff],
            vec![HANDSHAKE, 2],
            [&record(&message(&[])[..10])[..], &[23, 3, 3, 0, 1, 0]].concat(),
        ] {
            assert!(matches!(read(&bad), Hello::Bad(_)), "{bad:?}: {:?}", read(&bad));
        }
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let whole = hello("api.example.org");
        for at in 0..whole.len() {
            for value in [0, 1, 2, 0x16, 0x7f, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                read(&changed);
                for end in [0, at, whole.len() - 1] {
                    read(&changed[..end]);
                }
            }
        }
        let mut seed = 1u32;
        for _ in 0..20_000 {
            let mut noise = vec![HANDSHAKE, 3];
            for _ in 0..seed % 90 {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                noise.push((seed >> 24) as u8 & if seed & 1 == 0 { 3 } else { 255 });
            }
            seed = seed.wrapping_add(1);
            read(&noise);
        }
    }
}
