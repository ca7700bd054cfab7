//! Variables of the environment in a values file: only where somebody asked for it.
//!
//! They are replaced in scalars that are already parsed, so a value never changes the structure of the file. What was
//! written without quotes is then read again by its spelling: `replicas: $N` is a number, as in Helmsman.

use super::substitute::Substitution;
use super::tree::{Kind, Node, Text};
use crate::text::{Sources, Span};
use crate::value::{Map, Value};
use crate::yaml::{self, Content};
use std::collections::BTreeMap;

/// Returns the values of a file with its variables replaced.
///
/// # Errors
/// Everything that is wrong with it, each with its line.
pub fn substituted_values(
    name: &str,
    text: &str,
    env: &BTreeMap<String, String>,
    recursive: bool,
) -> Result<Map, Vec<String>> {
    let root = yaml::read_spanned(text.as_bytes()).map_err(|error| vec![format!("{name}: {error}")])?;
    let mut sources = Sources::default();
    let file = sources.add(name, text);
    let mut problems = Vec::new();
    let mut replacer = Replacer {
        pass: Substitution::new(env, None, &sources, &mut problems).recursive(recursive),
        place: |span: yaml::Span| Span::new(file, span.start..span.end),
    };
    let value = replacer.value(&root);
    if !problems.is_empty() {
        let line = |problem: &super::Problem| {
            let hint = problem.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{}: {}{hint}", sources.location(problem.span), problem.message)
        };
        return Err(problems.iter().map(line).collect());
    }
    match value {
        Value::Map(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        _ => Err(vec![format!("{name}: the file holds no keys")]),
    }
}

struct Replacer<'a, F> {
    pass: Substitution<'a>,
    place: F,
}

impl<F: Fn(yaml::Span) -> Span> Replacer<'_, F> {
    fn value(&mut self, node: &yaml::Node) -> Value {
        match &node.content {
            Content::Scalar { value: Value::Str(text), plain, .. } if text.contains('$') => {
                let (text, replaced) = self.text(text, node.span);
                if !(*plain && replaced) {
                    return Value::Str(text);
                }
                match yaml::read(text.as_bytes()) {
                    Ok(value @ (Value::Bool(_) | Value::Float(_) | Value::Null)) => value,
                    _ => Value::Str(text),
                }
            }
            Content::Scalar { value, .. } => match value {
                // Helm reads values files through JSON, so every number is a float.
                #[expect(clippy::cast_precision_loss, reason = "the same loss as in Go's float64")]
                Value::Int(number) => Value::Float(*number as f64),
                #[expect(clippy::cast_precision_loss, reason = "the same loss as in Go's float64")]
                Value::Uint(number) => Value::Float(*number as f64),
                other => other.clone(),
            },
            Content::List(items) => Value::List(items.iter().map(|item| self.value(item)).collect()),
            Content::Map(entries) => {
                let entries = entries.iter().map(|entry| {
                    let (key, _) = self.text(&entry.name, entry.key.span);
                    (key, self.value(&entry.value))
                });
                Value::Map(entries.collect())
            }
        }
    }

    fn text(&mut self, text: &str, span: yaml::Span) -> (String, bool) {
        if !text.contains('$') {
            return (text.to_owned(), false);
        }
        let mut node = Node { kind: Kind::Str(Text::plain(text)), span: (self.place)(span) };
        self.pass.node(&mut node, "");
        match node.kind {
            Kind::Str(text) => (text.value, text.written.is_some()),
            _ => (text.to_owned(), false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<&str, &[&str]>) {
        let env = [("N", "3"), ("T", "true"), ("S", "a: b"), ("Q", "it's\n\"x\"")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let found = substituted_values("v.yaml", text, &env, false);
        match expected {
            Ok(expected) => {
                let expected = yaml::read_map(expected.as_bytes()).unwrap();
                assert_eq!(found, Ok(expected), "{text}");
            }
            Err(expected) => {
                assert_eq!(found, Err(expected.iter().map(|line| (*line).to_owned()).collect()), "{text}")
            }
        }
    }

    #[test]
    fn variables_are_replaced_in_scalars_only() {
        check("a: $N\nb: '$N'\nc: ${T}\nd: x$N", Ok("a: 3\nb: '3'\nc: true\nd: x3"));
        check("a: $S\nb: \"$Q\"", Ok("a: 'a: b'\nb: \"it's\\n\\\"x\\\"\""));
        check("$N: 1\nl: [1, $N]", Ok("'3': 1\nl: [1, 3]"));
        check("a: $$N\nb: 5$", Ok("a: '$N'\nb: 5$"));
        check("", Ok("{}"));
        check(
            "a: $NO\nb: [\"x ${NADA}\"]",
            Err(&[
                "v.yaml:1:4: environment variable `NO` is not set (set it, write `${NO:-default}`, or `$$` for a plain `$`)",
                "v.yaml:2:8: environment variable `NADA` is not set (set it, write `${NADA:-default}`, or `$$` for a plain `$`)",
            ]),
        );
        check("- a", Err(&["v.yaml: the file holds no keys"]));
    }
}
