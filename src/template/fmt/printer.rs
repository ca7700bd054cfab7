//! Prints one value by one directive: verbs, flags, width and precision.

use super::Printed;
use crate::go::strconv::{
    can_backquote, format_float, quote, quote_rune, quote_rune_to_ascii, quote_to_ascii,
};
use crate::go::utf8::{rune_count, runes};
use crate::template::convert::Walk;
use crate::template::text::Str;
use crate::template::types::Kind;
use crate::template::value::{List, Map, Object, Val};

/// One directive being carried out: the flags and where the text goes.
pub(super) struct Printer<'o> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) sharp: bool,
    pub(super) zero: bool,
    pub(super) plus: bool,
    pub(super) minus: bool,
    pub(super) space: bool,
    pub(super) sharp_v: bool,
    pub(super) plus_v: bool,
    pub(super) width: Option<usize>,
    pub(super) precision: Option<usize>,
    /// Inside the text for a bad verb, methods are not called.
    erroring: bool,
    walk: Walk,
}

impl<'o> Printer<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>) -> Printer<'o> {
        Printer {
            out,
            sharp: false,
            zero: false,
            plus: false,
            minus: false,
            space: false,
            sharp_v: false,
            plus_v: false,
            width: None,
            precision: None,
            erroring: false,
            walk: Walk::new(),
        }
    }

    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn pad(&mut self, text: &[u8]) {
        let missing = self.width.unwrap_or(0).saturating_sub(rune_count(text));
        if self.minus {
            self.out.extend_from_slice(text);
            self.fill(missing);
        } else {
            self.fill(missing);
            self.out.extend_from_slice(text);
        }
    }

    fn fill(&mut self, count: usize) {
        let byte = if self.zero && !self.minus { b'0' } else { b' ' };
        self.out.resize(self.out.len() + count, byte);
    }

    /// As [`Printer::pad`], but never with zeros.
    fn pad_spaces(&mut self, text: &[u8]) {
        let zero = std::mem::take(&mut self.zero);
        self.pad(text);
        self.zero = zero;
    }

    /// Prints an argument of a call.
    pub(super) fn arg(&mut self, value: &Val, verb: char) -> Printed {
        match verb {
            'T' => {
                let name = value.type_name();
                if value.is_nil() {
                    self.pad(name.as_bytes())
                } else {
                    self.string(name.as_bytes())
                }
                Ok(())
            }
            _ if value.is_nil() => {
                if verb == 'v' {
                    self.pad(b"<nil>");
                    return Ok(());
                }
                self.bad_verb(value, verb)
            }
            'p' => match value.kind() {
                Kind::Map | Kind::Slice | Kind::Ptr => {
                    self.pad(ADDRESS);
                    Ok(())
                }
                _ => self.bad_verb(value, verb),
            },
            'w' if matches!(value, Val::List(_) | Val::Map(_) | Val::Object(_)) => self.bad_verb(value, verb),
            _ => self.value(value, verb, 0),
        }
    }

    fn bad_verb(&mut self, value: &Val, verb: char) -> Printed {
        self.erroring = true;
        self.push("%!");
        self.push(verb.encode_utf8(&mut [0; 4]));
        self.push("(");
        if value.is_nil() {
            self.push("<nil>");
        } else {
            self.push(&value.type_name());
            self.push("=");
            self.value(value, 'v', 0)?;
        }
        self.push(")");
        self.erroring = false;
        Ok(())
    }

    fn value(&mut self, value: &Val, verb: char, depth: usize) -> Printed {
        self.walk.enter()?;
        self.part(value, verb, depth)?;
        self.walk.leave();
        Ok(())
    }

    fn part(&mut self, value: &Val, verb: char, depth: usize) -> Printed {
        match value {
            Val::Nil => {
                // An element of an interface type.
                if self.sharp_v {
                    self.push("interface {}(nil)");
                } else {
                    self.push("<nil>");
                }
                Ok(())
            }
            Val::Bool(flag) => {
                if !matches!(verb, 't' | 'v') {
                    return self.bad_verb(value, verb);
                }
                self.pad(if *flag { b"true" } else { b"false" });
                Ok(())
            }
            Val::Int(number) | Val::Int64(number) | Val::Sized(_, number) => {
                self.integer(value, verb, number.unsigned_abs(), *number < 0, true)
            }
            Val::Uint(_, number) => self.integer(value, verb, *number, false, false),
            Val::Float(number) => self.float(value, verb, *number),
            Val::Str(text) => {
                self.walk.text(text.len())?;
                self.text(value, verb, text)
            }
            Val::Bytes(bytes) => self.bytes(value, verb, bytes, depth),
            Val::List(list) => self.list(list, verb, depth),
            Val::Map(map) => self.map(map, verb, depth),
            Val::Object(object) => self.object(value, object.as_ref(), verb, depth),
        }
    }

    fn integer(&mut self, value: &Val, verb: char, number: u64, negative: bool, signed: bool) -> Printed {
        let code = || if negative { u32::MAX } else { u32::try_from(number).unwrap_or(u32::MAX) };
        match verb {
            'v' if self.sharp_v && !signed => {
                let sharp = std::mem::replace(&mut self.sharp, true);
                self.number(number, false, 16, verb);
                self.sharp = sharp;
            }
            'v' | 'd' => self.number(number, negative, 10, verb),
            'b' => self.number(number, negative, 2, verb),
            'o' | 'O' => self.number(number, negative, 8, verb),
            'x' | 'X' => self.number(number, negative, 16, verb),
            'c' => {
                let rune = char::from_u32(code()).unwrap_or(char::REPLACEMENT_CHARACTER);
                self.pad(rune.encode_utf8(&mut [0; 4]).as_bytes());
            }
            'q' => {
                let text = if self.plus { quote_rune_to_ascii(code()) } else { quote_rune(code()) };
                self.pad(text.as_bytes());
            }
            'U' => self.unicode(if negative { number.wrapping_neg() } else { number }),
            _ => return self.bad_verb(value, verb),
        }
        Ok(())
    }

    fn number(&mut self, number: u64, negative: bool, base: u32, verb: char) {
        let mut least = self.precision.unwrap_or(0);
        if self.precision == Some(0) && number == 0 {
            let zero = std::mem::take(&mut self.zero);
            self.fill(self.width.unwrap_or(0));
            self.zero = zero;
            return;
        }
        if let (None, Some(width), true) = (self.precision, self.width, self.zero && !self.minus) {
            least = width.saturating_sub(usize::from(negative || self.plus || self.space));
        }
        let mut digits = match base {
            2 => format!("{number:b}"),
            8 => format!("{number:o}"),
            16 if verb == 'X' => format!("{number:X}"),
            16 => format!("{number:x}"),
            _ => number.to_string(),
        };
        if digits.len() < least {
            digits.insert_str(0, &"0".repeat(least - digits.len()));
        }
        let prefix = match base {
            2 if self.sharp => "0b",
            8 if verb == 'O' => "0o",
            8 if self.sharp && !digits.starts_with('0') => "0",
            16 if self.sharp => {
                if verb == 'X' {
                    "0X"
                } else {
                    "0x"
                }
            }
            _ => "",
        };
        let prefix = if verb == 'O' && self.sharp && !digits.starts_with('0') { "0o0" } else { prefix };
        let sign = match negative {
            true => "-",
            false if self.plus => "+",
            false if self.space => " ",
            false => "",
        };
        self.pad_spaces(format!("{sign}{prefix}{digits}").as_bytes());
    }

    fn unicode(&mut self, number: u64) {
        let digits = self.precision.unwrap_or(4).max(4);
        let mut text = format!("U+{number:0digits$X}");
        let rune = u32::try_from(number).ok().and_then(char::from_u32);
        if let Some(rune) = rune.filter(|rune| self.sharp && crate::go::unicode::is_print(*rune)) {
            text.push_str(" '");
            text.push(rune);
            text.push('\'');
        }
        self.pad_spaces(text.as_bytes());
    }

    fn float(&mut self, value: &Val, verb: char, number: f64) -> Printed {
        let (form, default) = match verb {
            'v' => (b'g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => (verb as u8, None),
            'f' | 'e' | 'E' => (verb as u8, Some(6)),
            'F' => (b'f', Some(6)),
            _ => return self.bad_verb(value, verb),
        };
        let precision = self.precision.or(default);
        let text = format_float(number, form, precision);
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(&text)),
        };
        let sign = match negative {
            true => "-",
            false if self.plus => "+",
            false if self.space => " ",
            false => "",
        };
        if !number.is_finite() {
            // Not padded with zeros. Infinity always has its sign.
            let text = match (number.is_nan(), sign) {
                (true, _) => format!("{sign}NaN"),
                (false, "") => "+Inf".to_owned(),
                (false, _) => format!("{sign}Inf"),
            };
            self.pad_spaces(text.as_bytes());
            return Ok(());
        }
        let digits = if self.sharp && verb != 'b' {
            self.sharp_float(digits, form, precision)
        } else {
            digits.to_owned()
        };
        let full = format!("{sign}{digits}");
        if self.zero && !self.minus && !sign.is_empty() && self.width.is_some_and(|width| width > full.len())
        {
            // Zeros go between the sign and the digits.
            self.push(sign);
            self.fill(self.width.unwrap_or(0) - full.len());
            self.push(&digits);
        } else {
            self.pad(full.as_bytes());
        }
        Ok(())
    }

    /// `%#g` and the like: always a decimal point, and the zeros that were cut off.
    fn sharp_float(&self, digits: &str, form: u8, precision: Option<usize>) -> String {
        let hexadecimal = matches!(form, b'x' | b'X');
        let exponent = match hexadecimal {
            true => digits.find(['p', 'P']),
            false => digits.find(['e', 'E']),
        };
        let (mantissa, tail) = digits.split_at(exponent.unwrap_or(digits.len()));
        let wanted = match form {
            b'g' | b'G' | b'x' => precision.unwrap_or(6),
            _ => 0,
        };
        let mut shown = mantissa.chars().filter(|c| *c != '.').skip_while(|c| *c == '0').count();
        let mut text = mantissa.to_owned();
        if !text.contains('.') {
            if text == "0" {
                shown += 1;
            }
            text.push('.');
        }
        text.push_str(&"0".repeat(wanted.saturating_sub(shown)));
        text.push_str(tail);
        text
    }

    fn truncated<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Some(precision) = self.precision else { return text };
        runes(text).nth(precision).map_or(text, |(offset, _, _)| &text[..offset])
    }

    fn string(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        self.pad(text);
    }

    fn quoted(&mut self, text: &[u8]) {
        let text = self.truncated(text);
        if self.sharp && can_backquote(text) {
            let text = [b"`", text, b"`"].concat();
            return self.pad(&text);
        }
        let text = if self.plus { quote_to_ascii(text) } else { quote(text) };
        self.pad(text.as_bytes());
    }

    fn hex(&mut self, text: &[u8], verb: char) {
        let text = &text[..self.precision.unwrap_or(text.len()).min(text.len())];
        let upper = verb == 'X';
        let prefix = match (self.sharp, upper) {
            (false, _) => "",
            (true, false) => "0x",
            (true, true) => "0X",
        };
        let mut digits = String::new();
        for (index, byte) in text.iter().enumerate() {
            if index > 0 && self.space {
                digits.push(' ');
            }
            if index == 0 || self.space {
                digits.push_str(prefix);
            }
            for digit in [byte >> 4, byte & 15] {
                let digit = char::from_digit(u32::from(digit), 16).unwrap_or('0');
                digits.push(if upper { digit.to_ascii_uppercase() } else { digit });
            }
        }
        self.pad(digits.as_bytes());
    }

    fn text(&mut self, value: &Val, verb: char, text: &[u8]) -> Printed {
        match verb {
            'v' if self.sharp_v => self.quoted(text),
            'v' | 's' => self.string(text),
            'x' | 'X' => self.hex(text, verb),
            'q' => self.quoted(text),
            _ => return self.bad_verb(value, verb),
        }
        Ok(())
    }

    fn bytes(&mut self, value: &Val, verb: char, bytes: &Str, depth: usize) -> Printed {
        match verb {
            's' => self.string(bytes),
            'x' | 'X' => self.hex(bytes, verb),
            'q' => self.quoted(bytes),
            'v' if self.sharp_v => {
                let items: Vec<String> = bytes.iter().map(|byte| format!("{byte:#x}")).collect();
                let name = if depth == 0 { "[]byte" } else { "[]uint8" };
                self.push(&format!("{name}{{{}}}", items.join(", ")));
            }
            _ => {
                if let Some(list) = value.to_list() {
                    return self.list(&list, verb, depth);
                }
            }
        }
        Ok(())
    }

    fn list(&mut self, list: &List, verb: char, depth: usize) -> Printed {
        if self.sharp_v {
            self.push(&list.go_type().to_string());
            if list.is_nil() {
                self.push("(nil)");
                return Ok(());
            }
        }
        self.push(if self.sharp_v { "{" } else { "[" });
        for (index, item) in list.iter().enumerate() {
            if index > 0 {
                self.push(if self.sharp_v { ", " } else { " " });
            }
            self.value(item, verb, depth + 1)?;
        }
        self.push(if self.sharp_v { "}" } else { "]" });
        Ok(())
    }

    fn map(&mut self, map: &Map, verb: char, depth: usize) -> Printed {
        if self.sharp_v {
            self.push(&map.go_type().to_string());
            if map.is_nil() {
                self.push("(nil)");
                return Ok(());
            }
        }
        self.push(if self.sharp_v { "{" } else { "map[" });
        for (index, (key, item)) in map.borrow().iter().enumerate() {
            if index > 0 {
                self.push(if self.sharp_v { ", " } else { " " });
            }
            self.text(&Val::Str(key.clone()), verb, key)?;
            self.push(":");
            self.value(item, verb, depth + 1)?;
        }
        self.push(if self.sharp_v { "}" } else { "]" });
        Ok(())
    }

    fn object(&mut self, value: &Val, object: &(dyn Object + 'static), verb: char, depth: usize) -> Printed {
        let may_call = !self.erroring && !self.sharp_v && matches!(verb, 'v' | 's' | 'x' | 'X' | 'q');
        if let Some(text) = may_call.then(|| object.formatted()).flatten() {
            return self.text(value, verb, text.as_bytes());
        }
        if object.kind() == Kind::Ptr {
            if depth > 0 {
                self.pad(ADDRESS);
                return Ok(());
            }
            self.push("&");
        } else if let Some(inner) = object.underlying() {
            return self.value(&inner, verb, depth);
        }
        if self.sharp_v {
            self.push(object.type_name().trim_start_matches('*'));
        }
        self.push("{");
        for (index, (name, field)) in object.fields().iter().enumerate() {
            if index > 0 {
                self.push(if self.sharp_v { ", " } else { " " });
            }
            if self.plus_v || self.sharp_v {
                self.push(name);
                self.push(":");
            }
            self.value(field, verb, depth + 1)?;
        }
        self.push("}");
        Ok(())
    }
}

/// Stands for the address of a pointer: real ones differ from run to run, so no output can depend on them.
const ADDRESS: &[u8] = b"0xc000000000";
