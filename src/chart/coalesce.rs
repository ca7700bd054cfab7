//! How the values of a chart and of the charts inside it become one tree.
//!
//! What the user gives wins over a chart's defaults, a parent's values over its child's, tables merge and
//! everything else replaces. The order of steps and the sharing of tables are Helm's
//! (`pkg/chart/common/util/coalesce.go`), because both show in results: a default of one chart can leak
//! through a shared `global` table into another.

use super::Chart;
use super::error::ChartError;
use super::tables::{deep_copy, from_map, get, remove_nulls, set, shallow_copy, table};
use crate::template::convert::{from_value, to_value};
use crate::template::value::{Map, Val};
use crate::value::Value;
use crate::value::number::format_g;

/// The key under which values are handed down to every chart inside.
const GLOBAL: &str = "global";

/// What a null does to a chart's default. Helm changed this three times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum NullRules {
    /// Up to 3.19.0: a null removes a default that exists; a nested one without a default stays.
    Helm3_18,
    /// 3.19.1 to 3.20.0 and 4.0 to 4.1.2: every nested null given by the user is removed.
    Helm3_20,
    /// 3.20.1 on and 4.1.3 on: as first, but a null over a null stays.
    Helm4_1,
    /// 4.2 on: besides, nulls in a chart's own defaults vanish.
    #[default]
    Helm4_2,
}

/// Whether nulls take effect or are kept for a later merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A null removes the default it meets.
    Coalesce,
    /// Nulls stay in the tree.
    Merge,
}

/// A merge in progress: its rules, and what Helm would warn of.
#[derive(Debug, Default)]
pub struct Merger {
    rules: NullRules,
    /// Helm's warnings in the order in which it prints them.
    pub warnings: Vec<String>,
}

impl Merger {
    /// Returns a merger that follows `rules`.
    pub fn new(rules: NullRules) -> Self {
        Self { rules, warnings: Vec::new() }
    }

    /// Returns the values that `chart` is rendered with when the user gives `user`, which is left as it is.
    ///
    /// # Errors
    /// Fails if the value under the name of a chart inside is not a table.
    pub fn values(&mut self, chart: &Chart, user: &Map, mode: Mode) -> Result<Map, ChartError> {
        let values = deep_copy(user)?;
        self.chart(chart, &values, "", mode)?;
        Ok(values)
    }

    fn chart(&mut self, chart: &Chart, values: &Map, prefix: &str, mode: Mode) -> Result<(), ChartError> {
        let path = join(prefix, chart.name());
        self.own_defaults(chart, values, &path, mode);
        for inner in &chart.dependencies {
            let name = inner.name();
            let table = match get(values, name) {
                Some(Val::Map(table)) => table,
                Some(other) => {
                    let shown = shown_as_bool(&to_value(&other)?);
                    return Err(ChartError::TypeMismatch { chart: name.to_owned(), shown });
                }
                None => {
                    let table = Map::new();
                    set(values, name, Val::Map(table.clone()));
                    table
                }
            };
            self.globals(&table, values, &path);
            self.chart(inner, &table, &path, mode)?;
        }
        Ok(())
    }

    /// Puts the defaults of one chart under what is in `values` already.
    fn own_defaults(&mut self, chart: &Chart, values: &Map, path: &str, mode: Mode) {
        let drops_nulls = self.rules >= NullRules::Helm4_2;
        for (key, default) in chart.values.iter().flatten() {
            match get(values, key) {
                Some(Val::Nil) => {
                    if mode == Mode::Coalesce {
                        values.remove(key.as_bytes());
                    }
                }
                Some(Val::Map(given)) => match default {
                    Value::Map(default) => {
                        // A null for a chart inside has to live on until that chart's defaults come.
                        let for_inner = chart.dependencies.iter().any(|inner| inner.name() == key);
                        let mode = if for_inner { Mode::Merge } else { mode };
                        let default = from_map(default);
                        if drops_nulls && mode == Mode::Coalesce {
                            remove_nulls(&default);
                        }
                        self.tables(&given, &default, &join(path, key), mode);
                    }
                    Value::Null => {}
                    _ => self.warnings.push(format!("skipped value for {path}.{key}: Not a table.")),
                },
                Some(_) => {}
                None => {
                    let drops_nulls = drops_nulls && mode == Mode::Coalesce;
                    let default = from_value(default);
                    match &default {
                        Val::Nil if drops_nulls => continue,
                        Val::Map(table) if drops_nulls => remove_nulls(table),
                        _ => {}
                    }
                    set(values, key.as_str(), default);
                }
            }
        }
    }

    /// Hands the `global` table of `parent` down to a chart inside: the parent wins, table by table.
    ///
    /// Only the first level is copied; what is below belongs to both afterwards.
    fn globals(&mut self, inner: &Map, parent: &Map, path: &str) {
        let Some(target) = table_or_new(inner) else {
            self.warnings.push("skipping globals because destination global is not a table.".to_owned());
            return;
        };
        let Some(source) = table_or_new(parent) else {
            self.warnings.push("skipping globals because source global is not a table.".to_owned());
            return;
        };
        for (key, value) in source.entries() {
            let name = key.to_text();
            match (value, target.get(&key)) {
                (Val::Map(upper), None) => set(&target, key.clone(), Val::Map(shallow_copy(&upper))),
                (Val::Map(upper), Some(Val::Map(lower))) => {
                    let merged = shallow_copy(&upper);
                    self.tables(&merged, &lower, &join(path, &name), Mode::Merge);
                    set(&target, key.clone(), Val::Map(merged));
                }
                (Val::Map(_), Some(_)) => {
                    self.warnings
                        .push(format!("Conflict: cannot merge map onto non-map for {name:?}. Skipping."));
                }
                (_, Some(Val::Map(_))) => self.warnings.push(format!("key {name} is table. Skipping")),
                (other, _) => set(&target, key.clone(), other),
            }
        }
        set(inner, GLOBAL, Val::Map(target));
    }

    /// Puts the members of `lower` under those of `upper`, in place; `upper` wins. `path` is for warnings.
    pub(super) fn tables(&mut self, upper: &Map, lower: &Map, path: &str, mode: Mode) {
        let defaults = shallow_copy(lower);
        if self.rules >= NullRules::Helm3_20 {
            for (key, value) in upper.entries() {
                if value.is_nil() {
                    set(lower, key, Val::Nil);
                }
            }
        }
        for (key, value) in lower.entries() {
            let Some(given) = upper.get(&key) else {
                set(upper, key, value);
                continue;
            };
            let at = || join(path, &key.to_text());
            let removes = self.rules < NullRules::Helm4_1
                || defaults.get(&key).is_some_and(|default| !default.is_nil());
            match (&given, &value) {
                (Val::Nil, _) if mode == Mode::Coalesce && removes => upper.remove(&key),
                (Val::Map(given), Val::Map(value)) => self.tables(given, value, &at(), mode),
                (_, Val::Map(_)) => self.warnings.push(format!(
                    "cannot overwrite table with non table for {} ({})",
                    at(),
                    print(&value)
                )),
                (Val::Map(_), other) if !other.is_nil() => self.warnings.push(format!(
                    "destination for {} is a table. Ignoring non-table value ({})",
                    at(),
                    print(other)
                )),
                _ => {}
            }
        }
    }
}

/// Returns the `global` table of `values`, a new one if there is none, nothing if it is something else.
fn table_or_new(values: &Map) -> Option<Map> {
    if values.contains(GLOBAL.as_bytes()) { table(values, GLOBAL) } else { Some(Map::new()) }
}

fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}

/// Returns a value as Go's `%v` prints it.
fn print(value: &Val) -> String {
    to_value(value).map_or_else(|error| error.to_string(), |value| shown(&value))
}

/// Returns plain data as Go's `%v` prints it.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Float(number) => format_g(*number),
        Value::Str(text) => text.clone(),
        Value::List(items) => format!("[{}]", spaced(items.iter().map(shown))),
        Value::Map(map) => {
            format!("map[{}]", spaced(map.iter().map(|(key, value)| format!("{key}:{}", shown(value)))))
        }
    }
}

/// Returns plain data as Go's `%t` prints it, which is meant for truth values only.
fn shown_as_bool(value: &Value) -> String {
    match value {
        Value::Bool(flag) => flag.to_string(),
        Value::Null => "%!t(<nil>)".to_owned(),
        Value::Int(number) => format!("%!t(int64={number})"),
        Value::Uint(number) => format!("%!t(uint64={number})"),
        Value::Float(number) => format!("%!t(float64={})", format_g(*number)),
        Value::Str(text) => format!("%!t(string={text})"),
        Value::List(items) => format!("[{}]", spaced(items.iter().map(inner_as_bool))),
        Value::Map(map) => {
            let member =
                |(key, value): (&String, &Value)| format!("%!t(string={key}):{}", inner_as_bool(value));
            format!("map[{}]", spaced(map.iter().map(member)))
        }
    }
}

/// Inside a list or map a nil is no wrong type.
fn inner_as_bool(value: &Value) -> String {
    if value.is_null() { "<nil>".to_owned() } else { shown_as_bool(value) }
}

fn spaced(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(" ")
}
