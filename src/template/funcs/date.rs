//! Dates and durations. Source: sprig `date.go` and, for the duration helpers, Helm `pkg/engine/funcs.go`.

use crate::go::strconv::parse_float;
use crate::go::strings::trim_space;
use crate::go::time::{
    Time, Zone, format_duration, parse_duration, parse_in, round_duration, short_duration, truncate_duration,
};
use crate::template::call::{Context, Func, FuncError, FuncResult, any, text};
use crate::template::funcs::strings::clamped;
use crate::template::funcs::times::{DurationObject, TIME, TimeObject, in_units, time};
use crate::template::types::{Kind, Type};
use crate::template::value::{Number, Val, receiver};
use crate::value::number::format_g;

const ANY: Type = Type::Any;
const TEXT: Type = Type::STRING;
const SECOND: i64 = 1_000_000_000;
const HTML_LAYOUT: &[u8] = b"2006-01-02";

pub(super) static TABLE: &[Func] = &[
    Func::fixed("now", &[], |context, _| Ok(Val::object(TimeObject(now(context))))),
    Func::fixed("date", &[TEXT, ANY], |context, args| {
        let layout = text(args, 0)?.clone();
        shown(context, &layout, any(args, 1), None)
    }),
    Func::fixed("dateInZone", &[TEXT, ANY, TEXT], date_in_zone),
    Func::fixed("date_in_zone", &[TEXT, ANY, TEXT], date_in_zone),
    Func::fixed("htmlDate", &[ANY], |context, args| shown(context, HTML_LAYOUT, any(args, 0), None)),
    Func::fixed("htmlDateInZone", &[ANY, TEXT], |context, args| {
        let zone = text(args, 1)?.to_text().into_owned();
        shown(context, HTML_LAYOUT, any(args, 0), Some(&zone))
    }),
    Func::fixed("toDate", &[TEXT, TEXT], |context, args| {
        let read = parse_in(text(args, 0)?, text(args, 1)?, now(context).zone());
        Ok(Val::object(TimeObject(read.unwrap_or_else(|_| Time::zero()))))
    }),
    Func::fixed("mustToDate", &[TEXT, TEXT], |context, args| {
        let read = parse_in(text(args, 0)?, text(args, 1)?, now(context).zone());
        read.map(|time| Val::object(TimeObject(time))).map_err(|error| FuncError::new(error.to_string()))
    }),
    Func::fixed("dateModify", &[TEXT, TIME], date_modify),
    Func::fixed("date_modify", &[TEXT, TIME], date_modify),
    Func::fixed("mustDateModify", &[TEXT, TIME], must_date_modify),
    Func::fixed("must_date_modify", &[TEXT, TIME], must_date_modify),
    Func::fixed("ago", &[ANY], ago),
    Func::fixed("unixEpoch", &[TIME], |_, args| Ok(Val::from(time(args, 0)?.unix_seconds().to_string()))),
    Func::fixed("duration", &[ANY], |_, args| {
        // An `int` is not taken, as in sprig.
        let seconds = match any(args, 0) {
            Val::Str(text) => clamped(text),
            Val::Int64(number) => *number,
            _ => 0,
        };
        Ok(Val::from(format_duration(seconds.wrapping_mul(SECOND))))
    }),
    Func::fixed("durationRound", &[ANY], duration_round),
    Func::fixed("mustToDuration", &[ANY], |_, args| {
        Ok(Val::object(DurationObject(as_duration(any(args, 0)).map_err(FuncError::new)?)))
    }),
    Func::fixed("durationSeconds", &[ANY], |_, args| Ok(Val::Float(in_units(duration(args), 1)))),
    Func::fixed("durationMinutes", &[ANY], |_, args| Ok(Val::Float(in_units(duration(args), 60)))),
    Func::fixed("durationHours", &[ANY], |_, args| Ok(Val::Float(in_units(duration(args), 3600)))),
    Func::fixed("durationDays", &[ANY], |_, args| Ok(Val::Float(in_units(duration(args), 3600) / 24.0))),
    Func::fixed("durationWeeks", &[ANY], |_, args| {
        Ok(Val::Float(in_units(duration(args), 3600) / 24.0 / 7.0))
    }),
    Func::fixed("durationMilliseconds", &[ANY], |_, args| Ok(Val::Int64(duration(args) / 1_000_000))),
    Func::fixed("durationMicroseconds", &[ANY], |_, args| Ok(Val::Int64(duration(args) / 1_000))),
    Func::fixed("durationNanoseconds", &[ANY], |_, args| Ok(Val::Int64(duration(args)))),
    Func::fixed("durationRoundTo", &[ANY, ANY], |_, args| to_multiple(args, round_duration)),
    Func::fixed("durationTruncateTo", &[ANY, ANY], |_, args| to_multiple(args, truncate_duration)),
];

fn now(context: &mut Context<'_>) -> Time {
    Time::from_zoned(&context.host.now())
}

/// The instant that a value stands for: a time, or an integer of seconds. A number from a values file is
/// neither, so it stands for now, as in sprig.
fn instant(context: &mut Context<'_>, value: &Val, kinds: &[Kind]) -> Time {
    let now = now(context);
    let seconds = match value {
        Val::Object(object) => match receiver::<TimeObject>(object.as_ref()) {
            Ok(time) => return time.0.clone(),
            Err(_) => return now,
        },
        Val::Int(seconds) | Val::Int64(seconds) => *seconds,
        Val::Sized(kind, seconds) if kinds.contains(kind) => *seconds,
        _ => return now,
    };
    Time::unix(seconds, now.zone().clone())
}

/// The instant of a value by a layout, in a zone; an unknown zone means UTC, none the local one.
fn shown(context: &mut Context<'_>, layout: &[u8], value: &Val, zone: Option<&str>) -> FuncResult {
    let local = now(context).zone().clone();
    let zone = match zone {
        None => local,
        Some(name) => Zone::load(name, &local).unwrap_or(Zone::Utc),
    };
    Ok(Val::str(instant(context, value, &[Kind::Int32]).in_zone(zone).format(layout)))
}

fn date_in_zone(context: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let (layout, zone) = (text(args, 0)?.clone(), text(args, 2)?.to_text().into_owned());
    shown(context, &layout, any(args, 1), Some(&zone))
}

fn date_modify(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let time = time(args, 1)?;
    let moved = parse_duration(text(args, 0)?).map_or_else(|_| time.clone(), |duration| time.add(duration));
    Ok(Val::object(TimeObject(moved)))
}

fn must_date_modify(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let duration = parse_duration(text(args, 0)?).map_err(|error| FuncError::new(error.to_string()))?;
    Ok(Val::object(TimeObject(time(args, 1)?.add(duration))))
}

fn ago(context: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let passed = now(context).since(&instant(context, any(args, 0), &[]));
    Ok(Val::from(format_duration(round_duration(passed, SECOND))))
}

fn duration_round(context: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let duration = match any(args, 0) {
        Val::Str(text) => parse_duration(text).unwrap_or(0),
        Val::Int64(duration) => *duration,
        Val::Object(object) => match receiver::<TimeObject>(object.as_ref()) {
            Ok(time) => now(context).since(&time.0),
            Err(_) => 0,
        },
        _ => 0,
    };
    Ok(Val::from(short_duration(duration)))
}

/// Helm's reading of a value as a duration: a text of units or of seconds, or a number of seconds.
fn as_duration(value: &Val) -> Result<i64, String> {
    match value {
        Val::Nil => return Err("invalid duration".to_owned()),
        Val::Str(text) => {
            let trimmed = trim_space(text);
            if trimmed.is_empty() {
                return Err("empty duration".to_owned());
            }
            if let Ok(duration) = parse_duration(trimmed) {
                return Ok(duration);
            }
            let number = std::str::from_utf8(trimmed).ok().and_then(|text| parse_float(text).ok());
            let unreadable = || format!("could not parse duration {}", crate::go::strconv::quote(text));
            return of_float(number.ok_or_else(unreadable)?);
        }
        Val::Object(object) => {
            if let Ok(duration) = receiver::<DurationObject>(object.as_ref()) {
                return Ok(duration.0);
            }
        }
        _ => {}
    }
    match value.number() {
        Some(Number::Int(seconds)) => seconds.checked_mul(SECOND).ok_or_else(|| overflow(seconds)),
        Some(Number::Uint(seconds)) => {
            let duration = i64::try_from(seconds).ok().and_then(|seconds| seconds.checked_mul(SECOND));
            duration.ok_or_else(|| overflow(seconds))
        }
        Some(Number::Float(seconds)) => of_float(seconds),
        None => Err(format!("unsupported duration type {}", value.type_name())),
    }
}

fn overflow(seconds: impl std::fmt::Display) -> String {
    format!("duration seconds overflow: {seconds}")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "the same rounding as in Go; the range is checked before"
)]
fn of_float(seconds: f64) -> Result<i64, String> {
    if !seconds.is_finite() {
        return Err(format!("invalid duration seconds: {}", format_g(seconds)));
    }
    let limit = i64::MAX as f64 / SECOND as f64;
    if seconds > limit || seconds < i64::MIN as f64 / SECOND as f64 {
        return Err(overflow(format_g(seconds)));
    }
    // The one number just above the range becomes the smallest one in Go's conversion.
    let nanoseconds = seconds * SECOND as f64;
    Ok(if nanoseconds >= i64::MAX as f64 { i64::MIN } else { nanoseconds as i64 })
}

/// The duration in the first argument, 0 if it is none.
fn duration(args: &[Val]) -> i64 {
    as_duration(any(args, 0)).unwrap_or(0)
}

fn to_multiple(args: &[Val], operation: fn(i64, i64) -> i64) -> FuncResult {
    let rounded = match (as_duration(any(args, 0)), as_duration(any(args, 1))) {
        (Err(_), _) => 0,
        (Ok(duration), Err(_)) => duration,
        (Ok(duration), Ok(multiple)) => operation(duration, multiple),
    };
    Ok(Val::object(DurationObject(rounded)))
}
