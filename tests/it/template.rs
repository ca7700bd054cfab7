//! The template language against recorded answers of Go's `text/template` with sprig, and of Helm's engine.
//!
//! `tests/cases/template/README.md` says what a case file looks like and where the answers come from.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "case files are read; a test fails by panicking"
)]

use std::path::Path;
use std::rc::Rc;

use statectl::template::call::{Context, Host, Limits};
use statectl::template::convert::from_value;
use statectl::template::funcs;
use statectl::template::parse::parse;
use statectl::template::report;
use statectl::template::set::TemplateSet;
use statectl::template::stack::{Stack, on_large_stack};
use statectl::template::text::Str;
use statectl::value::Value;

const STACK: usize = 64 << 20;

/// A world in which it is always the same time and nothing else happens.
struct Still;

impl Host for Still {
    fn now(&mut self) -> jiff::Zoned {
        jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC)
    }

    fn fill_random(&mut self, buffer: &mut [u8]) {
        buffer.fill(7);
    }

    fn lookup(&mut self, _: &str, _: &str, _: &str, _: &str) -> Result<Value, String> {
        Ok(Value::Map(statectl::value::Map::new()))
    }

    fn resolve(&mut self, _: &str) -> String {
        String::new()
    }
}

/// Numbers come as from a values file: always floats.
fn tree(json: &serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(flag) => Value::Bool(*flag),
        serde_json::Value::Number(number) => Value::Float(number.as_f64().unwrap()),
        serde_json::Value::String(text) => Value::Str(text.clone()),
        serde_json::Value::Array(items) => Value::List(items.iter().map(tree).collect()),
        serde_json::Value::Object(members) => {
            Value::Map(members.iter().map(|(key, value)| (key.clone(), tree(value))).collect())
        }
    }
}

/// What becomes of a template: its text, or the error.
fn answer(mode: &str, template: &str, values: &Value) -> Result<String, String> {
    let functions = Rc::new(funcs::table());
    let name = Str::from(if mode == "helm" { "c/templates/t" } else { "t" });
    let parsed = parse(&name, &Str::from(template), &functions, Stack::here(STACK));
    let parsed = parsed.map_err(|error| match mode {
        "helm" => report::parse_text(&error),
        _ => error.to_string(),
    })?;
    if mode == "parse" {
        return Ok(parsed.main.to_string());
    }
    let mut templates = TemplateSet::new();
    templates.add(&parsed);
    let data = match mode {
        "helm" => Value::Map([("Values".to_owned(), values.clone())].into()),
        _ => values.clone(),
    };
    let limits = Limits { stack: STACK, ..Limits::default() };
    let mut host = Still;
    let mut context = Context::new(Rc::new(templates), functions, limits, &mut host);
    let text = context.execute(&name, from_value(&data)).map_err(|error| match mode {
        "helm" => report::exec_text(&error),
        _ => error.to_string(),
    })?;
    let text = match mode {
        "helm" => funcs::engine::without_no_value(Str::from(text)),
        _ => Str::from(text),
    };
    Ok(text.to_string())
}

fn check(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/template").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let mode = file.split(['-', '.']).next().unwrap().to_owned();
    let failures = on_large_stack(STACK, || {
        let mut values = Value::Map(statectl::value::Map::new());
        let mut failures = Vec::new();
        let mut count = 0;
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(json) = line.strip_prefix("values ") {
                values = tree(&serde_json::from_str(json).unwrap());
                continue;
            }
            let (template, expected) = line.split_once('\t').unwrap();
            let string = |json: &str| serde_json::from_str::<String>(json).unwrap();
            let expected = match expected.strip_prefix("! ") {
                Some(error) => Err(string(error)),
                None => Ok(string(expected)),
            };
            let template = string(template);
            let got = answer(&mode, &template, &values);
            count += 1;
            if got != expected {
                failures
                    .push(format!("{file}:{}: {template}\n  want {expected:?}\n  got  {got:?}", index + 1));
            }
        }
        assert!(count > 0, "{file} has no cases");
        failures
    })
    .unwrap();
    assert!(failures.is_empty(), "{} cases differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn templates_parse_as_in_go() {
    check("parse.txt");
}

#[test]
fn templates_run_as_in_go() {
    check("go-language.txt");
}

#[test]
fn values_print_as_in_go() {
    check("go-printing.txt");
}

#[test]
fn functions_answer_as_in_sprig() {
    check("go-functions.txt");
}

#[test]
fn the_engine_answers_as_helm() {
    check("helm-engine.txt");
}

/// Runs a template within `limits` and returns the error.
fn refused(template: &str, limits: Limits) -> String {
    let functions = Rc::new(funcs::table());
    let name = Str::from("t");
    let parsed = parse(&name, &Str::from(template), &functions, Stack::here(STACK)).unwrap();
    let mut templates = TemplateSet::new();
    templates.add(&parsed);
    let mut host = Still;
    let mut context = Context::new(Rc::new(templates), functions, limits, &mut host);
    context.execute(&name, from_value(&Value::Null)).unwrap_err().to_string()
}

#[test]
fn endless_templates_end_with_an_error() {
    let limits = Limits { steps: 10_000, bytes: 10_000, stack: 300_000 };
    for (template, error) in [
        ("{{range 1000000}}{{end}}", "more steps than is allowed"),
        ("{{range 5000}}0123456789{{end}}", "more output than is allowed"),
        ("{{define `x`}}{{template `x`}}{{end}}{{template `x`}}", "too deeply"),
        ("{{define `x`}}{{include `x` .}}{{end}}{{include `x` .}}", "too deeply"),
    ] {
        let text = refused(template, limits);
        assert!(text.contains(error), "{template}: {text}");
    }
}

#[test]
fn templates_that_call_themselves_end_where_helm_ends_them() {
    let limits = Limits { stack: 1 << 30, ..Limits::default() };
    on_large_stack(1 << 30, || {
        for (template, error) in [
            (
                "{{define `x`}}{{template `x`}}{{end}}{{template `x`}}",
                "exceeded maximum template depth (100000)",
            ),
            (
                "{{define `x`}}{{include `x` .}}{{end}}{{include `x` .}}",
                "rendering template has a nested reference name: x: unable to execute template",
            ),
        ] {
            let text = refused(template, limits);
            assert!(text.ends_with(error), "{template}");
        }
    })
    .unwrap();
}

#[test]
fn deeply_nested_text_is_refused_without_a_crash() {
    let functions = funcs::table();
    let deep = 20_000;
    for (text, error) in [
        (format!("{{{{{}1{}}}}}", "(".repeat(deep), ")".repeat(deep)), "max expression depth exceeded"),
        ("{{if 1}}".repeat(deep), "nests too deeply"),
        (format!("{{{{if 1}}}}{}", "{{else if 1}}".repeat(deep)), "nests too deeply"),
    ] {
        let message = on_large_stack(STACK, || {
            let stack = if error.starts_with("max") { STACK } else { 1 << 20 };
            parse(&Str::from("t"), &Str::from(text.as_str()), &functions, Stack::here(stack))
                .unwrap_err()
                .to_string()
        })
        .unwrap();
        assert!(message.contains(error), "{message}");
    }
}
