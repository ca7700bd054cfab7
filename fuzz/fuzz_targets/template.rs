//! Any text is parsed, printed and executed on a small tree: an answer or an error, within the limits.

#![no_main]

use std::cell::RefCell;
use std::rc::Rc;

use libfuzzer_sys::fuzz_target;
use statectl::template::call::{Context, FuncTable, Host, Limits};
use statectl::template::convert::from_value;
use statectl::template::parse::parse;
use statectl::template::set::TemplateSet;
use statectl::template::stack::{Stack, on_large_stack};
use statectl::template::text::Str;
use statectl::template::{funcs, report};
use statectl::value::{Map, Value};
use statectl::yaml;

const STACK: usize = 1 << 20;
const LIMITS: Limits = Limits { steps: 20_000, bytes: 4 << 20, stack: STACK };

/// Functions that are slow on purpose or draw primes: a second or more for one call, whatever is passed.
const SLOW: &[&str] = &[
    "bcrypt",
    "derivePassword",
    "genCA",
    "genCAWithKey",
    "genPrivateKey",
    "genSelfSignedCert",
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
    "htpasswd",
];

const DATA: &str = r#"
Values:
  text: some text
  empty: ""
  number: 3
  fraction: 1.5
  yes: true
  no: false
  nothing: null
  list: [a, b, {c: d}, 4]
  table: {x: 1, y: {z: "2"}, "dotted.key": v}
Chart: {Name: shop, Version: 1.2.3}
Release: {Name: r, Namespace: n, Revision: 1, IsInstall: true}
"#;

struct Still(u64);

impl Host for Still {
    fn now(&mut self) -> jiff::Zoned {
        jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC)
    }

    fn fill_random(&mut self, buffer: &mut [u8]) {
        for byte in buffer {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (self.0 >> 56) as u8;
        }
    }

    fn lookup(&mut self, _: &str, kind: &str, _: &str, name: &str) -> Result<Value, String> {
        if name == "error" {
            return Err("no answer".to_owned());
        }
        Ok(Value::Map(Map::from([("kind".to_owned(), kind.into())])))
    }

    fn resolve(&mut self, _: &str) -> String {
        String::new()
    }
}

thread_local! {
    static TREE: RefCell<Option<Value>> = const { RefCell::new(None) };
}

fn tree() -> Value {
    TREE.with(|tree| {
        tree.borrow_mut()
            .get_or_insert_with(|| yaml::read(DATA.as_bytes()).expect("the data is valid"))
            .clone()
    })
}

fn functions() -> FuncTable {
    let mut table = funcs::table();
    SLOW.iter().for_each(|name| table.remove(name));
    table
}

fn run(text: &[u8], values: &Value) {
    let functions = Rc::new(functions());
    let name = Str::from("c/templates/t");
    let parsed = match parse(&name, &Str::from(text), &functions, Stack::here(STACK)) {
        Ok(parsed) => parsed,
        Err(error) => {
            let _ = (error.to_string(), report::parse_text(&error));
            return;
        }
    };
    let _ = parsed.main.to_string();
    let mut templates = TemplateSet::new();
    templates.add(&parsed);
    let mut host = Still(1);
    let mut context = Context::new(Rc::new(templates), functions, LIMITS, &mut host);
    match context.execute(&name, from_value(values)) {
        Ok(text) => {
            let _ = funcs::engine::without_no_value(&Str::from(text));
        }
        Err(error) => {
            let _ = (error.to_string(), report::exec_text(&error));
        }
    }
}

fuzz_target!(|text: &[u8]| {
    let values = tree();
    on_large_stack(STACK, || run(text, &values)).expect("a thread can be made");
});
