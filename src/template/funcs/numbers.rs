//! Conversion to numbers and arithmetic. Source: sprig `numeric.go`, spf13/cast 1.7.0.

use crate::go::decimal::{Decimal, DecimalError};
use crate::go::strconv::{cast_int, parse_float, parse_int};
use crate::template::call::{Context, Func, FuncError, FuncResult, any, float, int};
use crate::template::fmt::to_text;
use crate::template::types::Type;
use crate::template::value::{List, Number, Val};

const ANY: Type = Type::Any;
const INT: Type = Type::INT;

pub(super) static TABLE: &[Func] = &[
    Func::fixed("int", &[ANY], |_, args| Ok(Val::Int(to_int(any(args, 0))))),
    Func::fixed("int64", &[ANY], |_, args| Ok(Val::Int64(to_int(any(args, 0))))),
    Func::fixed("float64", &[ANY], |_, args| Ok(Val::Float(to_float(any(args, 0))))),
    Func::fixed("toDecimal", &[ANY], |_, args| {
        Ok(Val::Int64(parse_int(&to_text(any(args, 0)), 8).unwrap_or_default()))
    }),
    Func::fixed("add1", &[ANY], |_, args| Ok(Val::Int64(to_int(any(args, 0)).wrapping_add(1)))),
    Func::variadic("add", &[ANY], |_, args| {
        Ok(Val::Int64(args.iter().map(to_int).fold(0, i64::wrapping_add)))
    }),
    Func::fixed("sub", &[ANY, ANY], |_, args| {
        Ok(Val::Int64(to_int(any(args, 0)).wrapping_sub(to_int(any(args, 1)))))
    }),
    Func::variadic("mul", &[ANY, ANY], |_, args| {
        Ok(Val::Int64(args.iter().map(to_int).fold(1, i64::wrapping_mul)))
    }),
    Func::fixed("div", &[ANY, ANY], |_, args| divide(args, i64::wrapping_div)),
    Func::fixed("mod", &[ANY, ANY], |_, args| divide(args, i64::wrapping_rem)),
    Func::variadic("max", &[ANY, ANY], |_, args| Ok(Val::Int64(args.iter().map(to_int).max().unwrap_or(0)))),
    Func::variadic("biggest", &[ANY, ANY], |_, args| {
        Ok(Val::Int64(args.iter().map(to_int).max().unwrap_or(0)))
    }),
    Func::variadic("min", &[ANY, ANY], |_, args| Ok(Val::Int64(args.iter().map(to_int).min().unwrap_or(0)))),
    Func::fixed("add1f", &[ANY], |_, args| decimals(&[any(args, 0).clone(), Val::Int(1)], Decimal::add)),
    Func::variadic("addf", &[ANY], |_, args| decimals(&[&[Val::Int(0)], args].concat(), Decimal::add)),
    Func::variadic("subf", &[ANY, ANY], |_, args| decimals(args, Decimal::sub)),
    Func::variadic("mulf", &[ANY, ANY], |_, args| decimals(args, Decimal::mul)),
    Func::variadic("divf", &[ANY, ANY], |_, args| decimals(args, Decimal::div)),
    Func::variadic("maxf", &[ANY, ANY], |_, args| {
        Ok(Val::Float(extreme(args, f64::INFINITY, |new, old| new > old)))
    }),
    Func::variadic("minf", &[ANY, ANY], |_, args| {
        Ok(Val::Float(extreme(args, f64::NEG_INFINITY, |new, old| new < old)))
    }),
    Func::fixed("floor", &[ANY], |_, args| Ok(Val::Float(to_float(any(args, 0)).floor()))),
    Func::fixed("ceil", &[ANY], |_, args| Ok(Val::Float(to_float(any(args, 0)).ceil()))),
    Func::variadic("round", &[ANY, INT, Type::FLOAT64], round),
    Func::fixed("until", &[INT], |context, args| {
        let count = int(args, 0)?;
        Ok(ints(range(context, 0, count, if count < 0 { -1 } else { 1 })?))
    }),
    Func::fixed("untilStep", &[INT, INT, INT], |context, args| {
        Ok(ints(range(context, int(args, 0)?, int(args, 1)?, int(args, 2)?)?))
    }),
    Func::variadic("seq", &[INT], seq),
    Func::fixed("randInt", &[INT, INT], rand_int),
];

/// Returns the value as an integer, 0 when it cannot be one: floats are cut off, texts are read with Go's
/// prefixes (`010` is 8), truth counts 1.
pub(super) fn to_int(value: &Val) -> i64 {
    match value {
        Val::Int(number) | Val::Int64(number) | Val::Sized(_, number) => *number,
        // Conversions in Go wrap.
        Val::Uint(_, number) => number.cast_signed(),
        Val::Float(number) => truncated(*number),
        Val::Str(text) => text.as_str().and_then(cast_int).unwrap_or(0),
        Val::Bool(flag) => i64::from(*flag),
        Val::Object(object) if matches!(object.type_name(), "time.Month" | "time.Weekday") => {
            match value.number() {
                Some(Number::Int(number)) => number,
                _ => 0,
            }
        }
        _ => 0,
    }
}

/// Go's conversion of a float to `int64` on 64-bit machines: out of range gives the smallest number.
fn truncated(number: f64) -> i64 {
    let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number);
    if in_range { number as i64 } else { i64::MIN }
}

/// Returns the value as a float, 0 when it cannot be one.
fn to_float(value: &Val) -> f64 {
    match value {
        Val::Float(number) => *number,
        Val::Int(number) | Val::Int64(number) | Val::Sized(_, number) => *number as f64,
        Val::Uint(_, number) => *number as f64,
        Val::Str(text) => text.as_str().and_then(|text| parse_float(text).ok()).unwrap_or(0.0),
        Val::Bool(flag) => f64::from(*flag),
        Val::Object(_) => to_int(value) as f64,
        _ => 0.0,
    }
}

fn divide(args: &[Val], operation: fn(i64, i64) -> i64) -> FuncResult {
    match to_int(any(args, 1)) {
        0 => Err(FuncError::new("runtime error: integer divide by zero")),
        divisor => Ok(Val::Int64(operation(to_int(any(args, 0)), divisor))),
    }
}

type Operation = fn(&Decimal, &Decimal) -> Result<Decimal, DecimalError>;

fn decimals(args: &[Val], operation: Operation) -> FuncResult {
    let failed = |error: DecimalError| FuncError::Message(error.to_string());
    let mut result = Decimal::from_f64(to_float(any(args, 0))).map_err(failed)?;
    for arg in args.get(1..).unwrap_or_default() {
        let number = Decimal::from_f64(to_float(arg)).map_err(failed)?;
        result = operation(&result, &number).map_err(failed)?;
    }
    Ok(Val::Float(result.to_f64()))
}

/// The largest or smallest of the arguments. One that is no number makes the result none, unless another is
/// the greatest possible, `bound`.
fn extreme(args: &[Val], bound: f64, is_better: fn(f64, f64) -> bool) -> f64 {
    let mut best = to_float(any(args, 0));
    for arg in args.get(1..).unwrap_or_default() {
        let number = to_float(arg);
        if best == bound || number == bound {
            best = bound;
        } else if best.is_nan() || number.is_nan() {
            best = f64::NAN;
        } else if is_better(number, best) {
            best = number;
        }
    }
    best
}

/// Rounds to a number of places. A fraction of at least `on` (one half if not given) goes up; that of a
/// negative number is negative, so negative numbers always go down, as in sprig.
fn round(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let on = if args.len() > 2 { float(args, 2)? } else { 0.5 };
    let places = i32::try_from(int(args, 1)?.clamp(-400, 400)).unwrap_or(0);
    let power = 10_f64.powi(places);
    let digits = power * to_float(any(args, 0));
    let rounded = if digits.fract() >= on { digits.ceil() } else { digits.floor() };
    Ok(Val::Float(rounded / power))
}

/// The numbers from `start` up to, and without, `stop`.
fn range(context: &mut Context<'_>, start: i64, stop: i64, step: i64) -> Result<Vec<i64>, FuncError> {
    let down = stop < start;
    if step == 0 || (step < 0) != down {
        return Ok(Vec::new());
    }
    let count = start.abs_diff(stop).div_ceil(step.unsigned_abs());
    let size = usize::try_from(count).unwrap_or(usize::MAX);
    context.charge(size.saturating_mul(size_of::<Val>()))?;
    let mut numbers = Vec::with_capacity(size);
    let mut number = start;
    for _ in 0..count {
        numbers.push(number);
        number = number.wrapping_add(step);
    }
    Ok(numbers)
}

fn ints(numbers: Vec<i64>) -> Val {
    Val::List(List::of(INT, numbers.into_iter().map(Val::Int).collect()))
}

/// As the Unix command: `seq END`, `seq START END`, `seq START STEP END`, in one text.
fn seq(context: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let numbers = match args.len() {
        1 | 2 => {
            let (start, end) =
                if args.len() == 1 { (1, int(args, 0)?) } else { (int(args, 0)?, int(args, 1)?) };
            let step = if end < start { -1 } else { 1 };
            range(context, start, end.wrapping_add(step), step)?
        }
        3 => {
            let (start, step, end) = (int(args, 0)?, int(args, 1)?, int(args, 2)?);
            if end < start && step > 0 {
                return Ok(Val::str(""));
            }
            range(context, start, end.wrapping_add(if end < start { -1 } else { 1 }), step)?
        }
        _ => return Ok(Val::str("")),
    };
    let mut text = String::new();
    for number in numbers {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&number.to_string());
    }
    Ok(Val::from(text))
}

fn rand_int(context: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let (low, high) = (int(args, 0)?, int(args, 1)?);
    let width = u64::try_from(high.wrapping_sub(low)).unwrap_or(0);
    if width == 0 {
        return Err(FuncError::new("invalid argument to Intn"));
    }
    // Numbers from the incomplete last stretch are drawn again, so that all results are equally likely.
    let usable = u64::MAX - u64::MAX % width;
    loop {
        let mut bytes = [0; 8];
        context.host.fill_random(&mut bytes);
        let number = u64::from_le_bytes(bytes);
        if number < usable {
            return Ok(Val::Int(low.wrapping_add((number % width).cast_signed())));
        }
    }
}
