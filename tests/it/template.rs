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

use crate::support::{signal, statectl as run};

use statectl::template::call::{Context, Host, Limits};
use statectl::template::convert::from_value;
use statectl::template::funcs;
use statectl::template::parse::parse;
use statectl::template::report;
use statectl::template::set::TemplateSet;
use statectl::template::stack::{Stack, on_large_stack};
use statectl::template::text::Str;
use statectl::template::types::{Kind, Type};
use statectl::template::value::{Map, Method, Object, Val, receiver};
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
        "helm" => funcs::engine::without_no_value(&text).unwrap_or(text),
        _ => text,
    };
    Ok(Str::from(text).to_string())
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
fn text_functions_answer_as_in_sprig() {
    check("go-texts.txt");
}

#[test]
fn regular_expressions_answer_as_in_sprig() {
    check("go-regex.txt");
}

#[test]
fn encodings_paths_urls_and_versions_answer_as_in_sprig() {
    check("go-encoding-paths-urls-semver.txt");
}

#[test]
fn dates_answer_as_in_sprig() {
    check("go-dates.txt");
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
        ("{{$x := `x`}}{{range until 99}}{{$x = print $x $x}}{{end}}", "more output than is allowed"),
        ("{{$x := list 1}}{{range until 99}}{{$x = concat $x $x}}{{end}}", "more output than is allowed"),
    ] {
        let text = refused(template, limits);
        assert!(text.contains(error), "{template}: {text}");
    }
}

#[test]
fn values_that_contain_themselves_are_refused() {
    let endless = "{{$x := dict}}{{$_ := set $x `x` $x}}";
    // Little memory, but more parts than anyone can walk through.
    let doubled = "{{$x := dict `a` 1}}{{range until 99}}{{$x = dict `a` $x `b` $x}}{{end}}";
    on_large_stack(STACK, || {
        for (value, action) in [
            (endless, "{{$x}}"),
            (endless, "{{printf `%d` $x}}"),
            (endless, "{{mustToJson $x}}"),
            (endless, "{{mustToYaml $x}}"),
            (endless, "{{deepCopy $x}}"),
            (endless, "{{deepEqual $x (deepCopy $x)}}"),
            (endless, "{{mustToToml $x}}"),
            (doubled, "{{mustToJson $x}}"),
        ] {
            let text = refused(&format!("{value}{action}"), Limits::default());
            assert!(text.contains("contains itself"), "{action}: {text}");
        }
    })
    .unwrap();
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

/// A named map with a method of its own, as Helm's `.Values` is.
#[derive(Debug)]
struct Named(Map);

static SIZE: Method = Method {
    name: "Size",
    params: &[Type::STRING, Type::INT],
    variadic: true,
    call: |_, object, args| {
        let map = &receiver::<Named>(object)?.0;
        Ok(Val::from(format!("{} {}", map.len(), args.len())))
    },
};

impl Object for Named {
    fn type_name(&self) -> &'static str {
        "test.Named"
    }

    fn kind(&self) -> Kind {
        Kind::Map
    }

    fn method(&self, name: &str) -> Option<&'static Method> {
        (name == "Size").then_some(&SIZE)
    }

    fn underlying(&self) -> Option<Val> {
        Some(Val::Map(self.0.clone()))
    }
}

/// A struct behind a pointer, with a `String` method that only the pointer has.
#[derive(Debug)]
struct Version;

impl Object for Version {
    fn type_name(&self) -> &'static str {
        "test.Version"
    }

    fn field(&self, name: &str) -> Option<Val> {
        (name == "Major").then_some(Val::Uint(Kind::Uint64, 1))
    }

    fn fields(&self) -> Vec<(&'static str, Val)> {
        vec![("Major", Val::Uint(Kind::Uint64, 1)), ("Pre", Val::from("x"))]
    }

    fn printed(&self) -> Option<String> {
        Some("v1".to_owned())
    }
}

#[test]
fn objects_behave_as_named_go_types() {
    let map = Map::from_iter([("a".into(), Val::Float(1.0)), ("Size".into(), Val::from("hidden"))]);
    let data =
        Val::Map(Map::from_iter([("m".into(), Val::object(Named(map))), ("v".into(), Val::object(Version))]));
    let functions = Rc::new(funcs::table());
    let name = Str::from("t");
    for (template, expected) in [
        ("{{.m.a}} {{.m.Size `x`}} {{.m.Size `x` 1 2}} {{`x` | .m.Size}}", Ok("1 2 1 2 3 2 1")),
        ("{{index .m `Size`}} {{len .m}} {{hasKey .m `a`}} {{get .m `a`}}", Ok("hidden 2 true 1")),
        ("{{typeOf .m}} {{kindOf .m}} {{typeOf .v}} {{kindOf .v}}", Ok("test.Named map test.Version struct")),
        ("{{range $k, $v := .m}}{{$k}}={{$v}} {{end}}", Ok("Size=hidden a=1 ")),
        ("{{$_ := set .m `b` 2}}{{.m.b}}{{keys .m}}", Ok("2[Size a b]")),
        ("{{.m}} {{toJson .m}}", Ok("map[Size:hidden a:1 b:2] {\"Size\":\"hidden\",\"a\":1,\"b\":2}")),
        ("{{.v}} {{printf `%s` .v}} {{printf `%+v` .v}}", Ok("v1 {%!s(uint64=1) x} {Major:1 Pre:x}")),
        ("{{.v.Major}} {{eq .v.Major 1}} {{if .v}}true{{end}} {{toJson .v}}", {
            Ok("1 true true {\"Major\":1,\"Pre\":\"x\"}")
        }),
        ("{{.v.Minor}}", Err("<.v.Minor>: can't evaluate field Minor in type interface {}")),
        ("{{.v.Major 1}}", Err("<.v.Major>: Major has arguments but cannot be invoked as function")),
        ("{{.m.Size}}", Err("<.m.Size>: wrong number of args for Size: want at least 1 got 0")),
        ("{{.m.Size 1}}", Err("<1>: expected string; found 1")),
        ("{{dig `a` `b` .m}}", {
            Err("interface conversion: interface {} is test.Named, not map[string]interface {}")
        }),
        ("{{range .v}}{{end}}", Err("range can't iterate over {1 x}")),
    ] {
        let parsed = parse(&name, &Str::from(template), &functions, Stack::here(1 << 20)).unwrap();
        let mut templates = TemplateSet::new();
        templates.add(&parsed);
        let mut host = Still;
        let mut context =
            Context::new(Rc::new(templates), Rc::clone(&functions), Limits::default(), &mut host);
        match (context.execute(&name, data.clone()), expected) {
            (Ok(text), Ok(expected)) => assert_eq!(Str::from(text).to_text(), expected, "{template}"),
            (Err(error), Err(expected)) => assert!(error.to_string().ends_with(expected), "{error}"),
            (got, _) => panic!("{template}: {got:?}"),
        }
    }
}

/// Pieces from which texts are made that come close to templates.
const PIECES: &[&str] = &[
    "{{",
    "}}",
    "{{-",
    "-}}",
    " ",
    "\n",
    "if",
    "else",
    "end",
    "range",
    "with",
    "define",
    "template",
    "block",
    "break",
    "continue",
    "$x",
    "$",
    ":=",
    "=",
    ",",
    ".",
    ".a",
    ".a.b",
    "|",
    "(",
    ")",
    "\"s\"",
    "\"",
    "'a'",
    "'",
    "`r`",
    "`",
    "1",
    "-2",
    "0x1F",
    "1.5e3",
    "1i",
    "08",
    "nil",
    "true",
    "print",
    "printf",
    "\"%5.2d%[1]*v%\"",
    "list",
    "dict",
    "set",
    "merge",
    "index",
    "len",
    "eq",
    "include",
    "tpl",
    "\"{{.}}\"",
    "toYaml",
    "fromYaml",
    "/*",
    "*/",
    "\u{e9}",
    "\u{0}",
    "text",
    "until",
    "slice",
    "chunk",
    "div",
    "round",
    "seq",
    "toToml",
    "deepCopy",
    "dig",
];

proptest::proptest! {
    #[test]
    fn no_text_makes_the_engine_panic(picks in proptest::collection::vec(0..PIECES.len(), 0..60)) {
        let inner: String = picks.iter().map(|pick| PIECES[*pick]).collect::<Vec<_>>().join(" ");
        let tight: String = picks.iter().map(|pick| PIECES[*pick]).collect();
        let values = tree(&serde_json::json!({"a": {"b": [1, "x", null]}}));
        for text in [inner.clone(), tight, format!("{{{{ {inner} }}}}"), format!("{{{{ print {inner} }}}}")] {
            // Whatever the answer, there is one.
            let _ = answer("helm", &text, &values);
        }
    }
}

#[test]
fn a_signal_ends_a_rendering_that_takes_long() {
    let folder = tempfile::tempdir().unwrap();
    let chart = crate::support::scene::chart(
        folder.path(),
        &[("templates/a.yaml", "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}")],
    );
    let child = run::command(["template", "n", chart.to_str().unwrap()])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // It listens from its first moment on; this is only to meet it at work.
    std::thread::sleep(std::time::Duration::from_millis(500));
    signal::send(&child, signal::Sent::Terminate);
    assert_eq!(run::wait(child).code, 143);
}
