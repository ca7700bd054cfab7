//! Limits and quotas of a namespace: the LimitRange `limit-range` and the ResourceQuota `resource-quota`.

use super::fields::{Context, Fields, scalar_text, wrong_type};
use super::keys::{Section, keys_of};
use super::problems::{Code, Problem};
use super::raw::At;
use super::tree::{Kind, Text, join};
use std::collections::BTreeMap;

/// An item of a LimitRange; each part by resource, `cpu` or `memory`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// What it is for, such as `Container`.
    pub kind: String,
    /// The parts by the name that the API gives them, such as `defaultRequest`; none is empty.
    pub parts: BTreeMap<String, BTreeMap<String, String>>,
}

const PARTS: [&str; 5] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
/// Kubernetes `api/core/v1/types.go`, `LimitType`. Others are resources of the server's own.
const KINDS: [&str; 3] = ["Container", "Pod", "PersistentVolumeClaim"];

/// Reads `limits`.
pub(super) fn limits(space: &Fields<'_>, cx: &mut Context<'_, '_>) -> Vec<Limit> {
    let mut out = Vec::new();
    let Some((items, path)) = space.list("limits", cx) else { return out };
    for (at, item) in items.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let Kind::Map(table) = &item.kind else {
            let _: Option<()> = wrong_type(item, &path, "a table with `type`", cx);
            continue;
        };
        let fields = Fields::new(table, path.as_str());
        let kind = fields.text("type", cx).filter(|kind| !kind.value.value.is_empty());
        match &kind {
            None if fields.get("type").is_none() => {
                let problem = Problem::new(Code::MissingKey, path.as_str(), "`type` is missing", item.span);
                cx.report.problem(problem.hint("such as \"Container\" or \"Pod\""));
            }
            Some(kind) if !KINDS.contains(&kind.value.value.as_str()) && !kind.value.value.contains('/') => {
                let message = format!("`{}` is not a kind of limit", kind.value.shown());
                let hint = cx.report.did_you_mean(&kind.value.value, KINDS);
                let hint = hint.unwrap_or_else(|| format!("known are {}", KINDS.join(", ")));
                let problem = Problem::new(Code::BadValue, format!("{path}.type"), message, kind.span);
                cx.report.problem(problem.hint(hint));
            }
            _ => {}
        }
        let mut limit =
            Limit { kind: kind.map_or_else(String::new, |kind| kind.value.value), ..Limit::default() };
        for part in PARTS {
            let Some((table, path)) = fields.table(part, cx) else { continue };
            let values = Fields::new(table, path);
            let amounts: BTreeMap<String, String> = ["cpu", "memory"]
                .into_iter()
                .filter_map(|resource| {
                    Some((resource.to_owned(), quantity(&values, resource, cx)?.value.value))
                })
                .collect();
            if !amounts.is_empty() {
                limit.parts.insert(part.to_owned(), amounts);
            }
        }
        out.push(limit);
    }
    out
}

/// Reads `quotas`: amounts by resource.
pub(super) fn quotas(space: &Fields<'_>, cx: &mut Context<'_, '_>) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let Some((table, path)) = space.table("quotas", cx) else { return out };
    let fields = Fields::new(table, path);
    for key in keys_of(Section::Quotas).filter(|key| key.name != "customQuotas") {
        if let Some(amount) = quantity(&fields, key.name, cx).filter(|amount| !amount.value.value.is_empty())
        {
            out.insert(key.name.to_owned(), amount.value.value);
        }
    }
    let Some((items, path)) = fields.list("customQuotas", cx) else { return out };
    for (at, item) in items.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let Kind::Map(table) = &item.kind else {
            let _: Option<()> = wrong_type(item, &path, "a table with `name` and `value`", cx);
            continue;
        };
        let fields = Fields::new(table, path.as_str());
        for key in ["name", "value"] {
            if fields.get(key).is_none() {
                let message = format!("`{key}` is missing");
                cx.report.problem(Problem::new(Code::MissingKey, path.as_str(), message, item.span));
            }
        }
        let name = fields.text("name", cx);
        let Some((name, amount)) = name.zip(quantity(&fields, "value", cx)) else { continue };
        if out.insert(name.value.value.clone(), amount.value.value).is_some() {
            let message = format!("the quota of `{}` is given twice", name.value.shown());
            cx.report.problem(Problem::new(Code::BadValue, path, message, name.span));
        }
    }
    out
}

/// An amount of a resource, as text or as a number.
fn quantity(fields: &Fields<'_>, key: &str, cx: &mut Context<'_, '_>) -> Option<At<Text>> {
    let (entry, path) = fields.get(key)?;
    let amount = scalar_text(&entry.value, &path, cx)?;
    if !amount.value.value.is_empty() && !is_quantity(&amount.value.value) {
        let message = format!("`{}` is not a quantity", amount.value.shown());
        let problem = Problem::new(Code::BadValue, join(&fields.path, key), message, amount.span);
        cx.report.problem(problem.hint("such as \"500m\", \"2\", \"1.5Gi\" or \"1e3\""));
        return None;
    }
    Some(amount)
}

/// Tells whether a text is a quantity.
///
/// Source: Kubernetes `apimachinery/pkg/api/resource/quantity.go`: a decimal number and a suffix.
fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let is_number = number.matches('.').count() <= 1 && number.bytes().any(|b| b.is_ascii_digit());
    let is_exponent = suffix.strip_prefix(['e', 'E']).is_some_and(|rest| {
        let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    });
    let suffixes = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    is_number && (is_exponent || suffixes.contains(&suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_those_of_kubernetes() {
        for (text, expected) in [
            ("25", true),
            ("300m", true),
            ("1.5Gi", true),
            ("1e3", true),
            ("2E", true),
            ("12E+2", true),
            (".5", true),
            ("-1", true),
            ("", false),
            (".", false),
            ("1.2.3", false),
            ("1 Gi", false),
            ("1gb", false),
            ("1e", false),
            ("Gi", false),
        ] {
            assert_eq!(is_quantity(text), expected, "{text}");
        }
    }
}
