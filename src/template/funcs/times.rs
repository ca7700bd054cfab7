//! Go's `time.Time` and `time.Duration` as template values, with the methods that templates can call.

use std::cmp::Ordering;

use crate::go::time::{Time, Zone, format_duration, round_duration, truncate_duration};
use crate::template::call::{FuncError, FuncResult, any, int, text};
use crate::template::types::{Kind, Type};
use crate::template::value::{Method, Object, Val, receiver};
use crate::value::Value;

/// The parameter type `time.Time`.
pub(super) const TIME: Type = Type::Named("time.Time", Kind::Struct);
/// The parameter type `time.Duration`.
const DURATION: Type = Type::Named("time.Duration", Kind::Int64);

/// A `time.Time`.
#[derive(Debug)]
pub(super) struct TimeObject(pub(super) Time);

/// A `time.Duration`, in nanoseconds.
#[derive(Debug)]
pub(super) struct DurationObject(pub(super) i64);

/// A number with a name of its own: `time.Month` or `time.Weekday`.
#[derive(Debug)]
struct Named {
    type_name: &'static str,
    number: i64,
    name: &'static str,
}

const MONTHS: [&str; 12] = [
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
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// The time in argument `index`, which is of type [`TIME`].
pub(super) fn time(args: &[Val], index: usize) -> Result<&Time, FuncError> {
    match any(args, index) {
        Val::Object(object) => Ok(&receiver::<TimeObject>(object.as_ref())?.0),
        other => Err(crate::template::call::wrong_type(TIME, other)),
    }
}

fn duration(args: &[Val], index: usize) -> Result<i64, FuncError> {
    match any(args, index) {
        Val::Object(object) => Ok(receiver::<DurationObject>(object.as_ref())?.0),
        // A literal is turned into the type of the parameter.
        other => int(std::slice::from_ref(other), 0),
    }
}

/// Describes methods by code that sees the value itself.
macro_rules! methods {
    ($object:ident: $($name:literal, $params:expr, |$receiver:ident, $args:ident| $code:expr;)*) => {
        &[$(Method {
            name: $name,
            params: $params,
            variadic: false,
            call: |_, object, $args| {
                let $receiver = &receiver::<$object>(object)?.0;
                $code
            },
        }),*]
    };
}

static TIME_METHODS: &[Method] = methods! { TimeObject:
    "Format", &[Type::STRING], |time, args| Ok(Val::str(time.format(text(args, 0)?)));
    "String", &[], |time, _args| Ok(Val::from(time.to_text()));
    "Unix", &[], |time, _args| Ok(Val::Int64(time.unix_seconds()));
    "UnixMilli", &[], |time, _args| Ok(Val::Int64(unix(time, 1000)));
    "UnixMicro", &[], |time, _args| Ok(Val::Int64(unix(time, 1_000_000)));
    "UnixNano", &[], |time, _args| Ok(Val::Int64(unix(time, 1_000_000_000)));
    "Year", &[], |time, _args| Ok(Val::Int(time.civil().year));
    "Month", &[], |time, _args| Ok(named("time.Month", time.civil().month, 1, &MONTHS));
    "Day", &[], |time, _args| Ok(Val::Int(time.civil().day.into()));
    "YearDay", &[], |time, _args| Ok(Val::Int(time.civil().year_day.into()));
    "Weekday", &[], |time, _args| Ok(named("time.Weekday", time.civil().weekday, 0, &DAYS));
    "Hour", &[], |time, _args| Ok(Val::Int(time.civil().hour.into()));
    "Minute", &[], |time, _args| Ok(Val::Int(time.civil().minute.into()));
    "Second", &[], |time, _args| Ok(Val::Int(time.civil().second.into()));
    "Nanosecond", &[], |time, _args| Ok(Val::Int(time.nanosecond().into()));
    "UTC", &[], |time, _args| Ok(Val::object(TimeObject(time.in_zone(Zone::Utc))));
    "IsZero", &[], |time, _args| Ok(Val::Bool(time.is_zero()));
    "Equal", &[TIME], |time, args| Ok(Val::Bool(compared(time, args)?.is_eq()));
    "Before", &[TIME], |time, args| Ok(Val::Bool(compared(time, args)?.is_lt()));
    "After", &[TIME], |time, args| Ok(Val::Bool(compared(time, args)?.is_gt()));
    "Compare", &[TIME], |time, args| Ok(Val::Int(match compared(time, args)? {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }));
    "Sub", &[TIME], |time, args| Ok(Val::object(DurationObject(time.since(self::time(args, 0)?))));
    "Add", &[DURATION], |time, args| Ok(Val::object(TimeObject(time.add(duration(args, 0)?))));
    "AddDate", &[Type::INT, Type::INT, Type::INT], |time, args| {
        let moved = time.add_date(int(args, 0)?, int(args, 1)?, int(args, 2)?);
        Ok(Val::object(TimeObject(moved)))
    };
};

static DURATION_METHODS: &[Method] = methods! { DurationObject:
    "String", &[], |duration, _args| Ok(Val::from(format_duration(*duration)));
    "Nanoseconds", &[], |duration, _args| Ok(Val::Int64(*duration));
    "Microseconds", &[], |duration, _args| Ok(Val::Int64(duration / 1_000));
    "Milliseconds", &[], |duration, _args| Ok(Val::Int64(duration / 1_000_000));
    "Seconds", &[], |duration, _args| Ok(Val::Float(in_units(*duration, 1)));
    "Minutes", &[], |duration, _args| Ok(Val::Float(in_units(*duration, 60)));
    "Hours", &[], |duration, _args| Ok(Val::Float(in_units(*duration, 3600)));
    "Abs", &[], |duration, _args| Ok(Val::object(DurationObject(duration.saturating_abs())));
    "Round", &[DURATION], |d, args| Ok(Val::object(DurationObject(round_duration(*d, duration(args, 0)?))));
    "Truncate", &[DURATION], |d, args| {
        Ok(Val::object(DurationObject(truncate_duration(*d, duration(args, 0)?))))
    };
};

fn unix(time: &Time, fraction: i64) -> i64 {
    let part = i64::from(time.nanosecond()) / (1_000_000_000 / fraction);
    time.unix_seconds().wrapping_mul(fraction).wrapping_add(part)
}

/// A duration in units of so many seconds: whole units and the rest are divided apart, as in Go.
#[expect(clippy::cast_precision_loss, reason = "the same rounding as in Go")]
pub(super) fn in_units(duration: i64, seconds: i64) -> f64 {
    let unit = seconds * 1_000_000_000;
    (duration / unit) as f64 + (duration % unit) as f64 / unit as f64
}

fn compared(time: &Time, args: &[Val]) -> Result<Ordering, FuncError> {
    Ok(time.cmp_instant(self::time(args, 0)?))
}

fn named(type_name: &'static str, number: u32, first: u32, names: &[&'static str]) -> Val {
    let index = usize::try_from(number.saturating_sub(first)).unwrap_or(0);
    let name = names.get(index).copied().unwrap_or_default();
    Val::object(Named { type_name, number: number.into(), name })
}

impl Object for TimeObject {
    fn type_name(&self) -> &'static str {
        "time.Time"
    }

    fn method(&self, name: &str) -> Option<&'static Method> {
        TIME_METHODS.iter().find(|method| method.name == name)
    }

    fn formatted(&self) -> Option<String> {
        Some(self.0.to_text())
    }

    fn to_value(&self) -> Value {
        Value::Str(self.0.to_rfc3339())
    }

    fn equals(&self, other: &(dyn Object + 'static)) -> bool {
        receiver::<TimeObject>(other).is_ok_and(|other| self.0 == other.0)
    }
}

impl Object for DurationObject {
    fn type_name(&self) -> &'static str {
        "time.Duration"
    }

    fn kind(&self) -> Kind {
        Kind::Int64
    }

    fn method(&self, name: &str) -> Option<&'static Method> {
        DURATION_METHODS.iter().find(|method| method.name == name)
    }

    fn underlying(&self) -> Option<Val> {
        Some(Val::Int64(self.0))
    }

    fn formatted(&self) -> Option<String> {
        Some(format_duration(self.0))
    }

    fn equals(&self, other: &(dyn Object + 'static)) -> bool {
        receiver::<DurationObject>(other).is_ok_and(|other| self.0 == other.0)
    }
}

impl Object for Named {
    fn type_name(&self) -> &'static str {
        self.type_name
    }

    fn kind(&self) -> Kind {
        Kind::Int
    }

    fn method(&self, name: &str) -> Option<&'static Method> {
        static METHODS: &[Method] = &[Method {
            name: "String",
            params: &[],
            variadic: false,
            call: |_, object, _| -> FuncResult { Ok(Val::str(receiver::<Named>(object)?.name)) },
        }];
        METHODS.iter().find(|method| method.name == name)
    }

    fn underlying(&self) -> Option<Val> {
        Some(Val::Int(self.number))
    }

    fn formatted(&self) -> Option<String> {
        Some(self.name.to_owned())
    }

    fn equals(&self, other: &(dyn Object + 'static)) -> bool {
        receiver::<Named>(other)
            .is_ok_and(|other| (self.type_name, self.number) == (other.type_name, other.number))
    }
}
