//! From nodes to values, as go-yaml v2 decodes into an `any` and sigs.k8s.io/yaml turns the result into JSON.

use std::borrow::Cow;
use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::GeneralPurposeConfig;
use base64::engine::{DecodePaddingMode, GeneralPurpose};

use super::describe::describe;
use super::error::YamlError;
use super::parse::{RawKind, RawNode};
use super::resolve::{Resolved, Schema, resolve};
use super::scan::too_deep;
use crate::value::json::{Numbers, text_from_bytes};
use crate::value::{MAX_DEPTH, Map, Value, number};

/// The prefix of YAML's own tags.
const CORE: &str = "tag:yaml.org,2002:";

/// Guards against documents whose aliases expand without measure: one alias may stand for thousands of nodes.
///
/// Source: go-yaml `decode.go`, `allowedAliasRatio`.
#[derive(Default)]
pub(super) struct Budget {
    decoded: u64,
    by_alias: u64,
    /// The aliases that are being expanded, from the outermost.
    open: Vec<usize>,
    depth: usize,
}

impl Budget {
    /// Counts one node.
    pub(super) fn count(&mut self, node: &RawNode<'_>) -> Result<(), YamlError> {
        self.decoded += 1;
        if !self.open.is_empty() {
            self.by_alias += 1;
        }
        if self.by_alias > 100 && self.decoded > 1000 {
            #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
            let (decoded, by_alias) = (self.decoded as f64, self.by_alias as f64);
            if by_alias / decoded > allowed_ratio(decoded) {
                return Err(YamlError::plain(node.start, "document contains excessive aliasing"));
            }
        }
        Ok(())
    }

    /// Enters a collection.
    pub(super) fn enter(&mut self, node: &RawNode<'_>) -> Result<(), YamlError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(YamlError::plain(node.start, too_deep()));
        }
        Ok(())
    }

    /// Leaves a collection.
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Enters the node that the alias at `at` stands for.
    pub(super) fn follow(&mut self, at: usize, node: &RawNode<'_>, name: &str) -> Result<(), YamlError> {
        if self.open.contains(&at) {
            let problem = format!("anchor '{name}' value contains itself");
            return Err(YamlError::plain(node.start, problem));
        }
        self.open.push(at);
        Ok(())
    }

    /// Leaves the node of the last alias.
    pub(super) fn unfollow(&mut self) {
        self.open.pop();
    }
}

fn allowed_ratio(decoded: f64) -> f64 {
    const LOW: f64 = 400_000.0;
    const HIGH: f64 = 4_000_000.0;
    0.99 - 0.89 * ((decoded.clamp(LOW, HIGH) - LOW) / (HIGH - LOW))
}

/// Decodes the document; a text without one is null.
pub(super) fn decode(nodes: &[RawNode<'_>], numbers: Numbers) -> Result<Value, YamlError> {
    if nodes.is_empty() {
        return Ok(Value::Null);
    }
    let mut decoder = Decoder { nodes, numbers, budget: Budget::default(), bad_key: None, infinite: false };
    let value = decoder.node(0)?;
    if let Some(error) = decoder.bad_key {
        return Err(error);
    }
    if decoder.infinite {
        no_infinity(&value)?;
    }
    Ok(value)
}

struct Decoder<'d, 'a> {
    nodes: &'d [RawNode<'a>],
    numbers: Numbers,
    budget: Budget,
    /// The first key without a JSON form: go-yaml's own errors come first.
    bad_key: Option<YamlError>,
    infinite: bool,
}

impl Decoder<'_, '_> {
    fn node(&mut self, at: usize) -> Result<Value, YamlError> {
        let node = &self.nodes[at];
        self.budget.count(node)?;
        match &node.kind {
            RawKind::Scalar { value, tag, implicit } => {
                let scalar = scalar(node, value, tag.as_deref(), *implicit)?;
                Ok(self.scalar_value(scalar))
            }
            RawKind::Alias(target, name) => {
                self.budget.follow(at, node, name)?;
                let value = self.node(*target as usize)?;
                self.budget.unfollow();
                Ok(value)
            }
            RawKind::List => {
                self.budget.enter(node)?;
                let mut list = Vec::new();
                let mut child = at + 1;
                while child < node.next as usize {
                    list.push(self.node(child)?);
                    child = self.nodes[child].next as usize;
                }
                self.budget.leave();
                Ok(Value::List(list))
            }
            RawKind::Map => {
                let mut target = Target::default();
                self.map_into(at, &mut target)?;
                Ok(Value::Map(target.map))
            }
        }
    }

    fn scalar_value(&mut self, scalar: Scalar<'_>) -> Value {
        let value = scalar.into_value(self.numbers);
        if let Value::Float(float) = value {
            self.infinite |= !float.is_finite();
        }
        value
    }

    /// Adds the pairs of the mapping at `at`. A merge key is applied where it stands: it overwrites what was
    /// written before it.
    fn map_into(&mut self, at: usize, target: &mut Target) -> Result<(), YamlError> {
        let node = &self.nodes[at];
        self.budget.enter(node)?;
        let mut child = at + 1;
        while child < node.next as usize {
            let value = self.nodes[child].next as usize;
            if is_merge(&self.nodes[child]) {
                self.merge(value, target)?;
            } else {
                let key = self.key(child, value)?;
                let value = self.node(value)?;
                if let Some((key, text)) = key {
                    target.insert(key, text, value);
                }
            }
            child = self.nodes[value].next as usize;
        }
        self.budget.leave();
        Ok(())
    }

    /// Reads the key at `at`; the flag tells whether it was text to begin with.
    fn key(&mut self, at: usize, value: usize) -> Result<Option<(String, bool)>, YamlError> {
        let mut end = at;
        let mut followed = 0;
        self.budget.count(&self.nodes[at])?;
        while let RawKind::Alias(target, name) = &self.nodes[end].kind {
            self.budget.follow(end, &self.nodes[end], name)?;
            followed += 1;
            end = *target as usize;
            self.budget.count(&self.nodes[end])?;
        }
        let node = &self.nodes[end];
        let RawKind::Scalar { value: text, tag, implicit } = &node.kind else {
            // What is wrong inside of the key comes first.
            self.node(end)?;
            let problem = format!("invalid map key: {}", describe(self.nodes, end));
            return Err(YamlError::plain(self.nodes[at].start, problem));
        };
        let key = scalar(node, text, tag.as_deref(), *implicit)?;
        for _ in 0..followed {
            self.budget.unfollow();
        }
        Ok(match key {
            Scalar::Text(text) => Some((text.into_owned(), true)),
            Scalar::Bytes(bytes) => Some((text_from_bytes(&bytes), true)),
            Scalar::Bool(flag) => Some((flag.to_string(), false)),
            Scalar::Int(number) => Some((number.to_string(), false)),
            Scalar::Float(float) => Some((float_key(float), false)),
            Scalar::Null | Scalar::Uint(_) => {
                let kind = if key == Scalar::Null { "%!s(<nil>)" } else { "uint64" };
                let (key, value) = (describe(self.nodes, end), describe(self.nodes, value));
                let problem = format!("unsupported map key of type: {kind}, key: {key}, value: {value}");
                let error = YamlError::convert(Some(self.nodes[at].start), problem);
                self.bad_key.get_or_insert(error);
                None
            }
        })
    }

    /// Merges a mapping, or a sequence of mappings of which the first wins.
    fn merge(&mut self, at: usize, target: &mut Target) -> Result<(), YamlError> {
        if !matches!(self.nodes[at].kind, RawKind::List) {
            return self.merge_map(at, target);
        }
        let mut children = Vec::new();
        let mut child = at + 1;
        while child < self.nodes[at].next as usize {
            children.push(child);
            child = self.nodes[child].next as usize;
        }
        children.into_iter().rev().try_for_each(|child| self.merge_map(child, target))
    }

    fn merge_map(&mut self, at: usize, target: &mut Target) -> Result<(), YamlError> {
        let node = &self.nodes[at];
        match &node.kind {
            RawKind::Map => {
                self.budget.count(node)?;
                self.map_into(at, target)
            }
            RawKind::Alias(map, name) if matches!(self.nodes[*map as usize].kind, RawKind::Map) => {
                self.budget.count(node)?;
                self.budget.follow(at, node, name)?;
                self.budget.count(&self.nodes[*map as usize])?;
                self.map_into(*map as usize, target)?;
                self.budget.unfollow();
                Ok(())
            }
            _ => Err(no_merge(node)),
        }
    }
}

pub(super) fn no_merge(node: &RawNode<'_>) -> YamlError {
    YamlError::plain(node.start, "map merge requires map or sequence of maps as the value")
}

pub(super) fn is_merge(node: &RawNode<'_>) -> bool {
    match &node.kind {
        RawKind::Scalar { value, tag, implicit } => {
            value == "<<" && (*implicit || tag.as_deref() == Some("tag:yaml.org,2002:merge"))
        }
        _ => false,
    }
}

/// A mapping under construction.
#[derive(Default)]
struct Target {
    map: Map,
    /// The keys that were not text. go-yaml keeps `1` and `"1"` apart and the conversion to JSON then picks
    /// one at random; here the one that is not text always wins.
    converted: HashSet<String>,
}

impl Target {
    fn insert(&mut self, key: String, text: bool, value: Value) {
        if !text {
            self.converted.insert(key.clone());
        } else if self.converted.contains(&key) {
            return;
        }
        self.map.insert(key, value);
    }
}

/// A resolved scalar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar<'n> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(Cow<'n, str>),
    /// The content of `!!binary`.
    Bytes(Vec<u8>),
}

impl Scalar<'_> {
    pub(super) fn into_value(self, numbers: Numbers) -> Value {
        #[expect(clippy::cast_precision_loss, reason = "Helm reads integers as float64 too")]
        match (self, numbers) {
            (Scalar::Null, _) => Value::Null,
            (Scalar::Bool(flag), _) => Value::Bool(flag),
            (Scalar::Int(number), Numbers::Typed) => Value::Int(number),
            (Scalar::Int(number), Numbers::Float) => Value::Float(number as f64),
            (Scalar::Uint(number), Numbers::Typed) => Value::Uint(number),
            (Scalar::Uint(number), Numbers::Float) => Value::Float(number as f64),
            (Scalar::Float(float), _) => Value::Float(float),
            (Scalar::Text(text), _) => Value::Str(text.into_owned()),
            (Scalar::Bytes(bytes), _) => Value::Str(text_from_bytes(&bytes)),
        }
    }
}

/// Resolves a scalar by its tag or its spelling.
pub(super) fn scalar<'n>(
    node: &RawNode<'_>,
    text: &'n str,
    tag: Option<&str>,
    implicit: bool,
) -> Result<Scalar<'n>, YamlError> {
    let Some(tag) = tag else {
        return Ok(if implicit { by_spelling(text, true) } else { Scalar::Text(Cow::Borrowed(text)) });
    };
    let dates = match tag.strip_prefix(CORE) {
        Some("bool" | "int" | "float" | "null") => false,
        Some("timestamp") => true,
        Some("binary") => return binary(node, text).map(Scalar::Bytes),
        _ => return Ok(Scalar::Text(Cow::Borrowed(text))),
    };
    let found = resolve(text, Schema::V2, dates);
    let asked = format!("!!{}", &tag[CORE.len()..]);
    if found.tag() == asked {
        return Ok(by_spelling(text, dates));
    }
    if let (Resolved::Int(number), "!!float") = (found, asked.as_str()) {
        #[expect(clippy::cast_precision_loss, reason = "the tag asks for a float64")]
        return Ok(Scalar::Float(number as f64));
    }
    let problem = format!("cannot decode {} `{text}` as a {asked}", found.tag());
    Err(YamlError::plain(node.start, problem))
}

fn by_spelling(text: &str, dates: bool) -> Scalar<'_> {
    match resolve(text, Schema::V2, dates) {
        Resolved::Null => Scalar::Null,
        Resolved::Bool(flag) => Scalar::Bool(flag),
        Resolved::Int(number) => Scalar::Int(number),
        Resolved::Uint(number) => Scalar::Uint(number),
        Resolved::Float(float) => Scalar::Float(float),
        Resolved::Timestamp | Resolved::Text => Scalar::Text(Cow::Borrowed(text)),
    }
}

fn binary(node: &RawNode<'_>, text: &str) -> Result<Vec<u8>, YamlError> {
    // Go's decoder skips line breaks and does not look at the unused bits of the last character.
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
    );
    let text = text.replace(['\r', '\n'], "");
    LENIENT
        .decode(text)
        .map_err(|_| YamlError::plain(node.start, "!!binary value contains invalid base64 data"))
}

/// sigs.k8s.io/yaml writes float keys with the digits of a `float32`.
pub(super) fn float_key(float: f64) -> String {
    match number::format_g32(float).as_str() {
        "+Inf" => ".inf".to_owned(),
        "-Inf" => "-.inf".to_owned(),
        "NaN" => ".nan".to_owned(),
        text => text.to_owned(),
    }
}

/// Refuses numbers without a JSON form.
fn no_infinity(value: &Value) -> Result<(), YamlError> {
    match value {
        Value::Float(float) if !float.is_finite() => {
            let problem = format!("json: unsupported value: {}", number::format_g(*float));
            Err(YamlError::convert(None, problem))
        }
        Value::List(list) => list.iter().try_for_each(no_infinity),
        Value::Map(map) => map.values().try_for_each(no_infinity),
        _ => Ok(()),
    }
}
