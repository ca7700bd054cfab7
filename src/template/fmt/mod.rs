//! Go's `fmt` over template values: `Sprint`, `Sprintln`, `Sprintf` and the `%v` of everything.
//!
//! Flags, widths, argument indexes and the texts for misuse (`%!d(string=a)`) are those of Go's package `fmt`.

mod printer;

use super::convert::TooDeep;
use super::text::Str;
use super::types::Kind;
use super::value::{Number, Val};
use crate::go::utf8::decode_rune;
use crate::value::number::format_g;
use printer::Printer;

/// What printing gives: fails on a value that contains itself.
pub type Printed = Result<(), TooDeep>;

/// Appends `%v` of a value: what `print`, `toString` and an action write.
pub fn print_value(out: &mut Vec<u8>, value: &Val) -> Printed {
    match value {
        Val::Str(text) => out.extend_from_slice(text),
        Val::Bool(flag) => out.extend_from_slice(if *flag { b"true" } else { b"false" }),
        Val::Float(number) => out.extend_from_slice(format_g(*number).as_bytes()),
        Val::Int(number) | Val::Int64(number) => print_int(out, *number),
        _ => return Printer::new(out).arg(value, 'v'),
    }
    Ok(())
}

fn print_int(out: &mut Vec<u8>, number: i64) {
    use std::io::Write as _;
    // Writing to a vector cannot fail.
    let _ = write!(out, "{number}");
}

/// Returns a value as text the way sprig's `toString` does: strings and bytes as they are, else `%v`.
pub fn strval(value: &Val) -> Result<Str, TooDeep> {
    if let Val::Str(text) | Val::Bytes(text) = value {
        return Ok(text.clone());
    }
    let mut out = Vec::new();
    print_value(&mut out, value)?;
    Ok(Str::from(out))
}

/// Returns `%v` of a value as text, or a short note when it contains itself.
pub fn to_text(value: &Val) -> String {
    let mut out = Vec::new();
    match print_value(&mut out, value) {
        Ok(()) => super::text::lossy(&out).into_owned(),
        Err(error) => format!("({error})"),
    }
}

/// Returns `fmt.Sprint(args...)`: a space between operands of which neither is a string.
pub fn sprint(args: &[Val]) -> Result<Vec<u8>, TooDeep> {
    let mut out = Vec::new();
    let mut after_string = false;
    for (index, arg) in args.iter().enumerate() {
        let is_string = arg.kind() == Kind::String;
        if index > 0 && !is_string && !after_string {
            out.push(b' ');
        }
        print_value(&mut out, arg)?;
        after_string = is_string;
    }
    Ok(out)
}

/// Returns `fmt.Sprintln(args...)`: a space between all operands and a line break at the end.
pub fn sprintln(args: &[Val]) -> Result<Vec<u8>, TooDeep> {
    let mut out = Vec::new();
    for (index, arg) in args.iter().enumerate() {
        if index > 0 {
            out.push(b' ');
        }
        print_value(&mut out, arg)?;
    }
    out.push(b'\n');
    Ok(out)
}

/// Returns `fmt.Sprintf(format, args...)`.
pub fn sprintf(format: &[u8], args: &[Val]) -> Result<Vec<u8>, TooDeep> {
    let mut out = Vec::with_capacity(format.len() + 16 * args.len());
    Format { format, args, at: 0, next: 0, reordered: false, good_index: true }.run(&mut out)?;
    Ok(out)
}

/// Widths and precisions above this are ignored, as in Go.
const MAX_WIDTH: i64 = 1_000_000;

/// The walk over a format text.
struct Format<'f> {
    format: &'f [u8],
    args: &'f [Val],
    /// The next byte of the format.
    at: usize,
    /// The next argument.
    next: usize,
    reordered: bool,
    good_index: bool,
}

impl Format<'_> {
    fn run(mut self, out: &mut Vec<u8>) -> Printed {
        while self.at < self.format.len() {
            self.good_index = true;
            let rest = &self.format[self.at..];
            let length = rest.iter().position(|byte| *byte == b'%').unwrap_or(rest.len());
            out.extend_from_slice(&rest[..length]);
            self.at += length + 1;
            if length == rest.len() {
                break;
            }
            if !self.directive(&mut Printer::new(out))? {
                break;
            }
        }
        if self.reordered || self.next >= self.args.len() {
            return Ok(());
        }
        out.extend_from_slice(b"%!(EXTRA ");
        for (index, arg) in self.args[self.next..].iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b", ");
            }
            if arg.is_nil() {
                out.extend_from_slice(b"<nil>");
            } else {
                out.extend_from_slice(arg.type_name().as_bytes());
                out.push(b'=');
                print_value(out, arg)?;
            }
        }
        out.push(b')');
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.format.get(self.at).copied()
    }

    /// Handles what follows a `%`. Answers false at the end of the format.
    fn directive(&mut self, printer: &mut Printer<'_>) -> Result<bool, TooDeep> {
        while let Some(flag) = self.peek() {
            match flag {
                b'#' => printer.sharp = true,
                b'0' => printer.zero = true,
                b'+' => printer.plus = true,
                b'-' => printer.minus = true,
                b' ' => printer.space = true,
                _ => break,
            }
            self.at += 1;
        }
        let mut after_index = self.index();
        if self.peek() == Some(b'*') {
            self.at += 1;
            match self.int_arg() {
                None => printer.out.extend_from_slice(b"%!(BADWIDTH)"),
                Some(width) => {
                    printer.minus |= width < 0;
                    printer.zero &= width >= 0;
                    printer.width = Some(to_size(width.unsigned_abs()));
                }
            }
            after_index = false;
        } else {
            printer.width = self.number();
            self.good_index &= !(after_index && printer.width.is_some());
        }
        if self.peek() == Some(b'.') && self.at + 1 < self.format.len() {
            self.at += 1;
            self.good_index &= !after_index;
            after_index = self.index();
            if self.peek() == Some(b'*') {
                self.at += 1;
                printer.precision = self.int_arg().and_then(|number| usize::try_from(number).ok());
                if printer.precision.is_none() {
                    printer.out.extend_from_slice(b"%!(BADPREC)");
                }
                after_index = false;
            } else {
                printer.precision = Some(self.number().unwrap_or(0));
            }
        }
        if !after_index {
            self.index();
        }
        if self.at >= self.format.len() {
            printer.out.extend_from_slice(b"%!(NOVERB)");
            return Ok(false);
        }
        let (verb, size) = decode_rune(&self.format[self.at..]);
        self.at += size;
        self.verb(printer, verb)?;
        Ok(true)
    }

    fn verb(&mut self, printer: &mut Printer<'_>, verb: char) -> Printed {
        let problem = match self.args.get(self.next) {
            _ if verb == '%' => {
                printer.out.push(b'%');
                return Ok(());
            }
            _ if !self.good_index => "(BADINDEX)",
            None => "(MISSING)",
            Some(arg) => {
                self.next += 1;
                if matches!(verb, 'v' | 'w') {
                    printer.sharp_v = std::mem::take(&mut printer.sharp);
                    printer.plus_v = std::mem::take(&mut printer.plus);
                }
                return printer.arg(arg, verb);
            }
        };
        printer.out.extend_from_slice(format!("%!{verb}{problem}").as_bytes());
        Ok(())
    }

    /// Reads digits; nothing when there are none or the number is too large.
    fn number(&mut self) -> Option<usize> {
        let start = self.at;
        let mut number: i64 = 0;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            if number > MAX_WIDTH {
                // Go gives up on the rest of the format.
                self.at = self.format.len();
                return None;
            }
            number = number * 10 + i64::from(digit - b'0');
            self.at += 1;
        }
        if self.at == start { None } else { usize::try_from(number).ok() }
    }

    /// Takes the next argument as a width or precision.
    fn int_arg(&mut self) -> Option<i64> {
        let number = match self.args.get(self.next)?.number() {
            Some(Number::Int(number)) => Some(number),
            Some(Number::Uint(number)) => i64::try_from(number).ok(),
            _ => None,
        };
        self.next += 1;
        number.filter(|number| (-MAX_WIDTH..=MAX_WIDTH).contains(number))
    }

    /// Reads `[n]`, which sets the next argument. Answers whether one was there.
    fn index(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.reordered = true;
        let rest = &self.format[self.at..];
        let Some(close) = rest.iter().position(|byte| *byte == b']') else {
            self.good_index = false;
            self.at += 1;
            return false;
        };
        let digits = &rest[1..close];
        self.at += close + 1;
        let number = std::str::from_utf8(digits)
            .ok()
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))
            .and_then(|digits| digits.parse::<usize>().ok());
        match number.and_then(|number| number.checked_sub(1)).filter(|number| *number < self.args.len()) {
            Some(number) => {
                self.next = number;
                true
            }
            None => {
                self.good_index = false;
                number.is_some()
            }
        }
    }
}

fn to_size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(0)
}
