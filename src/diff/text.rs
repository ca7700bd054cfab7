//! The difference of two objects as lines of YAML.

use std::fmt;

use serde_json::Value as Json;
use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices};

use crate::value::Value;
use crate::yaml::to_yaml;

/// More lines than this on both sides, after what is equal at both ends, are not compared line by line: the
/// work grows with their product, and nobody reads the result.
const LONGEST: usize = 8_000;

/// One line of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Lines left out here because they are equal.
    Gap,
    /// On both sides.
    Same(String),
    /// Only before.
    Removed(String),
    /// Only after.
    Added(String),
}

/// The lines that differ, with some lines around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextDiff {
    /// What is shown.
    pub lines: Vec<Line>,
    /// How many more lines there would be.
    pub hidden: usize,
}

impl fmt::Display for TextDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            match line {
                Line::Gap => writeln!(f, "  ...")?,
                Line::Same(text) => writeln!(f, "  {text}")?,
                Line::Removed(text) => writeln!(f, "- {text}")?,
                Line::Added(text) => writeln!(f, "+ {text}")?,
            }
        }
        if self.hidden > 0 {
            writeln!(f, "  ... {} more lines", self.hidden)?;
        }
        Ok(())
    }
}

/// Returns an object as YAML with sorted keys; empty for nothing. Texts that YAML cannot hold make it JSON.
pub(super) fn yaml(object: Option<&Json>) -> String {
    let Some(object) = object else { return String::new() };
    to_yaml(&to_value(object)).unwrap_or_else(|_| format!("{object:#}\n"))
}

fn to_value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Value::Int(number),
            (None, Some(number)) => Value::Uint(number),
            (None, None) => Value::Float(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::Str(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(to_value).collect()),
        Json::Object(members) => {
            Value::Map(members.iter().map(|(key, value)| (key.clone(), to_value(value))).collect())
        }
    }
}

/// Compares two texts. At most `limit` lines are returned, each difference with `context` lines around it.
pub(super) fn compare(before: &str, after: &str, context: usize, limit: usize) -> TextDiff {
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    if old == new {
        return TextDiff::default();
    }
    let mut lines = Vec::new();
    for group in groups(&old, &new, context) {
        if group.first().is_some_and(|op| op.old_range().start > 0 || op.new_range().start > 0) {
            lines.push(Line::Gap);
        }
        for op in group {
            for change in op.iter_changes(&old, &new) {
                let text = change.value().to_owned();
                lines.push(match change.tag() {
                    ChangeTag::Equal => Line::Same(text),
                    ChangeTag::Delete => Line::Removed(text),
                    ChangeTag::Insert => Line::Added(text),
                });
            }
        }
    }
    let hidden = lines.len().saturating_sub(limit);
    lines.truncate(limit);
    TextDiff { lines, hidden }
}

fn groups(old: &[&str], new: &[&str], context: usize) -> Vec<Vec<DiffOp>> {
    let same_start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same_start;
    let same_end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (old_middle, new_middle) = (old.len() - same_start - same_end, new.len() - same_start - same_end);
    if old_middle > LONGEST && new_middle > LONGEST {
        let replaced = DiffOp::Replace {
            old_index: same_start,
            old_len: old_middle,
            new_index: same_start,
            new_len: new_middle,
        };
        return vec![vec![replaced]];
    }
    similar::group_diff_ops(capture_diff_slices(Algorithm::Myers, old, new), context)
}
