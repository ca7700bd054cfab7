//! Escaping of text as the template functions `html` and `js` do it.

use crate::go::{unicode, utf8};

/// Escapes `"`, `'`, `&`, `<`, `>` and the zero byte (`template.HTMLEscape`).
pub fn html_escape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        let escaped: &[u8] = match byte {
            0 => "\u{FFFD}".as_bytes(),
            b'"' => b"&#34;",
            b'\'' => b"&#39;",
            b'&' => b"&amp;",
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            _ => &[byte],
        };
        out.extend_from_slice(escaped);
    }
    out
}

/// Escapes for the inside of a JavaScript string (`template.JSEscape`).
pub fn js_escape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for (offset, rune, width) in utf8::runes(text) {
        let escaped = match rune {
            '\\' => r"\\".to_owned(),
            '\'' => r"\'".to_owned(),
            '"' => r#"\""#.to_owned(),
            '<' | '>' | '&' | '=' | '\0'..' ' => format!(r"\u{:04X}", u32::from(rune)),
            _ if rune.is_ascii() || unicode::is_print(rune) => {
                out.extend_from_slice(text.get(offset..offset + width).unwrap_or_default());
                continue;
            }
            _ => format!(r"\u{:04X}", u32::from(rune)),
        };
        out.extend_from_slice(escaped.as_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_for_html_and_javascript() {
        for (text, html, js) in [
            (&b"a<b>&\"'"[..], &b"a&lt;b&gt;&amp;&#34;&#39;"[..], &br#"a\u003Cb\u003E\u0026\"\'"#[..]),
            (b"\0\n\\=", b"\xef\xbf\xbd\n\\=", br"\u0000\u000A\\\u003D"),
            ("é\u{2028}\u{e0001}".as_bytes(), "é\u{2028}\u{e0001}".as_bytes(), "é\\u2028\\uE0001".as_bytes()),
            (b"\xff\x7f", b"\xff\x7f", b"\xff\x7f"),
        ] {
            assert_eq!(html_escape(text), html);
            assert_eq!(js_escape(text), js);
        }
    }
}
