//! Addresses that a name must not lead to: whoever answers for an allowed name could otherwise point it at
//! this machine, or at a metadata service that only this machine can reach.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::allow::Permission;

/// Why `address` may not be used; none if it may.
pub fn objection(address: IpAddr, permission: Permission) -> Option<&'static str> {
    let kind = match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => special_v6(address),
    };
    match permission {
        Permission::Itself => None,
        Permission::Loopback if address.to_canonical().is_loopback() => None,
        Permission::Loopback => Some(kind.unwrap_or("not a loopback address")),
        Permission::Public => kind,
    }
}

fn special_v4(address: Ipv4Addr) -> Option<&'static str> {
    if address.is_loopback() {
        Some("a loopback address")
    } else if address.is_link_local() {
        Some("a link-local address")
    } else if address.octets()[0] == 0 {
        // Linux takes all of 0.0.0.0/8 for itself, not only its first.
        Some("an unspecified address")
    } else if address.is_multicast() || address.is_broadcast() {
        Some("a multicast address")
    } else {
        None
    }
}

fn special_v6(address: Ipv6Addr) -> Option<&'static str> {
    if address.is_loopback() {
        return Some("a loopback address");
    }
    if address.is_unspecified() {
        return Some("an unspecified address");
    }
    if address.is_multicast() {
        return Some("a multicast address");
    }
    if address.is_unicast_link_local() {
        return Some("a link-local address");
    }
    if address == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254) {
        return Some("the address of a metadata service");
    }
    inner_v4(address).and_then(special_v4)
}

/// The IPv4 address that a mapped, compatible, translated or 6to4 address leads to.
fn inner_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let joined = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match segments {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => Some(joined(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => Some(joined(high, low)),
        [0x2002, high, low, ..] => Some(joined(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_and_its_network_are_refused_in_every_spelling() {
        for text in [
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "febf::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "fd00:ec2::254",
        ] {
            let address: IpAddr = text.parse().unwrap();
            assert!(objection(address, Permission::Public).is_some(), "{text}");
            assert_eq!(objection(address, Permission::Itself), None, "{text}");
        }
        for text in ["1.1.1.1", "10.0.0.1", "128.0.0.1", "2001:db8::1", "::ffff:1.1.1.1", "fd00::1"] {
            assert_eq!(objection(text.parse().unwrap(), Permission::Public), None, "{text}");
        }
    }

    #[test]
    fn localhost_is_loopback_and_nothing_else() {
        let objects = |text: &str| objection(text.parse().unwrap(), Permission::Loopback).is_some();
        assert!(!objects("127.0.0.1") && !objects("::1"));
        assert!(objects("169.254.169.254") && objects("1.1.1.1") && objects("0.0.0.0"));
    }
}
