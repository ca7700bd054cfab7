//! Layouts: the reference time `Mon Jan 2 15:04:05 MST 2006` in pieces, and writing by them.

use super::Time;

/// English names of the months.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// English names of the days, Sunday first.
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// An element of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    LongMonth,
    Month,
    NumMonth,
    ZeroMonth,
    LongWeekDay,
    WeekDay,
    Day,
    UnderDay,
    ZeroDay,
    UnderYearDay,
    ZeroYearDay,
    Hour,
    Hour12,
    ZeroHour12,
    Minute,
    ZeroMinute,
    Second,
    ZeroSecond,
    LongYear,
    Year,
    Pm,
    LowerPm,
    Abbreviation,
    Offset(Offset),
    /// Digits of the fraction: their number, whether zeros at the end are kept, the separator.
    Fraction {
        digits: usize,
        fixed: bool,
        separator: u8,
    },
}

/// How an offset is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset {
    /// `Z` stands for an offset of zero.
    pub(super) z_for_zero: bool,
    pub(super) colon: bool,
    /// Hours, then minutes, then seconds: how many of the three there are.
    pub(super) parts: u8,
}

/// The offset forms, without the first character, in the order in which they are tried.
const OFFSETS: [(&[u8], bool, u8); 5] = [
    (b"070000", false, 3),
    (b"07:00:00", true, 3),
    (b"0700", false, 2),
    (b"07:00", true, 2),
    (b"07", false, 1),
];

/// Finds the first element of a layout: the literal text before it, the element with its own text's length,
/// and where it starts. No element: the whole is literal.
pub(super) fn next_element(layout: &[u8]) -> Option<(usize, Element, usize)> {
    (0..layout.len()).find_map(|start| {
        let (skip, element, length) = element_at(layout.get(start..)?)?;
        Some((start + skip, element, length))
    })
}

/// The element at the very start: characters to pass over first, the element, its length.
fn element_at(text: &[u8]) -> Option<(usize, Element, usize)> {
    let at = |element, length| Some((0, element, length));
    // "Jan" and "Mon" are no elements when a longer word goes on, such as "January" does.
    let word_ends = |length: usize| !text.get(length).is_some_and(u8::is_ascii_lowercase);
    match text {
        [b'J', ..] if text.starts_with(b"January") => at(Element::LongMonth, 7),
        [b'J', ..] if text.starts_with(b"Jan") && word_ends(3) => at(Element::Month, 3),
        [b'M', ..] if text.starts_with(b"Monday") => at(Element::LongWeekDay, 6),
        [b'M', ..] if text.starts_with(b"Mon") && word_ends(3) => at(Element::WeekDay, 3),
        [b'M', ..] if text.starts_with(b"MST") => at(Element::Abbreviation, 3),
        [b'0', b'1', ..] => at(Element::ZeroMonth, 2),
        [b'0', b'2', ..] => at(Element::ZeroDay, 2),
        [b'0', b'3', ..] => at(Element::ZeroHour12, 2),
        [b'0', b'4', ..] => at(Element::ZeroMinute, 2),
        [b'0', b'5', ..] => at(Element::ZeroSecond, 2),
        [b'0', b'6', ..] => at(Element::Year, 2),
        [b'0', b'0', b'2', ..] => at(Element::ZeroYearDay, 3),
        [b'1', b'5', ..] => at(Element::Hour, 2),
        [b'1', ..] => at(Element::NumMonth, 1),
        [b'2', ..] if text.starts_with(b"2006") => at(Element::LongYear, 4),
        [b'2', ..] => at(Element::Day, 1),
        // An underscore before the long year is only an underscore.
        [b'_', ..] if text.starts_with(b"_2006") => Some((1, Element::LongYear, 4)),
        [b'_', b'2', ..] => at(Element::UnderDay, 2),
        [b'_', b'_', b'2', ..] => at(Element::UnderYearDay, 3),
        [b'3', ..] => at(Element::Hour12, 1),
        [b'4', ..] => at(Element::Minute, 1),
        [b'5', ..] => at(Element::Second, 1),
        [b'P', b'M', ..] => at(Element::Pm, 2),
        [b'p', b'm', ..] => at(Element::LowerPm, 2),
        [sign @ (b'-' | b'Z'), tail @ ..] => {
            let &(form, colon, parts) = OFFSETS.iter().find(|(form, _, _)| tail.starts_with(form))?;
            let offset = Offset { z_for_zero: *sign == b'Z', colon, parts };
            at(Element::Offset(offset), form.len() + 1)
        }
        [separator @ (b'.' | b','), digit @ (b'0' | b'9'), ..] => {
            let digits = text[1..].iter().take_while(|&other| other == digit).count();
            // The fraction must be all of the digits there.
            if text.get(digits + 1).is_some_and(u8::is_ascii_digit) {
                return None;
            }
            at(Element::Fraction { digits, fixed: *digit == b'0', separator: *separator }, digits + 1)
        }
        _ => None,
    }
}

/// Writes an instant by a layout (`Time.Format`).
pub(super) fn format(time: &Time, mut layout: &[u8]) -> Vec<u8> {
    let civil = time.civil();
    let (abbreviation, offset) = time.abbreviation_and_offset();
    let mut out = Vec::with_capacity(layout.len() + 10);
    while let Some((start, element, length)) = next_element(layout) {
        out.extend_from_slice(&layout[..start]);
        layout = layout.get(start + length..).unwrap_or_default();
        let month = usize::try_from(civil.month).unwrap_or(1).saturating_sub(1);
        let month = MONTHS.get(month).copied().unwrap_or_default();
        let weekday =
            usize::try_from(civil.weekday).ok().and_then(|day| DAYS.get(day)).copied().unwrap_or_default();
        let hour12 = if civil.hour.is_multiple_of(12) { 12 } else { civil.hour % 12 };
        let text = match element {
            Element::LongMonth => month.to_owned(),
            Element::Month => month.get(..3).unwrap_or_default().to_owned(),
            Element::NumMonth => civil.month.to_string(),
            Element::ZeroMonth => format!("{:02}", civil.month),
            Element::LongWeekDay => weekday.to_owned(),
            Element::WeekDay => weekday.get(..3).unwrap_or_default().to_owned(),
            Element::Day => civil.day.to_string(),
            Element::UnderDay => format!("{:2}", civil.day),
            Element::ZeroDay => format!("{:02}", civil.day),
            Element::UnderYearDay => format!("{:3}", civil.year_day),
            Element::ZeroYearDay => format!("{:03}", civil.year_day),
            Element::Hour => format!("{:02}", civil.hour),
            Element::Hour12 => hour12.to_string(),
            Element::ZeroHour12 => format!("{hour12:02}"),
            Element::Minute => civil.minute.to_string(),
            Element::ZeroMinute => format!("{:02}", civil.minute),
            Element::Second => civil.second.to_string(),
            Element::ZeroSecond => format!("{:02}", civil.second),
            // The sign does not count as one of the four places.
            Element::LongYear if civil.year < 0 => format!("-{:04}", -civil.year),
            Element::LongYear => format!("{:04}", civil.year),
            Element::Year => format!("{:02}", civil.year.abs() % 100),
            Element::Pm => if civil.hour >= 12 { "PM" } else { "AM" }.to_owned(),
            Element::LowerPm => if civil.hour >= 12 { "pm" } else { "am" }.to_owned(),
            Element::Abbreviation if abbreviation.is_empty() => {
                write_offset(offset, Offset { z_for_zero: false, colon: false, parts: 2 })
            }
            Element::Abbreviation => abbreviation.clone(),
            Element::Offset(form) => write_offset(offset, form),
            Element::Fraction { digits, fixed, separator } => {
                write_fraction(time.nanosecond(), digits, fixed, separator)
            }
        };
        out.extend_from_slice(text.as_bytes());
    }
    out.extend_from_slice(layout);
    out
}

fn write_offset(offset: i32, form: Offset) -> String {
    if offset == 0 && form.z_for_zero {
        return "Z".to_owned();
    }
    // Go divides first and looks at the sign then, so less than a minute west has a plus sign.
    let minutes = offset / 60;
    let sign = if minutes < 0 { '-' } else { '+' };
    let seconds = if minutes < 0 { -offset } else { offset };
    let colon = if form.colon { ":" } else { "" };
    let minutes = minutes.abs();
    let (hours, minutes, seconds) = (minutes / 60, minutes % 60, seconds % 60);
    match form.parts {
        1 => format!("{sign}{hours:02}"),
        2 => format!("{sign}{hours:02}{colon}{minutes:02}"),
        _ => format!("{sign}{hours:02}{colon}{minutes:02}{colon}{seconds:02}"),
    }
}

fn write_fraction(nanosecond: u32, digits: usize, fixed: bool, separator: u8) -> String {
    let all = format!("{nanosecond:09}");
    let text = all.get(..digits.min(9)).unwrap_or_default();
    let text = if fixed { text } else { text.trim_end_matches('0') };
    if text.is_empty() { String::new() } else { format!("{}{text}", char::from(separator)) }
}
