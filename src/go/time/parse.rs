//! Reading an instant by a layout.

use super::layout::{DAYS, Element, MONTHS, Offset, next_element};
use super::{Time, Zone, days_in_month, is_leap, within_rules};

/// Why a text does not fit a layout. Display is Go's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    value: String,
    layout: String,
    value_rest: String,
    element: String,
    message: String,
}

impl std::error::Error for ParseError {}

impl std::fmt::Display for ParseError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.message.is_empty() {
            return write!(out, "parsing time {}{}", self.value, self.message);
        }
        write!(
            out,
            "parsing time {} as {}: cannot parse {} as {}",
            self.value, self.layout, self.value_rest, self.element
        )
    }
}

/// Go's own simple quoting in this package: everything that is not plain ASCII as bytes.
pub(super) fn quote(text: &[u8]) -> String {
    let mut out = String::from("\"");
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..0x80 => out.push(char::from(byte)),
            _ => out.extend(format!("\\x{byte:02x}").chars()),
        }
    }
    out.push('"');
    out
}

/// The element does not fit.
struct Bad;

/// What goes wrong within an element.
enum Fault {
    /// The text does not look like the element.
    Bad,
    /// It does, but the number is too large. Named as in Go's text.
    Range(&'static str),
}

impl From<Bad> for Fault {
    fn from(_: Bad) -> Self {
        Fault::Bad
    }
}

/// What has been read so far; a part that was not given is absent.
#[derive(Default)]
struct Parts {
    year: i64,
    month: Option<u32>,
    day: Option<u32>,
    year_day: Option<u32>,
    hour: u32,
    minute: u32,
    second: u32,
    nanosecond: u32,
    afternoon: Option<bool>,
    utc: bool,
    offset: Option<i32>,
    abbreviation: Option<Vec<u8>>,
}

/// Reads `value` by `layout`; where it names no zone, `local` holds (`time.ParseInLocation`).
///
/// # Errors
/// The text does not fit the layout, or names a moment that does not exist.
pub fn parse_in(layout: &[u8], value: &[u8], local: &Zone) -> Result<Time, ParseError> {
    let error = |element: &[u8], rest: &[u8], message: &str| ParseError {
        value: quote(value),
        layout: quote(layout),
        value_rest: quote(rest),
        element: quote(element),
        message: message.to_owned(),
    };
    let mut parts = Parts::default();
    let (mut rest_layout, mut rest) = (layout, value);
    loop {
        let found = next_element(rest_layout);
        let prefix = found.map_or(rest_layout, |(start, _, _)| &rest_layout[..start]);
        rest = skip(rest, prefix).map_err(|rest| error(prefix, rest, ""))?;
        let Some((start, element, length)) = found else {
            if !rest.is_empty() {
                return Err(error(b"", rest, &format!(": extra text: {}", quote(rest))));
            }
            break;
        };
        let element_text = rest_layout.get(start..start + length).unwrap_or_default();
        rest_layout = rest_layout.get(start + length..).unwrap_or_default();
        let before = rest;
        match parts.read(element, &mut rest, rest_layout) {
            Ok(()) => {}
            Err(Fault::Bad) => return Err(error(element_text, before, "")),
            Err(Fault::Range(what)) => {
                return Err(error(element_text, rest, &format!(": {what} out of range")));
            }
        }
    }
    parts.finish(local).map_err(|what| error(b"", rest, &format!(": {what}")))
}

/// Passes over literal text; a blank in the layout fits any number of blanks, also none at the end.
fn skip<'v>(mut value: &'v [u8], mut prefix: &[u8]) -> Result<&'v [u8], &'v [u8]> {
    while let Some((&first, tail)) = prefix.split_first() {
        if first == b' ' {
            if value.first().is_some_and(|&byte| byte != b' ') {
                return Err(value);
            }
            prefix = trim_spaces(prefix);
            value = trim_spaces(value);
            continue;
        }
        value = value.strip_prefix(&[first]).ok_or(value)?;
        prefix = tail;
    }
    Ok(value)
}

fn trim_spaces(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|&&byte| byte == b' ').count();
    &text[blanks..]
}

fn digit_at(text: &[u8], index: usize) -> Option<u32> {
    text.get(index).filter(|byte| byte.is_ascii_digit()).map(|&byte| u32::from(byte - b'0'))
}

/// Takes a number of one or two digits; exactly two where `fixed`.
fn take_number(rest: &mut &[u8], fixed: bool) -> Result<u32, Bad> {
    let first = digit_at(rest, 0).ok_or(Bad)?;
    let (number, length) = match digit_at(rest, 1) {
        Some(second) => (first * 10 + second, 2),
        None if fixed => return Err(Bad),
        None => (first, 1),
    };
    *rest = &rest[length..];
    Ok(number)
}

/// Takes one of the names in any case; `length` cuts the names.
fn take_name(rest: &mut &[u8], names: &[&str], length: Option<usize>) -> Result<u32, Bad> {
    for (name, index) in names.iter().zip(0..) {
        let name = &name.as_bytes()[..length.unwrap_or(name.len())];
        if let Some((head, tail)) = rest.split_at_checked(name.len())
            && head.eq_ignore_ascii_case(name)
        {
            *rest = tail;
            return Ok(index);
        }
    }
    Err(Bad)
}

fn take<'v>(rest: &mut &'v [u8], length: usize) -> Result<&'v [u8], Bad> {
    let (head, tail) = rest.split_at_checked(length).ok_or(Bad)?;
    *rest = tail;
    Ok(head)
}

/// Takes a separator and digits: nanoseconds, as far as there are nine digits.
fn take_fraction(rest: &mut &[u8], length: usize) -> Result<u32, Bad> {
    let text = take(rest, length)?;
    let [b'.' | b',', digits @ ..] = text else { return Err(Bad) };
    let digits = &digits[..digits.len().min(9)];
    let mut value = 0;
    for index in 0..9 {
        let digit = if index < digits.len() { digit_at(digits, index).ok_or(Bad)? } else { 0 };
        value = value * 10 + digit;
    }
    Ok(value)
}

fn fraction_length(text: &[u8]) -> Option<usize> {
    match text {
        [b'.' | b',', b'0'..=b'9', ..] => {
            Some(1 + text[1..].iter().take_while(|byte| byte.is_ascii_digit()).count())
        }
        _ => None,
    }
}

impl Parts {
    fn read(&mut self, element: Element, rest: &mut &[u8], layout: &[u8]) -> Result<(), Fault> {
        match element {
            Element::Year => {
                let text = take(rest, 2)?;
                // A sign is taken by the number reader that Go uses here.
                let year: i64 =
                    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Bad)?;
                self.year = year + if year >= 69 { 1900 } else { 2000 };
            }
            Element::LongYear => {
                if digit_at(rest, 0).is_none() {
                    return Err(Fault::Bad);
                }
                let text = take(rest, 4)?;
                self.year = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Bad)?;
            }
            Element::Month => self.month = Some(take_name(rest, &MONTHS, Some(3))? + 1),
            Element::LongMonth => self.month = Some(take_name(rest, &MONTHS, None)? + 1),
            Element::NumMonth | Element::ZeroMonth => {
                let month = take_number(rest, element == Element::ZeroMonth)?;
                if !(1..=12).contains(&month) {
                    return Err(Fault::Range("month"));
                }
                self.month = Some(month);
            }
            // The weekday is not compared with the date.
            Element::WeekDay => drop(take_name(rest, &DAYS, Some(3))?),
            Element::LongWeekDay => drop(take_name(rest, &DAYS, None)?),
            Element::Day | Element::UnderDay | Element::ZeroDay => {
                if element == Element::UnderDay {
                    *rest = rest.strip_prefix(b" ").unwrap_or(rest);
                }
                self.day = Some(take_number(rest, element == Element::ZeroDay)?);
            }
            Element::UnderYearDay | Element::ZeroYearDay => self.read_year_day(element, rest)?,
            Element::Hour => self.hour = within(take_number(rest, false)?, 23, "hour")?,
            Element::Hour12 | Element::ZeroHour12 => {
                self.hour = within(take_number(rest, element == Element::ZeroHour12)?, 12, "hour")?;
            }
            Element::Minute | Element::ZeroMinute => {
                self.minute = within(take_number(rest, element == Element::ZeroMinute)?, 59, "minute")?;
            }
            Element::Second | Element::ZeroSecond => {
                self.second = within(take_number(rest, element == Element::ZeroSecond)?, 59, "second")?;
                // A fraction may follow even where the layout has none.
                let next = next_element(layout).map(|(_, element, _)| element);
                if !matches!(next, Some(Element::Fraction { .. }))
                    && let Some(length) = fraction_length(rest)
                {
                    self.nanosecond = take_fraction(rest, length)?;
                }
            }
            Element::Pm | Element::LowerPm => {
                let (am, pm): (&[u8], &[u8]) =
                    if element == Element::Pm { (b"AM", b"PM") } else { (b"am", b"pm") };
                let text = take(rest, 2)?;
                if text != am && text != pm {
                    return Err(Fault::Bad);
                }
                // Once in the afternoon, always: Go keeps the two as separate flags and asks for this one first.
                self.afternoon = Some(self.afternoon == Some(true) || text == pm);
            }
            Element::Offset(form) => self.read_offset(form, rest)?,
            Element::Abbreviation => {
                if let Some(tail) = rest.strip_prefix(b"UTC") {
                    (self.utc, *rest) = (true, tail);
                } else {
                    let length = abbreviation_length(rest).ok_or(Bad)?;
                    self.abbreviation = Some(take(rest, length)?.to_owned());
                }
            }
            Element::Fraction { digits, fixed: true, .. } => {
                self.nanosecond = take_fraction(rest, digits + 1)?;
            }
            Element::Fraction { .. } => {
                if let Some(length) = fraction_length(rest) {
                    self.nanosecond = take_fraction(rest, length)?;
                }
            }
        }
        Ok(())
    }

    fn read_year_day(&mut self, element: Element, rest: &mut &[u8]) -> Result<(), Bad> {
        let padded = element == Element::UnderYearDay;
        for _ in 0..2 {
            if padded {
                *rest = rest.strip_prefix(b" ").unwrap_or(rest);
            }
        }
        let digits = rest.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || (!padded && digits != 3) {
            return Err(Bad);
        }
        let text = take(rest, digits)?;
        self.year_day = Some(text.iter().fold(0, |number, &digit| number * 10 + u32::from(digit - b'0')));
        Ok(())
    }

    fn read_offset(&mut self, form: Offset, rest: &mut &[u8]) -> Result<(), Fault> {
        if form.z_for_zero
            && let Some(tail) = rest.strip_prefix(b"Z")
        {
            (self.utc, *rest) = (true, tail);
            return Ok(());
        }
        let parts = usize::from(form.parts);
        let text = take(rest, 1 + 2 * parts + if form.colon { parts - 1 } else { 0 })?;
        let (&sign, mut digits) = text.split_first().ok_or(Bad)?;
        let mut numbers = [Ok(0); 3];
        for (index, number) in numbers.iter_mut().take(parts).enumerate() {
            if form.colon && index > 0 {
                digits = digits.strip_prefix(b":").ok_or(Bad)?;
            }
            let (mut pair, tail) = digits.split_at_checked(2).ok_or(Bad)?;
            *number = take_number(&mut pair, true).map_err(|_| ());
            digits = tail;
        }
        // Go checks the ranges of what it could read before it reports what it could not.
        let limits =
            [(24, "time zone offset hour"), (60, "time zone offset minute"), (60, "time zone offset second")];
        let mut range = None;
        let mut readable = true;
        for (number, (limit, what)) in numbers.iter().zip(limits) {
            readable = readable && number.is_ok();
            if readable && number.is_ok_and(|number| number > limit) {
                range = Some(what);
            }
        }
        if let Some(what) = range {
            return Err(Fault::Range(what));
        }
        let [Ok(hour), Ok(minute), Ok(second)] = numbers else { return Err(Fault::Bad) };
        let seconds = i32::try_from((hour * 60 + minute) * 60 + second).map_err(|_| Bad)?;
        self.offset = Some(match sign {
            b'+' => seconds,
            b'-' => -seconds,
            _ => return Err(Fault::Bad),
        });
        Ok(())
    }

    fn finish(mut self, local: &Zone) -> Result<Time, &'static str> {
        match self.afternoon {
            Some(true) if self.hour < 12 => self.hour += 12,
            Some(false) if self.hour == 12 => self.hour = 0,
            _ => {}
        }
        if let Some(year_day) = self.year_day {
            self.take_year_day(year_day)?;
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        if day < 1 || day > days_in_month(month, self.year) {
            return Err("day out of range");
        }
        let second_of_day = i64::from((self.hour * 60 + self.minute) * 60 + self.second);
        let in_zone = |zone| Time::of_civil(self.year, month, day, second_of_day, self.nanosecond, zone);
        if self.utc {
            return Ok(in_zone(Zone::Utc));
        }
        let reading = in_zone(Zone::Utc);
        let name = self.abbreviation.map(|name| String::from_utf8_lossy(&name).into_owned());
        let moved = |offset: i32, zone: Zone| Time {
            seconds: reading.seconds.saturating_sub(offset.into()),
            nanosecond: reading.nanosecond,
            zone,
        };
        // An offset of exactly one second west counts as none: Go marks "none" by that number.
        if let Some(offset) = self.offset.filter(|&offset| offset != -1) {
            let seconds = reading.seconds.saturating_sub(offset.into());
            let (local_name, local_offset) = local.at(seconds);
            let is_local = local_offset == offset && name.as_ref().is_none_or(|name| *name == local_name);
            let zone =
                if is_local { local.clone() } else { Zone::Fixed { name: name.unwrap_or_default(), offset } };
            return Ok(moved(offset, zone));
        }
        let Some(name) = name else { return Ok(in_zone(local.clone())) };
        if let Some(offset) = offset_of_name(local, &name, reading.seconds) {
            return Ok(moved(offset, local.clone()));
        }
        // A made-up zone. Go takes the reading for UTC here, whatever the offset behind `GMT`.
        let offset = name.strip_prefix("GMT").and_then(|hours| hours.parse::<i32>().ok()).unwrap_or(0) * 3600;
        Ok(reading.in_zone(Zone::Fixed { name, offset }))
    }

    fn take_year_day(&mut self, given: u32) -> Result<(), &'static str> {
        let length = 365 + u32::from(is_leap(self.year));
        if !(1..=length).contains(&given) {
            return Err("day-of-year out of range");
        }
        let (mut month, mut day) = (1, given);
        while day > days_in_month(month, self.year) {
            day -= days_in_month(month, self.year);
            month += 1;
        }
        if self.month.is_some_and(|known| known != month) {
            return Err("day-of-year does not match month");
        }
        if self.day.is_some_and(|known| known != day) {
            return Err("day-of-year does not match day");
        }
        (self.month, self.day) = (Some(month), Some(day));
        Ok(())
    }
}

fn within(number: u32, limit: u32, what: &'static str) -> Result<u32, Fault> {
    if number > limit { Err(Fault::Range(what)) } else { Ok(number) }
}

/// The length of a zone abbreviation at the start of `text`.
fn abbreviation_length(text: &[u8]) -> Option<usize> {
    if text.len() < 3 {
        return None;
    }
    if text.starts_with(b"ChST") || text.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(tail) = text.strip_prefix(b"GMT") {
        return Some(3 + signed_offset_length(tail).unwrap_or(0));
    }
    if text.starts_with(b"+") || text.starts_with(b"-") {
        return signed_offset_length(text);
    }
    let capitals = text.iter().take(6).take_while(|byte| byte.is_ascii_uppercase()).count();
    match capitals {
        3 => Some(3),
        4 if text[3] == b'T' || text.starts_with(b"WITA") => Some(4),
        5 if text[4] == b'T' => Some(5),
        _ => None,
    }
}

/// The length of an offset in hours such as `+3` or `-11`.
fn signed_offset_length(text: &[u8]) -> Option<usize> {
    let [b'+' | b'-', digits @ ..] = text else { return None };
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let hours: u64 = std::str::from_utf8(digits.get(..length)?).ok()?.parse().ok()?;
    (hours <= 23).then_some(length + 1)
}

/// The offset that an abbreviation means in a zone, by preference the one that held at that reading.
fn offset_of_name(zone: &Zone, name: &str, reading: i64) -> Option<i32> {
    let Zone::Named(rules) = zone else {
        let (known, offset) = zone.at(reading);
        return (known == name).then_some(offset);
    };
    let instant = within_rules(reading);
    // Zones change at most a few times a year; looking further than this serves old abbreviations only.
    let around = std::iter::once(zone.at(reading)).chain(
        rules
            .following(instant)
            .take(4)
            .chain(rules.preceding(instant).take(400))
            .map(|change| (change.abbreviation().to_owned(), change.offset().seconds()))
            .chain(std::iter::once_with(|| zone.at(i64::MIN))),
    );
    let candidates: Vec<i32> = around.filter(|(known, _)| known == name).map(|(_, offset)| offset).collect();
    candidates
        .iter()
        .find(|&&offset| zone.at(reading.saturating_sub(offset.into())).0 == name)
        .or(candidates.first())
        .copied()
}
