//! Writes TOML in the layout of BurntSushi/toml, the library behind Helm's `toToml`: keys sorted, simple values
//! before tables, tables indented by two spaces a level.

use crate::template::call::FuncError;
use crate::template::convert::{MAX_DEPTH, TooDeep};
use crate::template::fmt::to_text;
use crate::template::text::{Str, lossy};
use crate::template::types::Kind;
use crate::template::value::{Entries, Val};
use crate::value::Value;
use crate::value::number::format_g;

/// Returns the TOML text of a value.
///
/// # Errors
/// Nil, nil inside a list, a list of tables without a key, and values that contain themselves.
pub(super) fn write_toml(value: &Val) -> Result<Vec<u8>, FuncError> {
    if value.is_nil() {
        return Err(FuncError::new("reflect: call of reflect.Value.Type on zero Value"));
    }
    let mut writer = Writer { out: Vec::new(), key: Vec::new() };
    writer.encode(value)?;
    Ok(writer.out)
}

/// What a value becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Nothing,
    Simple,
    Table,
    TableList,
}

struct Writer {
    out: Vec<u8>,
    /// The path of the table being written.
    key: Vec<Str>,
}

/// The entries of a map or struct, sorted by key.
fn entries(value: &Val) -> Option<Entries> {
    if let Some(map) = value.to_map() {
        return Some(map.borrow().clone());
    }
    match value {
        Val::Object(object) if object.underlying().is_none() && object.type_name() != "time.Time" => {
            Some(object.fields().into_iter().map(|(name, field)| (Str::from(name), field)).collect())
        }
        _ => None,
    }
}

fn is_nil(value: &Val) -> bool {
    match value {
        Val::Nil => true,
        Val::Map(map) => map.is_nil(),
        Val::List(list) => list.is_nil(),
        _ => false,
    }
}

fn shape(value: &Val, depth: usize) -> Result<Shape, FuncError> {
    let depth = depth.checked_sub(1).ok_or(TooDeep)?;
    if is_nil(value) {
        return Ok(Shape::Nothing);
    }
    if let Some(list) = value.to_list() {
        let mut only_tables = !list.is_empty();
        for item in list.iter() {
            match shape(item, depth)? {
                Shape::Nothing => {
                    return Err(FuncError::new("toml: cannot encode array with nil element"));
                }
                found => only_tables &= found == Shape::Table,
            }
        }
        return Ok(if only_tables { Shape::TableList } else { Shape::Simple });
    }
    let is_struct = matches!(value, Val::Object(object)
        if object.underlying().is_none() && object.type_name() != "time.Time");
    Ok(if value.kind() == Kind::Map || is_struct { Shape::Table } else { Shape::Simple })
}

impl Writer {
    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// A line break, but not at the start of the text.
    fn newline(&mut self) {
        if !self.out.is_empty() {
            self.out.push(b'\n');
        }
    }

    fn indent(&mut self) {
        for _ in 1..self.key.len() {
            self.push("  ");
        }
    }

    fn path(&self) -> String {
        let parts: Vec<String> = self.key.iter().map(quoted_key).collect();
        parts.join(".")
    }

    fn encode(&mut self, value: &Val) -> Result<(), FuncError> {
        if self.key.len() > MAX_DEPTH {
            return Err(TooDeep.into());
        }
        match shape(value, MAX_DEPTH)? {
            Shape::Nothing => {}
            Shape::TableList => self.table_list(value)?,
            Shape::Table => {
                if self.key.len() == 1 {
                    self.newline();
                }
                if !self.key.is_empty() {
                    self.indent();
                    let path = self.path();
                    self.push(&format!("[{path}]"));
                    self.newline();
                }
                self.table(value)?;
            }
            Shape::Simple => {
                let Some(last) = self.key.last().map(quoted_key) else { return self.element(value, 0) };
                self.indent();
                self.push(&format!("{last} = "));
                self.element(value, 0)?;
                self.newline();
            }
        }
        Ok(())
    }

    fn table_list(&mut self, value: &Val) -> Result<(), FuncError> {
        if self.key.is_empty() {
            return Err(FuncError::new("toml: top-level values must be Go maps or structs"));
        }
        let Some(list) = value.to_list() else { return Ok(()) };
        for table in list.iter() {
            self.newline();
            self.indent();
            let path = self.path();
            self.push(&format!("[[{path}]]"));
            self.newline();
            self.table(table)?;
        }
        Ok(())
    }

    fn table(&mut self, value: &Val) -> Result<(), FuncError> {
        let (simple, tables) = split(value)?;
        for (key, value) in simple.into_iter().chain(tables) {
            self.key.push(key);
            self.encode(&value)?;
            self.key.pop();
        }
        Ok(())
    }

    fn element(&mut self, value: &Val, depth: usize) -> Result<(), FuncError> {
        if depth > MAX_DEPTH {
            return Err(TooDeep.into());
        }
        match value {
            Val::Str(text) => self.quoted(text),
            Val::Float(number) => self.float(*number),
            Val::Object(object) if object.type_name() == "time.Duration" => {
                let text = to_text(value);
                self.quoted(text.as_bytes());
            }
            Val::Object(object) if object.type_name() == "time.Time" => {
                if let Value::Str(text) = object.to_value() {
                    self.push(&text);
                }
            }
            Val::Object(object) if object.underlying().is_some() => {
                self.element(&value.plain(), depth + 1)?;
            }
            _ => {
                if let Some(list) = value.to_list() {
                    self.push("[");
                    for (index, item) in list.iter().enumerate() {
                        if index > 0 {
                            self.push(", ");
                        }
                        self.element(item, depth + 1)?;
                    }
                    self.push("]");
                } else if entries(value).is_some() {
                    self.inline_table(value, depth)?;
                } else {
                    self.push(&to_text(value));
                }
            }
        }
        Ok(())
    }

    fn inline_table(&mut self, value: &Val, depth: usize) -> Result<(), FuncError> {
        let (simple, tables) = split(value)?;
        let has_tables = !tables.is_empty();
        self.push("{");
        for (entries, trailing) in [(simple, has_tables), (tables, false)] {
            let count = entries.len();
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if is_nil(&value) {
                    continue;
                }
                self.push(&format!("{} = ", quoted_key(&key)));
                self.element(&value, depth + 1)?;
                if trailing || index + 1 < count {
                    self.push(", ");
                }
            }
        }
        self.push("}");
        Ok(())
    }

    fn float(&mut self, number: f64) {
        let text = match number {
            n if n.is_nan() => "nan".to_owned(),
            n if n == f64::INFINITY => "inf".to_owned(),
            n if n == f64::NEG_INFINITY => "-inf".to_owned(),
            n => format_g(n),
        };
        let is_whole = number.is_finite() && !text.contains(['e', '.']);
        self.push(&text);
        if is_whole {
            self.push(".0");
        }
    }

    fn quoted(&mut self, text: &[u8]) {
        self.out.push(b'"');
        escape(&mut self.out, text);
        self.out.push(b'"');
    }
}

type Members = Vec<(Str, Val)>;

/// The members of a table: simple values, and those that become tables of their own.
fn split(value: &Val) -> Result<(Members, Members), FuncError> {
    let (mut simple, mut tables) = (Vec::new(), Vec::new());
    for (key, value) in entries(value).unwrap_or_default() {
        let is_table = matches!(shape(&value, MAX_DEPTH)?, Shape::Table | Shape::TableList);
        if is_table { tables.push((key, value)) } else { simple.push((key, value)) }
    }
    Ok((simple, tables))
}

fn quoted_key(key: &Str) -> String {
    let is_bare =
        !key.is_empty() && key.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_bare {
        return key.to_string();
    }
    let mut out = vec![b'"'];
    escape(&mut out, key);
    out.push(b'"');
    lossy(&out).into_owned()
}

fn escape(out: &mut Vec<u8>, text: &[u8]) {
    for byte in text {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(br"\\"),
            0x08 => out.extend_from_slice(br"\b"),
            b'\t' => out.extend_from_slice(br"\t"),
            b'\n' => out.extend_from_slice(br"\n"),
            0x0c => out.extend_from_slice(br"\f"),
            b'\r' => out.extend_from_slice(br"\r"),
            0..=0x1f | 0x7f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            other => out.push(*other),
        }
    }
}
