//! Go's `time`: instants in a zone, layouts such as `2006-01-02`, and durations.
//!
//! Reads no clock: an instant comes from the caller. The zone database is the bundled one, so that the same
//! name means the same rules on every machine.

mod duration;
mod layout;
mod parse;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

pub use duration::{
    DurationError, format_duration, parse_duration, round_duration, short_duration, truncate_duration,
};
pub use parse::{ParseError, parse_in};

/// A zone: what turns an instant into a clock reading (`*time.Location`).
#[derive(Clone, Debug, PartialEq)]
pub enum Zone {
    /// Coordinated universal time.
    Utc,
    /// A zone of the database.
    Named(TimeZone),
    /// A fixed offset, as text with an offset is read (`time.FixedZone`).
    Fixed {
        /// The abbreviation, often empty.
        name: String,
        /// Seconds east of UTC.
        offset: i32,
    },
}

impl Zone {
    /// Returns the zone of this name (`time.LoadLocation`), nothing if there is none; `local` is the zone that
    /// `Local` means. Names are case-sensitive.
    pub fn load(name: &str, local: &Zone) -> Option<Zone> {
        static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
        match name {
            "" | "UTC" => Some(Zone::Utc),
            "Local" => Some(local.clone()),
            _ => DATABASE.get(name).ok().filter(|zone| zone.iana_name() == Some(name)).map(Zone::Named),
        }
    }

    /// Returns the abbreviation and the offset in seconds that hold at an instant.
    fn at(&self, seconds: i64) -> (String, i32) {
        match self {
            Zone::Utc => ("UTC".to_owned(), 0),
            Zone::Fixed { name, offset } => (name.clone(), *offset),
            Zone::Named(zone) => {
                let info = zone.to_offset_info(within_rules(seconds));
                (info.abbreviation().to_owned(), info.offset().seconds())
            }
        }
    }
}

/// The instant to ask the zone rules about: after the year 9999 the calendar's cycle of 400 years is used.
fn within_rules(seconds: i64) -> Timestamp {
    let (earliest, latest) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    let cycle = 146_097 * DAY;
    let seconds = if seconds > latest {
        latest - cycle + (seconds - latest).rem_euclid(cycle)
    } else {
        seconds.max(earliest)
    };
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl From<TimeZone> for Zone {
    fn from(zone: TimeZone) -> Self {
        if zone == TimeZone::UTC { Zone::Utc } else { Zone::Named(zone) }
    }
}

/// An instant with nanoseconds, shown in a zone (`time.Time`). Equality is of both, not of the instant alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// Seconds since 1970 in UTC.
    seconds: i64,
    nanosecond: u32,
    zone: Zone,
}

/// A clock and calendar reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Year, astronomical.
    pub year: i64,
    /// Month from 1.
    pub month: u32,
    /// Day of the month from 1.
    pub day: u32,
    /// Day of the year from 1.
    pub year_day: u32,
    /// Day of the week, Sunday is 0.
    pub weekday: u32,
    /// Hour from 0.
    pub hour: u32,
    /// Minute from 0.
    pub minute: u32,
    /// Second from 0.
    pub second: u32,
}

const DAY: i64 = 86_400;

impl Time {
    /// Returns the instant this many seconds after 1970 (`time.Unix`).
    pub fn unix(seconds: i64, zone: Zone) -> Time {
        Time { seconds, nanosecond: 0, zone }
    }

    /// Returns Go's zero time: the start of the year 1 in UTC.
    pub fn zero() -> Time {
        Time::unix(-62_135_596_800, Zone::Utc)
    }

    /// Returns the instant and zone of a `jiff` time.
    pub fn from_zoned(zoned: &jiff::Zoned) -> Time {
        let instant = zoned.timestamp();
        let nanoseconds = instant.as_nanosecond();
        Time {
            seconds: i64::try_from(nanoseconds.div_euclid(1_000_000_000)).unwrap_or_default(),
            nanosecond: u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap_or_default(),
            zone: Zone::from(zoned.time_zone().clone()),
        }
    }

    /// Returns the instant of a clock reading in a zone (`time.Date`); in a gap or an overlap Go's choice.
    fn of_civil(year: i64, month: u32, day: u32, second_of_day: i64, nanosecond: u32, zone: Zone) -> Time {
        let reading = days_from_civil(year, month, day).saturating_mul(DAY).saturating_add(second_of_day);
        let (_, guess) = zone.at(reading);
        let (_, offset) = zone.at(reading.saturating_sub(guess.into()));
        Time { seconds: reading.saturating_sub(offset.into()), nanosecond, zone }
    }

    /// Returns the same instant in another zone (`In`).
    pub fn in_zone(&self, zone: Zone) -> Time {
        Time { zone, ..self.clone() }
    }

    /// Returns the instant this many nanoseconds later (`Add`).
    pub fn add(&self, duration: i64) -> Time {
        let nanoseconds = i64::from(self.nanosecond) + duration % 1_000_000_000;
        let seconds = self.seconds.saturating_add(duration / 1_000_000_000);
        Time {
            seconds: seconds.saturating_add(nanoseconds.div_euclid(1_000_000_000)),
            nanosecond: u32::try_from(nanoseconds.rem_euclid(1_000_000_000)).unwrap_or_default(),
            zone: self.zone.clone(),
        }
    }

    /// Returns the same clock reading so many years, months and days later (`AddDate`); a day that the month
    /// does not have runs on into the next one.
    pub fn add_date(&self, years: i64, months: i64, days: i64) -> Time {
        let civil = self.civil();
        let month = i64::from(civil.month - 1).saturating_add(months);
        let year = civil.year.saturating_add(years).saturating_add(month.div_euclid(12));
        // Within what the calendar arithmetic can hold; Go's answers beyond are meaningless.
        let year = year.clamp(-290_000_000_000, 290_000_000_000);
        let month = u32::try_from(month.rem_euclid(12)).unwrap_or(0) + 1;
        let seconds = i64::from((civil.hour * 60 + civil.minute) * 60 + civil.second);
        let days = i64::from(civil.day).saturating_add(days).saturating_sub(1);
        let seconds = days.saturating_mul(DAY).saturating_add(seconds);
        Time::of_civil(year, month, 1, seconds, self.nanosecond, self.zone.clone())
    }

    /// Returns the nanoseconds from `earlier` to this instant, at most what a duration holds (`Sub`).
    pub fn since(&self, earlier: &Time) -> i64 {
        let seconds = i128::from(self.seconds) - i128::from(earlier.seconds);
        let nanoseconds = i128::from(self.nanosecond) - i128::from(earlier.nanosecond);
        let total = seconds * 1_000_000_000 + nanoseconds;
        i64::try_from(total).unwrap_or(if total < 0 { i64::MIN } else { i64::MAX })
    }

    /// Seconds since 1970 (`Unix`).
    pub fn unix_seconds(&self) -> i64 {
        self.seconds
    }

    /// Nanoseconds within the second (`Nanosecond`).
    pub fn nanosecond(&self) -> u32 {
        self.nanosecond
    }

    /// The zone that the instant is shown in (`Location`).
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The abbreviation and the offset in seconds that hold (`Zone`).
    pub fn abbreviation_and_offset(&self) -> (String, i32) {
        self.zone.at(self.seconds)
    }

    /// Tells whether this is Go's zero time (`IsZero`).
    pub fn is_zero(&self) -> bool {
        (self.seconds, self.nanosecond) == (Time::zero().seconds, 0)
    }

    /// Tells whether both are the same instant, whatever the zones (`Equal`), or which is earlier.
    pub fn cmp_instant(&self, other: &Time) -> std::cmp::Ordering {
        (self.seconds, self.nanosecond).cmp(&(other.seconds, other.nanosecond))
    }

    /// The clock and calendar reading in the zone.
    pub fn civil(&self) -> Civil {
        let (_, offset) = self.zone.at(self.seconds);
        let reading = self.seconds.saturating_add(offset.into());
        let (days, second) = (reading.div_euclid(DAY), reading.rem_euclid(DAY));
        let (year, month, day) = civil_from_days(days);
        let small = |number: i64| u32::try_from(number).unwrap_or_default();
        Civil {
            year,
            month,
            day,
            year_day: small(days - days_from_civil(year, 1, 1) + 1),
            weekday: small((days + 4).rem_euclid(7)),
            hour: small(second / 3600),
            minute: small(second / 60 % 60),
            second: small(second % 60),
        }
    }

    /// Writes the instant by a layout (`Format`).
    pub fn format(&self, layout: &[u8]) -> Vec<u8> {
        layout::format(self, layout)
    }

    /// The text of `%v` (`String`), without Go's reading of the monotonic clock.
    pub fn to_text(&self) -> String {
        let text = self.format(b"2006-01-02 15:04:05.999999999 -0700 MST");
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The text in JSON (`MarshalJSON`, RFC 3339).
    pub fn to_rfc3339(&self) -> String {
        let text = self.format(b"2006-01-02T15:04:05.999999999Z07:00");
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Days from 1970 to a date of the Gregorian calendar, extended in both directions.
///
/// Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": years that start in March, eras of
/// 400 years.
fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * i64::from((month + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let small = |number: i64| u32::try_from(number).unwrap_or_default();
    let day = small(day_of_year - (153 * shifted_month + 2) / 5 + 1);
    let month = small(if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 });
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(month: u32, year: i64) -> u32 {
    match month {
        2 => 28 + u32::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
