//! Findings of the schema checker in the form and the words of santhosh-tekuri/jsonschema.
//!
//! The checker gives a flat list with the path of keywords that led to each finding. That library prints a
//! tree: what several keywords of one subschema say stands under `validation failed`, what branches of
//! `allOf`, `anyOf` and `oneOf` say under that keyword.

use std::collections::VecDeque;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value as Json;

use crate::go::strconv;
use crate::value::number::{format_f, format_g};

/// One line of the report, with the lines below it.
struct Finding {
    at: String,
    text: String,
    causes: Vec<Finding>,
    /// It only holds together what one subschema says.
    is_group: bool,
}

impl Finding {
    fn new(at: &str, text: impl Into<String>, causes: Vec<Finding>) -> Self {
        Self { at: at.to_owned(), text: text.into(), causes, is_group: false }
    }
}

/// What stands over several findings of one subschema.
const GROUP: &str = "validation failed";

/// A finding of the checker on its way down the tree: what is left of its paths.
struct Pending<'e, 'a> {
    error: &'e ValidationError<'a>,
    keywords: VecDeque<String>,
    instance: VecDeque<String>,
}

/// Returns the report, a line for each finding.
pub(super) fn text(errors: &[ValidationError<'_>]) -> String {
    let mut lines = Vec::new();
    let whole = one(subschema(pending(errors, 0, 0), ""), "");
    // The outermost group has no line of its own, wherever it is.
    let findings = if whole.is_group { whole.causes } else { vec![whole] };
    for finding in findings {
        write(&finding, 0, &mut lines);
    }
    lines.concat()
}

fn write(finding: &Finding, indent: usize, lines: &mut Vec<String>) {
    lines.push(format!("{}- at {}: {}\n", "  ".repeat(indent), quote(&finding.at), finding.text));
    for cause in &finding.causes {
        write(cause, indent + 1, lines);
    }
}

/// Returns the findings without the first `keywords` and `instance` steps of their paths.
fn pending<'e, 'a>(
    errors: &'e [ValidationError<'a>],
    keywords: usize,
    instance: usize,
) -> Vec<Pending<'e, 'a>> {
    let rest = |path: &str, steps| path.split('/').skip(1 + steps).map(unescape).collect();
    errors
        .iter()
        .map(|error| Pending {
            error,
            keywords: rest(error.evaluation_path().as_str(), keywords),
            instance: rest(error.instance_path().as_str(), instance),
        })
        .collect()
}

/// Returns what one subschema has to say of the value at `at`, keyword by keyword.
fn subschema(mut pending: Vec<Pending<'_, '_>>, at: &str) -> Vec<Finding> {
    // The first of these that fails is all that the library says.
    for keyword in ["type", "const", "enum", "format"] {
        let is_it = |pending: &Pending<'_, '_>| pending.keywords.len() == 1 && pending.keywords[0] == keyword;
        if let Some(found) = pending.iter().find(|pending| is_it(pending)) {
            return vec![leaf(found, at)];
        }
    }
    // In the order in which the library looks at keywords; it goes through properties in no order at all.
    pending.sort_by_key(|pending| rank(pending.keywords.front().map_or("", String::as_str)));
    let mut findings: Vec<Finding> = Vec::new();
    let mut rest = VecDeque::from(pending);
    while let Some(mut first) = rest.pop_front() {
        let Some(keyword) = first.keywords.pop_front() else {
            findings.push(leaf(&first, at));
            continue;
        };
        let Some(steps) = steps(&keyword, &first) else {
            let mut leaves = vec![first];
            if keyword == "required" {
                let mut others = VecDeque::new();
                for other in rest {
                    let same = other.keywords.front() == Some(&keyword);
                    if same { leaves.push(other) } else { others.push_back(other) }
                }
                rest = others;
            }
            findings.push(if leaves.len() > 1 { missing(&leaves, at) } else { leaf(&leaves[0], at) });
            continue;
        };
        let path: Vec<String> = first.keywords.drain(..steps.keywords.min(first.keywords.len())).collect();
        let place: Vec<String> = first.instance.drain(..steps.instance.min(first.instance.len())).collect();
        let mut group = vec![first];
        let mut others = VecDeque::new();
        let all_branches = keyword == "allOf";
        let mut branches = vec![path.clone()];
        for mut other in rest {
            let keywords: Vec<_> = other.keywords.iter().skip(1).take(path.len()).cloned().collect();
            let instance: Vec<_> = other.instance.iter().take(place.len()).cloned().collect();
            let same = other.keywords.front() == Some(&keyword)
                && instance == place
                && (keywords == path || all_branches);
            if same {
                other.keywords.drain(..=path.len());
                other.instance.drain(..place.len());
                branches.push(keywords);
                group.push(other);
            } else {
                others.push_back(other);
            }
        }
        rest = others;
        let at: String = place.iter().fold(at.to_owned(), |at, step| format!("{at}/{}", escape(step)));
        let found = if all_branches {
            let branches = by_branch(group, &branches, &at);
            Finding::new(&at, "'allOf' failed", branches)
        } else {
            let found = one(subschema(group, &at), &at);
            // A reference takes the place of the group behind it, even of one further down.
            let is_reference = keyword.starts_with('$') && found.is_group;
            if is_reference { Finding::new(&at, GROUP, found.causes) } else { found }
        };
        findings.push(found);
    }
    findings
}

/// Returns one finding per branch of an `allOf`.
fn by_branch(group: Vec<Pending<'_, '_>>, branches: &[Vec<String>], at: &str) -> Vec<Finding> {
    let mut sorted: Vec<(&Vec<String>, Vec<Pending<'_, '_>>)> = Vec::new();
    for (pending, branch) in group.into_iter().zip(branches) {
        match sorted.iter_mut().find(|(known, _)| *known == branch) {
            Some((_, same)) => same.push(pending),
            None => sorted.push((branch, vec![pending])),
        }
    }
    sorted.into_iter().map(|(_, pending)| one(subschema(pending, at), at)).collect()
}

/// Returns the findings of one subschema as a single one.
fn one(mut findings: Vec<Finding>, at: &str) -> Finding {
    match findings.pop() {
        Some(only) if findings.is_empty() => only,
        last => {
            findings.extend(last);
            Finding { is_group: true, ..Finding::new(at, GROUP, findings) }
        }
    }
}

/// How many path steps belong to a keyword that leads into another subschema.
struct Steps {
    keywords: usize,
    instance: usize,
}

fn steps(keyword: &str, pending: &Pending<'_, '_>) -> Option<Steps> {
    if pending.keywords.is_empty() && !matches!(pending.error.kind(), Kind::FalseSchema) {
        return None;
    }
    let numbered =
        pending.keywords.front().is_some_and(|step| step.bytes().all(|byte| byte.is_ascii_digit()));
    Some(match keyword {
        "properties" | "patternProperties" | "prefixItems" => Steps { keywords: 1, instance: 1 },
        "additionalProperties" | "additionalItems" | "unevaluatedProperties" | "unevaluatedItems" => {
            Steps { keywords: 0, instance: 1 }
        }
        "items" => Steps { keywords: usize::from(numbered), instance: 1 },
        "allOf" | "dependentSchemas" | "dependencies" => Steps { keywords: 1, instance: 0 },
        "$ref" | "$dynamicRef" | "$recursiveRef" | "if" | "then" | "else" => {
            Steps { keywords: 0, instance: 0 }
        }
        _ => return None,
    })
}

fn rank(keyword: &str) -> usize {
    const ORDER: [&[&str]; 12] = [
        &["$ref"],
        &["minProperties", "minItems", "minLength", "minimum"],
        &["maxProperties", "maxItems", "maxLength", "maximum"],
        &["required", "uniqueItems", "pattern", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
        &["dependencies"],
        &["properties", "patternProperties", "prefixItems", "items", "additionalItems"],
        &["additionalProperties"],
        &["propertyNames", "contains", "dependentSchemas", "dependentRequired"],
        &["not"],
        &["allOf"],
        &["anyOf"],
        &["oneOf"],
    ];
    ORDER.iter().position(|group| group.contains(&keyword)).unwrap_or(ORDER.len())
}

/// Returns the one line on several properties that are missing.
fn missing(leaves: &[Pending<'_, '_>], at: &str) -> Finding {
    let names = leaves.iter().filter_map(|leaf| match leaf.error.kind() {
        Kind::Required { property } => property.as_str().map(quote),
        _ => None,
    });
    let names: Vec<_> = names.collect();
    Finding::new(at, format!("missing properties {}", names.join(", ")), Vec::new())
}

fn leaf(pending: &Pending<'_, '_>, at: &str) -> Finding {
    let error = pending.error;
    let got = error.instance();
    let mut causes = Vec::new();
    let text = match error.kind() {
        Kind::Type { kind } => format!("got {}, want {}", type_name(got), wanted(kind)),
        Kind::Required { property } => {
            format!("missing property {}", property.as_str().map_or_else(String::new, quote))
        }
        Kind::AdditionalProperties { unexpected } => {
            format!("additional properties {} not allowed", quoted(unexpected))
        }
        Kind::AdditionalItems { limit } => {
            let count = got.as_array().map_or(0, Vec::len).saturating_sub(*limit);
            format!("last {count} additionalItem(s) not allowed")
        }
        Kind::UnevaluatedProperties { .. } | Kind::UnevaluatedItems { .. } | Kind::FalseSchema => {
            "false schema".to_owned()
        }
        Kind::Enum { options } => one_of(options),
        Kind::Constant { expected_value } => match &**expected_value {
            Json::Array(_) | Json::Object(_) => "'const' failed".to_owned(),
            value => format!("value must be {}", display(value)),
        },
        Kind::Format { format } => format!("{} is not valid {format}: invalid {format}", display(got)),
        Kind::Pattern { pattern } => {
            format!("{} does not match pattern {}", quote(got.as_str().unwrap_or_default()), quote(pattern))
        }
        Kind::MinLength { limit } => counted("minLength", characters(got), *limit),
        Kind::MaxLength { limit } => counted("maxLength", characters(got), *limit),
        Kind::MinItems { limit } => counted("minItems", got.as_array().map_or(0, Vec::len), *limit),
        Kind::MaxItems { limit } => counted("maxItems", got.as_array().map_or(0, Vec::len), *limit),
        Kind::MinProperties { limit } => {
            counted("minProperties", got.as_object().map_or(0, |o| o.len()), *limit)
        }
        Kind::MaxProperties { limit } => {
            counted("maxProperties", got.as_object().map_or(0, |o| o.len()), *limit)
        }
        Kind::Minimum { limit } => compared("minimum", got, limit.as_f64()),
        Kind::Maximum { limit } => compared("maximum", got, limit.as_f64()),
        Kind::ExclusiveMinimum { limit } => compared("exclusiveMinimum", got, limit.as_f64()),
        Kind::ExclusiveMaximum { limit } => compared("exclusiveMaximum", got, limit.as_f64()),
        Kind::MultipleOf { multiple_of } => compared("multipleOf", got, Some(*multiple_of)),
        Kind::UniqueItems => {
            let (first, second) = equal_items(got).unwrap_or_default();
            format!("items at {first} and {second} are equal")
        }
        Kind::Contains => "no items match contains schema".to_owned(),
        Kind::Not { .. } => "'not' failed".to_owned(),
        Kind::AnyOf { context } => {
            causes = branches(context, pending, at);
            "'anyOf' failed".to_owned()
        }
        Kind::OneOfNotValid { context } => {
            causes = branches(context, pending, at);
            "'oneOf' failed, none matched".to_owned()
        }
        Kind::OneOfMultipleValid { context } => {
            let mut matched = (0..context.len()).filter(|index| context[*index].is_empty());
            let (first, second) = (matched.next().unwrap_or(0), matched.next().unwrap_or(1));
            format!("'oneOf' failed, subschemas {first}, {second} matched")
        }
        Kind::PropertyNames { error } => {
            let name = error.instance().as_str().map_or_else(String::new, quote);
            format!("invalid propertyName {name}")
        }
        _ => error.to_string(),
    };
    Finding::new(at, text, causes)
}

/// Returns one finding for each branch of an `anyOf` or `oneOf`.
fn branches(context: &[Vec<ValidationError<'static>>], parent: &Pending<'_, '_>, at: &str) -> Vec<Finding> {
    let keywords = parent.error.evaluation_path().as_str().split('/').count();
    let instance = parent.error.instance_path().as_str().split('/').count() - 1;
    context.iter().map(|errors| one(subschema(pending(errors, keywords, instance), at), at)).collect()
}

fn one_of(options: &Json) -> String {
    let options = options.as_array().map_or(&[][..], Vec::as_slice);
    if options.iter().any(|option| option.is_array() || option.is_object()) {
        return "'enum' failed".to_owned();
    }
    let shown: Vec<_> = options.iter().map(display).collect();
    match shown.as_slice() {
        [only] => format!("value must be {only}"),
        several => format!("value must be one of {}", several.join(", ")),
    }
}

fn counted(keyword: &str, got: usize, want: u64) -> String {
    format!("{keyword}: got {}, want {}", grouped(&got.to_string()), grouped(&want.to_string()))
}

fn compared(keyword: &str, got: &Json, want: Option<f64>) -> String {
    let shown = |number: Option<f64>| localized(number.unwrap_or_default());
    format!("{keyword}: got {}, want {}", shown(got.as_f64()), shown(want))
}

/// Returns a float as the library prints it for English readers: `70,000`, but `1×10⁰⁶`.
fn localized(number: f64) -> String {
    let short = format_g(number);
    let Some((mantissa, exponent)) = short.split_once('e') else { return grouped(&format_f(number)) };
    let raised = exponent.chars().filter_map(|digit| match digit {
        '-' => Some('⁻'),
        digit => "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10)? as usize),
    });
    format!("{mantissa}×10{}", raised.collect::<String>())
}

/// Returns a number with commas between groups of three digits, as the library prints numbers.
fn grouped(number: &str) -> String {
    let (sign, number) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (whole, fraction) =
        number.split_once('.').map_or((number, None), |(whole, rest)| (whole, Some(rest)));
    let mut out = sign.to_owned();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

fn characters(value: &Json) -> usize {
    value.as_str().map_or(0, |text| text.chars().count())
}

fn equal_items(value: &Json) -> Option<(usize, usize)> {
    let items = value.as_array()?;
    (0..items.len())
        .flat_map(|second| (0..second).map(move |first| (first, second)))
        .find(|(first, second)| items[*first] == items[*second])
}

fn wanted(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(only) => only.to_string(),
        TypeKind::Multiple(several) => {
            let names: Vec<String> = several.iter().map(|one| one.to_string()).collect();
            let known = ["null", "boolean", "number", "integer", "string", "array", "object"];
            let sorted: Vec<_> =
                known.into_iter().filter(|name| names.iter().any(|other| other == name)).collect();
            sorted.join(" or ")
        }
    }
}

fn type_name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn display(value: &Json) -> String {
    match value {
        Json::String(text) => quote(text),
        Json::Array(_) | Json::Object(_) => "value".to_owned(),
        Json::Null => "<nil>".to_owned(),
        Json::Number(number) => number.as_f64().map_or_else(|| number.to_string(), format_g),
        Json::Bool(flag) => flag.to_string(),
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(", ")
}

fn quote(text: &str) -> String {
    let quoted = strconv::quote(text.as_bytes()).replace("\\\"", "\"").replace('\'', "\\'");
    format!("'{}'", &quoted[1..quoted.len() - 1])
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

fn escape(step: &str) -> String {
    step.replace('~', "~0").replace('/', "~1")
}
