//! Windows of time in which scheduled runs may change something: cron expressions in a time zone.
//!
//! Five fields as in Vixie cron: minute, hour, day of the month, month, day of the week. `*`, lists, ranges, steps, and the
//! first three letters of months and weekdays; 0 and 7 are Sunday. Where both days are given, either is enough. Knows no
//! clock: the time is a parameter.

use super::fields::{Context, Fields, wrong_type};
use super::problems::{Code, Problem};
use super::tree::{Kind, Node, join};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::time::Duration;

/// The longest window: longer ones would never close.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);
/// How far ahead the next window is looked for: a 29th of February on a given weekday comes within 40 years at most, and
/// a day that never comes, such as the 31st of February, is refused.
const DAYS_AHEAD: i64 = 366 * 8;

/// A window.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    cron: Cron,
    /// How long it stays open.
    pub length: Duration,
    zone: TimeZone,
    /// How it is written, for messages.
    pub shown: String,
}

impl Window {
    /// Tells whether the window is open at a moment.
    pub fn is_open(&self, now: Timestamp) -> bool {
        let length = SignedDuration::try_from(self.length).unwrap_or(SignedDuration::ZERO);
        let Ok(from) = now.checked_sub(length) else { return false };
        let (from, to) = (self.day_of(from), self.day_of(now));
        let mut day = from;
        while day <= to {
            let opened = self.openings(day).any(|start| start <= now && now.duration_since(start) < length);
            if opened {
                return true;
            }
            match day.tomorrow() {
                Ok(next) => day = next,
                Err(_) => return false,
            }
        }
        false
    }

    /// Returns when the window opens next after a moment; nothing where it does not within eight years.
    pub fn opens_after(&self, now: Timestamp) -> Option<Timestamp> {
        let mut day = self.day_of(now);
        for _ in 0..DAYS_AHEAD {
            if let Some(start) = self.openings(day).filter(|start| *start > now).min() {
                return Some(start);
            }
            day = day.tomorrow().ok()?;
        }
        None
    }

    fn day_of(&self, at: Timestamp) -> Date {
        at.to_zoned(self.zone.clone()).date()
    }

    /// When it opens on a day. An hour that a clock change leaves out counts as the one after it.
    fn openings(&self, day: Date) -> impl Iterator<Item = Timestamp> + '_ {
        let cron = &self.cron;
        let hours =
            (0..24).filter(move |_| cron.has_day(day)).filter(|hour| self.cron.hours >> hour & 1 == 1);
        hours.flat_map(move |hour: i8| {
            let minutes = (0..60).filter(|minute| self.cron.minutes >> minute & 1 == 1);
            minutes.filter_map(move |minute: i8| {
                let local = day.at(hour, minute, 0, 0).to_zoned(self.zone.clone()).ok()?;
                Some(local.timestamp())
            })
        })
    }
}

/// Which minutes a cron expression names: a bit for each value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether both days are given, so that either is enough.
    either_day: bool,
}

impl Cron {
    fn parse(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields.as_slice() else {
            return Err("not five fields".to_owned());
        };
        let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
        let weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
        let mut weekday_bits = field("day of the week", weekday, (0, 7), &weekdays)?;
        // 7 is Sunday too.
        weekday_bits = (weekday_bits | (weekday_bits >> 7 & 1)) & 0x7f;
        let is_any = |field: &str| field.starts_with('*');
        Ok(Self {
            minutes: field("minute", minute, (0, 59), &[])?,
            hours: field("hour", hour, (0, 23), &[])?,
            days: field("day of the month", day, (1, 31), &[])?,
            months: field("month", month, (1, 12), &months)?,
            weekdays: weekday_bits,
            either_day: !is_any(day) && !is_any(weekday),
        })
    }

    fn has_day(&self, day: Date) -> bool {
        let in_month = self.months >> day.month() & 1 == 1;
        let by_month = self.days >> day.day() & 1 == 1;
        let by_week = self.weekdays >> day.weekday().to_sunday_zero_offset() & 1 == 1;
        in_month && if self.either_day { by_month || by_week } else { by_month && by_week }
    }
}

/// Reads one field into bits. `names` stand for numbers from the lowest one on.
fn field(what: &str, text: &str, (low, high): (u8, u8), names: &[&str]) -> Result<u64, String> {
    let bad = |part: &str| format!("`{part}` is no {what}: it goes from {low} to {high}");
    let number = |word: &str| -> Option<u8> {
        let named = names.iter().position(|name| name.eq_ignore_ascii_case(word));
        let value = match named {
            Some(at) => u8::try_from(at).ok()?.checked_add(low)?,
            None if word.bytes().all(|b| b.is_ascii_digit()) => word.parse().ok()?,
            None => return None,
        };
        (low..=high).contains(&value).then_some(value)
    };
    let mut bits = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => {
                (range, step.parse().ok().filter(|step| *step > 0).ok_or_else(|| bad(part))?)
            }
            None => (part, 1_usize),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (low, high),
            Some((from, to)) => {
                (number(from).ok_or_else(|| bad(part))?, number(to).ok_or_else(|| bad(part))?)
            }
            // `5/10` goes on to the end, as in cron.
            None => {
                let from = number(range).ok_or_else(|| bad(part))?;
                (from, if part.contains('/') { high } else { from })
            }
        };
        if from > to {
            return Err(format!("`{part}` goes backwards"));
        }
        for value in (from..=to).step_by(step) {
            bits |= 1 << value;
        }
    }
    Ok(bits)
}

/// Reads `settings.windows`.
pub(super) fn windows(settings: &Fields<'_>, cx: &mut Context<'_, '_>) -> Vec<Window> {
    let Some((items, path)) = settings.list("windows", cx) else { return Vec::new() };
    let items = items.iter().enumerate();
    items.filter_map(|(at, item)| window(item, &format!("{path}[{at}]"), cx)).collect()
}

fn window(item: &Node, path: &str, cx: &mut Context<'_, '_>) -> Option<Window> {
    let Kind::Map(table) = &item.kind else {
        return wrong_type(item, path, "a table with `cron` and `length`", cx);
    };
    let fields = Fields::new(table, path);
    for key in ["cron", "length"].iter().filter(|key| fields.get(key).is_none()) {
        let message = format!("`{key}` is missing");
        cx.report.problem(Problem::new(Code::MissingKey, path, message, item.span).conceal(true));
    }
    let cron = fields.text("cron", cx);
    let length = fields.duration("length", cx);
    let zone = fields.text("zone", cx);
    let mut bad = |key: &str, message: String, span, hint: &str| {
        cx.report.problem(Problem::new(Code::BadValue, join(path, key), message, span).hint(hint));
    };
    let parsed = cron.as_ref().and_then(|at| match Cron::parse(&at.value.value) {
        Ok(cron) => Some(cron),
        Err(why) => {
            let hint = "such as \"0 2 * * 1-5\": minute, hour, day, month, weekday";
            bad("cron", why, at.span, hint);
            None
        }
    });
    let name = zone.as_ref().map_or("UTC", |at| at.value.value.as_str());
    let found = match TimeZone::get(name) {
        Ok(found) => Some(found),
        Err(_) => {
            let shown = zone.as_ref().map_or("UTC", |at| at.value.shown());
            let span = zone.as_ref().map_or(item.span, |at| at.span);
            bad("zone", format!("`{shown}` is no time zone"), span, "such as \"Europe/Berlin\" or \"UTC\"");
            None
        }
    };
    let length = length.filter(|at| {
        let fits = !at.value.is_zero() && at.value <= LONGEST;
        if !fits {
            bad(
                "length",
                "it has to be longer than nothing and at most 7 days".to_owned(),
                at.span,
                "such as \"3h\"",
            );
        }
        fits
    });
    let shown = format!("{} {name}", cron.as_ref().map_or("", |at| at.value.shown()));
    let span = cron.as_ref().map_or(item.span, |at| at.span);
    let window = Window { cron: parsed?, length: length?.value, zone: found?, shown };
    // Any moment does: the days of the months do not change.
    if window.opens_after(Timestamp::UNIX_EPOCH).is_none() {
        bad("cron", "that day never comes".to_owned(), span, "such as \"0 2 * * 1-5\"");
        return None;
    }
    Some(window)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cron: &str, length: u64, zone: &str) -> Window {
        let (cron, zone) = (Cron::parse(cron).unwrap(), TimeZone::get(zone).unwrap());
        Window { cron, length: Duration::from_secs(length * 60), zone, shown: String::new() }
    }

    #[test]
    fn fields_are_read_as_in_cron() {
        for (text, expected) in [
            ("0 2 * * 1-5", Ok(())),
            ("*/15 0-6,22 1,15 JAN-mar sun", Ok(())),
            ("5/20 * * * 7", Ok(())),
            ("0 2 * *", Err("not five fields")),
            ("60 * * * *", Err("`60` is no minute: it goes from 0 to 59")),
            ("0 2 0 * *", Err("`0` is no day of the month: it goes from 1 to 31")),
            ("0 5-2 * * *", Err("`5-2` goes backwards")),
            ("0 */0 * * *", Err("`*/0` is no hour: it goes from 0 to 23")),
            ("0 2 * * fry", Err("`fry` is no day of the week: it goes from 0 to 7")),
            ("-1 * * * *", Err("`-1` is no minute: it goes from 0 to 59")),
            ("1- * * * *", Err("`1-` is no minute: it goes from 0 to 59")),
        ] {
            let found = Cron::parse(text).map(drop);
            assert_eq!(found, expected.map_err(str::to_owned), "{text}");
        }
        let cron = Cron::parse("5/20 * * * 7").unwrap();
        assert_eq!((cron.minutes, cron.weekdays), (1 << 5 | 1 << 25 | 1 << 45, 1));
    }

    #[test]
    fn a_window_is_open_from_its_minute_on_for_its_length() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let nights = window("0 22 * * 1-5", 8 * 60, "Europe/Berlin");
        for (now, open) in [
            // A Monday in winter: 22:00 there is 21:00 UTC.
            ("2026-01-05T20:59:59Z", false),
            ("2026-01-05T21:00:00Z", true),
            ("2026-01-06T04:59:59Z", true),
            ("2026-01-06T05:00:00Z", false),
            // In summer it is 20:00 UTC.
            ("2026-07-06T20:00:00Z", true),
            // Friday night goes into Saturday; Saturday has none.
            ("2026-01-10T03:00:00Z", true),
            ("2026-01-10T22:00:00Z", false),
        ] {
            assert_eq!(nights.is_open(at(now)), open, "{now}");
        }
        assert_eq!(nights.opens_after(at("2026-01-09T21:00:00Z")), Some(at("2026-01-12T21:00:00Z")));
        // The hour that is left out in spring, and the one that comes twice in autumn.
        let spring = window("30 2 29 3 *", 60, "Europe/Berlin");
        assert!(spring.is_open(at("2026-03-29T01:45:00Z")) && !spring.is_open(at("2026-03-29T00:45:00Z")));
        let leap = window("0 0 29 2 *", 60, "UTC");
        assert_eq!(leap.opens_after(at("2026-01-01T00:00:00Z")), Some(at("2028-02-29T00:00:00Z")));
        assert_eq!(window("0 0 31 2 *", 60, "UTC").opens_after(at("2026-01-01T00:00:00Z")), None);
        // Either day is enough where both are given.
        let either = window("0 0 13 * fri", 60, "UTC");
        assert!(either.is_open(at("2026-01-13T00:30:00Z")) && either.is_open(at("2026-01-16T00:30:00Z")));
    }
}
