//! Go's `net/url`: taking URLs apart, putting them together, and escaping.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::go::strconv;

/// Where in a URL a text stands; each place leaves other characters unescaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Path,
    Host,
    Zone,
    UserPassword,
    QueryComponent,
    Fragment,
}

/// User and password of a URL, unescaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Userinfo {
    username: Vec<u8>,
    password: Option<Vec<u8>>,
}

impl Userinfo {
    /// The escaped form, without the `@` (`Userinfo.String`).
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = escape(&self.username, Place::UserPassword);
        if let Some(password) = &self.password {
            out.push(b':');
            out.extend(escape(password, Place::UserPassword));
        }
        out
    }
}

/// A URL in parts (`url.URL`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// Scheme in lower case.
    pub scheme: Vec<u8>,
    /// What follows the scheme when that does not start with a slash.
    pub opaque: Vec<u8>,
    /// User and password.
    pub user: Option<Userinfo>,
    /// Host, with the port if there is one.
    pub host: Vec<u8>,
    /// Path, unescaped.
    pub path: Vec<u8>,
    /// Query as it is written, without `?`.
    pub raw_query: Vec<u8>,
    /// Fragment, unescaped, without `#`.
    pub fragment: Vec<u8>,
}

/// Why a text is not a URL. Display is Go's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parse {}: {problem}", strconv::quote(url))]
pub struct UrlError {
    url: Vec<u8>,
    problem: String,
}

impl Url {
    /// Takes a URL apart (`url.Parse`).
    ///
    /// # Errors
    /// The text is not a URL.
    pub fn parse(text: &[u8]) -> Result<Url, UrlError> {
        let (before, fragment) = cut(text, b'#');
        let fail = |url: &[u8], problem| UrlError { url: url.to_owned(), problem };
        let mut url = parse_without_fragment(before).map_err(|problem| fail(before, problem))?;
        if let Some(fragment) = fragment {
            url.fragment = unescape(fragment, Place::Fragment).map_err(|problem| fail(text, problem))?;
        }
        Ok(url)
    }

    /// Takes apart `user` or `user:password`, as it stands in a URL.
    ///
    /// # Errors
    /// The text is no such thing; the error is that of the URL `proto://TEXT@host`.
    pub fn parse_userinfo(text: &[u8]) -> Result<Option<Userinfo>, UrlError> {
        Ok(Url::parse(&[b"proto://", text, b"@host"].concat())?.user)
    }

    /// Host without port and brackets (`Hostname`).
    pub fn hostname(&self) -> &[u8] {
        let mut host = self.host.as_slice();
        if let Some(colon) = host.iter().rposition(|&byte| byte == b':')
            && valid_optional_port(&host[colon..])
        {
            host = &host[..colon];
        }
        host.strip_prefix(b"[").and_then(|inner| inner.strip_suffix(b"]")).unwrap_or(host)
    }

    /// Puts the URL together (`String`), escaping what needs it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if !self.scheme.is_empty() {
            out.extend_from_slice(&self.scheme);
            out.push(b':');
        }
        if self.opaque.is_empty() {
            self.write_hierarchy(&mut out);
        } else {
            out.extend_from_slice(&self.opaque);
        }
        if !self.raw_query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(&self.raw_query);
        }
        if !self.fragment.is_empty() {
            out.push(b'#');
            out.extend(escape(&self.fragment, Place::Fragment));
        }
        out
    }

    fn write_hierarchy(&self, out: &mut Vec<u8>) {
        let authority = !self.host.is_empty() || self.user.is_some();
        if authority || (!self.scheme.is_empty() && !self.path.is_empty()) {
            out.extend_from_slice(b"//");
        }
        if let Some(user) = &self.user {
            out.extend(user.to_bytes());
            out.push(b'@');
        }
        out.extend(escape(&self.host, Place::Host));
        let path = if self.path == b"*" { b"*".to_vec() } else { escape(&self.path, Place::Path) };
        if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
            out.push(b'/');
        }
        // A colon in the first segment would read as the end of a scheme.
        if out.is_empty() && cut(&path, b'/').0.contains(&b':') {
            out.extend_from_slice(b"./");
        }
        out.extend(path);
    }
}

/// Escapes a text for use in a query (`url.QueryEscape`): a blank becomes `+`.
pub fn query_escape(text: &[u8]) -> Vec<u8> {
    escape(text, Place::QueryComponent)
}

fn cut(text: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|&byte| byte == separator) {
        Some(at) => (&text[..at], text.get(at + 1..)),
        None => (text, None),
    }
}

fn parse_without_fragment(text: &[u8]) -> Result<Url, String> {
    if text.iter().any(|&byte| byte < b' ' || byte == 0x7F) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text == b"*" {
        return Ok(Url { path: b"*".to_vec(), ..Url::default() });
    }
    let (scheme, rest) = split_scheme(text)?;
    let (rest, query) = cut(rest, b'?');
    let mut url = Url {
        scheme: scheme.to_ascii_lowercase(),
        raw_query: query.unwrap_or_default().to_owned(),
        ..Url::default()
    };
    if !rest.starts_with(b"/") {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_owned();
            return Ok(url);
        }
        if cut(rest, b'/').0.contains(&b':') {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let mut path = rest;
    if let Some(after) = rest.strip_prefix(b"//")
        && (!url.scheme.is_empty() || !after.starts_with(b"/"))
    {
        let end = after.iter().position(|&byte| byte == b'/').unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        (url.user, url.host) = parse_authority(&url.scheme, authority)?;
        path = tail;
    }
    url.path = unescape(path, Place::Path)?;
    Ok(url)
}

fn split_scheme(text: &[u8]) -> Result<(&[u8], &[u8]), String> {
    for (index, &byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..index], &text[index + 1..])),
            _ => break,
        }
    }
    Ok((b"", text))
}

fn parse_authority(scheme: &[u8], authority: &[u8]) -> Result<(Option<Userinfo>, Vec<u8>), String> {
    let Some(at) = authority.iter().rposition(|&byte| byte == b'@') else {
        return Ok((None, parse_host(scheme, authority)?));
    };
    let (userinfo, host) = (&authority[..at], &authority[at + 1..]);
    let host = parse_host(scheme, host)?;
    let valid = |&byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !userinfo.iter().all(valid) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let (username, password) = cut(userinfo, b':');
    let username = unescape(username, Place::UserPassword)?;
    let password = password.map(|password| unescape(password, Place::UserPassword)).transpose()?;
    Ok((Some(Userinfo { username, password }), host))
}

fn parse_host(scheme: &[u8], host: &[u8]) -> Result<Vec<u8>, String> {
    let port_error = |port: &[u8]| format!("invalid port {} after host", strconv::quote(port));
    match host.iter().rposition(|&byte| byte == b'[') {
        Some(0) => return parse_bracketed(host, port_error),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    // The web's own schemes take no second colon; others have the port behind the last one.
    let web = scheme == b"http" || scheme == b"https";
    let first = host.iter().position(|&byte| byte == b':');
    let colon = if web { first } else { host.iter().rposition(|&byte| byte == b':') };
    if let Some(port) = colon.and_then(|colon| host.get(colon..))
        && !valid_optional_port(port)
    {
        return Err(port_error(port));
    }
    unescape(host, Place::Host)
}

fn parse_bracketed(host: &[u8], port_error: impl Fn(&[u8]) -> String) -> Result<Vec<u8>, String> {
    let close = host.iter().rposition(|&byte| byte == b']').ok_or("missing ']' in host")?;
    let (address, port) = (&host[1..close], &host[close + 1..]);
    if !valid_optional_port(port) {
        return Err(port_error(port));
    }
    let zone = address.windows(3).position(|part| part == b"%25").unwrap_or(address.len());
    let (number, zone) = address.split_at(zone);
    let mut whole = unescape(number, Place::Host)?;
    whole.extend(unescape(zone, Place::Zone)?);
    let text = String::from_utf8_lossy(&whole).into_owned();
    let (number, zone) =
        text.split_once('%').map_or((text.as_str(), None), |(number, zone)| (number, Some(zone)));
    if number.parse::<Ipv4Addr>().is_ok() && zone.is_none() {
        return Err("invalid IP-literal".to_owned());
    }
    if number.parse::<Ipv6Addr>().is_err() || zone == Some("") {
        let quoted = strconv::quote(&whole);
        return Err(format!("invalid host: ParseAddr({quoted}): unable to parse IP"));
    }
    Ok([b"[", whole.as_slice(), b"]", port].concat())
}

fn valid_optional_port(port: &[u8]) -> bool {
    match port {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// Which characters a place leaves as they are. Source: RFC 3986 as Go reads it.
fn is_plain(byte: u8, place: Place) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return true;
    }
    let others: &[u8] = match place {
        Place::Path => b"$&+,/:;=@",
        Place::Host | Place::Zone => b"!$&'()*+,;=:[]<>\"",
        Place::UserPassword => b"$&+,;=",
        Place::QueryComponent => b"",
        Place::Fragment => b"$&+,/:;=?@!()*",
    };
    others.contains(&byte)
}

fn escape(text: &[u8], place: Place) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        if is_plain(byte, place) {
            out.push(byte);
        } else if byte == b' ' && place == Place::QueryComponent {
            out.push(b'+');
        } else {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    out
}

fn unescape(text: &[u8], place: Place) -> Result<Vec<u8>, String> {
    let bad_escape = |part: &[u8]| format!("invalid URL escape {}", strconv::quote(part));
    let in_host = matches!(place, Place::Host | Place::Zone);
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        if byte != b'%' {
            if in_host && byte.is_ascii() && !is_plain(byte, place) {
                return Err(format!("invalid character {} in host name", strconv::quote(&[byte])));
            }
            out.push(if byte == b'+' && place == Place::QueryComponent { b' ' } else { byte });
            rest = tail;
            continue;
        }
        let part = rest.get(..3).unwrap_or(rest);
        let digits = part.get(1..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            .ok_or_else(|| bad_escape(part))?;
        // In a host only bytes that are not ASCII, and the percent sign before a zone, may be escaped.
        let refused = part != b"%25"
            && match place {
                Place::Host => value < 0x80,
                Place::Zone => value != b' ' && !is_plain(value, Place::Host),
                _ => false,
            };
        if refused {
            return Err(bad_escape(part));
        }
        out.push(value);
        rest = rest.get(3..).unwrap_or_default();
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        match Url::parse(text.as_bytes()) {
            Err(error) => error.to_string(),
            Ok(url) => {
                let user = url.user.as_ref().map(Userinfo::to_bytes).unwrap_or_default();
                let parts: [&[u8]; 8] = [
                    &url.scheme,
                    &user,
                    &url.host,
                    url.hostname(),
                    &url.path,
                    &url.raw_query,
                    &url.opaque,
                    &url.fragment,
                ];
                parts.map(String::from_utf8_lossy).join("|")
            }
        }
    }

    #[test]
    fn urls_are_taken_apart_as_go_does() {
        // Scheme, user, host, host name, path, query, opaque, fragment.
        for (text, expected) in [
            ("", "|||||||"),
            ("*", "||||*|||"),
            ("http://host:80/path?q=1#f", "http||host:80|host|/path|q=1||f"),
            (
                "HTTPS://u:pa%20ss@H.com/a%2Fb c?x=%20#fr%20ag",
                "https|u:pa%20ss|H.com|H.com|/a/b c|x=%20||fr ag",
            ),
            ("mailto:a@b.c", "mailto||||||a@b.c|"),
            ("//host/x", "||host|host|/x|||"),
            ("///x", "||||///x|||"),
            ("http:/x", "http||||/x|||"),
            ("redis://:pw@h:6379/0", "redis|:pw|h:6379|h|/0|||"),
            ("http://[::1]:80/", "http||[::1]:80|::1|/|||"),
            ("http://[fe80::1%25en0]", "http||[fe80::1%en0]|fe80::1%en0||||"),
            ("tcp://h:1:2", "tcp||h:1:2|h:1||||"),
            ("a/b:c?d?e#f#g", "||||a/b:c|d?e||f#g"),
            ("a:b", "a||||||b|"),
            ("1a:b", r#"parse "1a:b": first path segment in URL cannot contain colon"#),
            (":x", r#"parse ":x": missing protocol scheme"#),
            ("a\u{1}", r#"parse "a\x01": net/url: invalid control character in URL"#),
            ("http://h:8a", r#"parse "http://h:8a": invalid port ":8a" after host"#),
            ("http://h:1:2", r#"parse "http://h:1:2": invalid port ":1:2" after host"#),
            ("http://a b", r#"parse "http://a b": invalid character " " in host name"#),
            ("http://%41", r#"parse "http://%41": invalid URL escape "%41""#),
            ("/%4", r#"parse "/%4": invalid URL escape "%4""#),
            ("x#%zz", r##"parse "x#%zz": invalid URL escape "%zz""##),
            ("http://u s@h", r#"parse "http://u s@h": net/url: invalid userinfo"#),
            ("http://[::1", r#"parse "http://[::1": missing ']' in host"#),
            ("http://[1.2.3.4]", r#"parse "http://[1.2.3.4]": invalid IP-literal"#),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn urls_are_put_together_as_go_does() {
        let url = |[scheme, host, path, raw_query, opaque, fragment]: [&str; 6]| {
            let part = |text: &str| text.as_bytes().to_vec();
            let url = Url {
                scheme: part(scheme),
                user: None,
                host: part(host),
                path: part(path),
                raw_query: part(raw_query),
                opaque: part(opaque),
                fragment: part(fragment),
            };
            String::from_utf8(url.to_bytes()).unwrap()
        };
        assert_eq!(url(["http", "h:80", "/a b", "q=1", "", "f g"]), "http://h:80/a%20b?q=1#f%20g");
        assert_eq!(url(["", "h", "p", "", "", ""]), "//h/p");
        assert_eq!(url(["", "", "p:q/r", "", "", ""]), "./p:q/r");
        assert_eq!(url(["a", "h", "p", "", "o", ""]), "a:o");
        assert_eq!(url(["file", "", "/x", "", "", ""]), "file:///x");
        assert_eq!(url(["", "", "*", "", "", ""]), "*");
        let user = Url::parse_userinfo(b"u:p%20:q").unwrap().unwrap();
        assert_eq!(user.to_bytes(), b"u:p%20%3Aq");
        assert!(Url::parse_userinfo(b"a b").is_err());
    }

    #[test]
    fn queries_are_escaped() {
        assert_eq!(query_escape("a b&c=d/é~".as_bytes()), b"a+b%26c%3Dd%2F%C3%A9~");
    }
}
