//! Which addresses something may be sent to that strangers may name: public ones. Pure: names are looked up elsewhere, and every
//! address that comes of it is asked about here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Url;

/// Networks of version 4 that are not public: the first address, the length of the prefix, and what they are.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32, &str); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "an address of this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (
        Ipv4Addr::new(100, 64, 0, 0),
        10,
        "an address behind a carrier",
    ),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback address"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local address"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "a protocol's address"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "a documentation address"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a 6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "a benchmark address"),
    (
        Ipv4Addr::new(198, 51, 100, 0),
        24,
        "a documentation address",
    ),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "a documentation address"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (
        Ipv4Addr::new(255, 255, 255, 255),
        32,
        "the broadcast address",
    ),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved address"),
];

/// What keeps an address from being public, in words; nothing where it is.
pub fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    let within = |(network, length, _): &&(Ipv4Addr, u32, &str)| {
        let mask = u32::MAX << (32 - length);
        address.to_bits() & mask == network.to_bits()
    };
    NOT_PUBLIC_V4.iter().find(within).map(|(_, _, what)| *what)
}

fn not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(inner) = embedded(address) {
        return not_public_v4(inner);
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("an unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("a loopback address"),
        [0xfe80..=0xfebf, ..] => Some("a link-local address"),
        [0xfc00..=0xfdff, ..] => Some("a unique-local address"),
        [0xfec0..=0xfeff, ..] => Some("a site-local address"),
        [0xff00..=0xffff, ..] => Some("a multicast address"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Some("a documentation address"),
        [0x2001, 0..=0x1ff, ..] => Some("a protocol's address"),
        [0x2000..=0x3fff, ..] => None,
        _ => Some("a reserved address"),
    }
}

/// The address of version 4 that one of version 6 stands for: mapped, translated (NAT64) or tunnelled (6to4, ISATAP).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let joined = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(joined(high, low))
        }
        [0x2002, high, low, ..] => Some(joined(high, low)),
        [0x2000..=0x3fff, _, _, _, 0 | 0x200, 0x5efe, high, low] => Some(joined(high, low)),
        _ => None,
    }
}

/// An address that something can be posted to. The error is the rest of a sentence about the key.
pub fn read(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("is no address: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("must begin with http:// or https://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not hold a name or a password".to_owned());
    }
    match url.host_str() {
        None | Some("") => Err("names no host".to_owned()),
        Some(_) => Ok(url),
    }
}

/// What can be told from an address without looking its name up: that it leads to this machine or into a network of its own.
pub fn plainly_not_public(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    if let Some(address) = literal(url) {
        return not_public(address).map(|what| format!("{address} is {what}"));
    }
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let own = name == "localhost" || name.ends_with(".localhost");
    own.then(|| format!("{host} is this machine"))
}

/// The address that a host is written as, where it is no name.
pub fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_matches(['[', ']']).parse().ok()
}

/// Scheme, host and port: whom one reaches by an address, without what one asks of them.
pub fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        for (address, public) in [
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("10.0.0.1", false),
            ("10.255.255.255", false),
            ("100.64.0.1", false),
            ("100.127.255.255", false),
            ("127.0.0.1", false),
            ("127.255.255.254", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.0.0.8", false),
            ("192.0.2.1", false),
            ("192.88.99.1", false),
            ("192.168.1.1", false),
            ("198.18.0.1", false),
            ("198.19.255.255", false),
            ("198.51.100.7", false),
            ("203.0.113.9", false),
            ("224.0.0.1", false),
            ("239.255.255.255", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("::", false),
            ("::1", false),
            ("::7f00:1", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:10.1.2.3", false),
            ("::ffff:169.254.169.254", false),
            ("64:ff9b::127.0.0.1", false),
            ("64:ff9b::192.168.0.1", false),
            ("64:ff9b:1::10.0.0.1", false),
            ("100::1", false),
            ("2001::1", false),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", false),
            ("2001:2::1", false),
            ("2001:10::1", false),
            ("2001:db8::1", false),
            ("2002:7f00:1::1", false),
            ("2002:a00:1::1", false),
            ("2002:c0a8:101::1", false),
            ("2001:4860::5efe:10.0.0.1", false),
            ("2001:4860::200:5efe:192.168.0.1", false),
            ("3fff::1", false),
            ("5f00::1", false),
            ("fc00::1", false),
            ("fd00:ec2::254", false),
            ("fe80::1", false),
            ("febf::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
            ("1.1.1.1", true),
            ("9.255.255.255", true),
            ("100.63.255.255", true),
            ("100.128.0.0", true),
            ("126.255.255.255", true),
            ("172.15.255.255", true),
            ("172.32.0.0", true),
            ("192.167.255.255", true),
            ("223.255.255.255", true),
            ("2606:4700:4700::1111", true),
            ("2001:4860:4860::8888", true),
            ("::ffff:8.8.8.8", true),
            ("64:ff9b::8.8.8.8", true),
            ("2002:808:808::1", true),
        ] {
            let found = not_public(address.parse().unwrap());
            assert_eq!(found.is_none(), public, "{address}: {found:?}");
        }
    }

    #[test]
    fn addresses_are_seen_through_their_spellings() {
        for (text, public) in [
            ("http://127.0.0.1:9000/done", false),
            ("http://127.1/", false),
            ("http://2130706433/", false),
            ("http://0x7f.0.0.1/", false),
            ("http://0177.0.0.1/", false),
            ("http://0/", false),
            ("http://127.0.0.1./", false),
            ("http://[::1]:80/", false),
            ("http://[::ffff:7f00:1]/", false),
            ("http://[0:0:0:0:0:ffff:127.0.0.1]/", false),
            ("http://localhost/", false),
            ("http://LOCALHOST./", false),
            ("http://a.localhost:1/", false),
            ("http://①②⑦.⓪.⓪.①/", false),
            ("https://example.org/hook", true),
            ("https://localhost.example.org/", true),
            ("http://8.8.8.8/", true),
        ] {
            let found = plainly_not_public(&read(text).unwrap());
            assert_eq!(found.is_none(), public, "{text}: {found:?}");
        }
    }

    #[test]
    fn what_cannot_be_posted_to_is_refused() {
        for (text, expected) in [
            ("ftp://example.org/", "must begin with http"),
            ("file:///etc/passwd", "must begin with http"),
            ("http://me:word@example.org/", "must not hold"),
            ("http://me@example.org/", "must not hold"),
            ("http://", "is no address"),
            ("http://exa mple/", "is no address"),
            ("http://[::1/", "is no address"),
            ("http://256.1.1.1/", "is no address"),
            ("done", "is no address"),
        ] {
            let problem = read(text).unwrap_err();
            assert!(problem.starts_with(expected), "{text}: {problem}");
        }
    }
}
