//! Constraints: groups joined by `||`, each a list of comparators that must all hold.

use std::fmt;

use super::version::{Shape, Version, compare_prereleases};

/// Longest constraint text that is read, in bytes.
const MAX_LENGTH: usize = 512;
/// Most groups that are read.
const MAX_GROUPS: usize = 32;

/// Why a text is not a constraint. Display is the text of Masterminds/semver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConstraintError {
    /// A group is not a list of comparators.
    #[error("improper constraint: {}", quoted(.0))]
    Improper(String),
    /// A comparator's version is no version.
    #[error("constraint parser error")]
    Version,
    /// More than 512 bytes.
    #[error("constraint string is too long (max {MAX_LENGTH} bytes)")]
    TooLong,
    /// More than 32 groups.
    #[error("too many constraint groups (max {MAX_GROUPS})")]
    TooManyGroups,
}

/// The text as Go's `%q` shows it, but that only ASCII is ever escaped.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for rune in text.chars() {
        match rune {
            '"' | '\\' => out.extend(['\\', rune]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\x1F' | '\x7F' => out.extend(format!("\\x{:02x}", u32::from(rune)).chars()),
            _ => out.push(rune),
        }
    }
    out.push('"');
    out
}

/// A set of versions.
#[derive(Clone, Debug)]
pub struct Constraint {
    groups: Vec<Group>,
}

/// Comparators that must all hold.
#[derive(Clone, Debug)]
struct Group {
    comparators: Vec<Comparator>,
    /// One comparator names a pre-release, which opens the whole group to pre-releases.
    prereleases: bool,
}

#[derive(Clone, Debug)]
struct Comparator {
    operator: Operator,
    /// The operator and the version as written, for printing.
    written: (String, String),
    version: Version,
    /// From where on the version was left open: `1.2` and `1.2.x` leave the patch open.
    open: Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    /// `=` or nothing.
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// The first part of a version that is left open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    Patch,
    Minor,
    Everything,
}

/// Operators by length, so that the longer one is tried first.
const OPERATORS: &[(&str, Operator)] = &[
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("~>", Operator::Tilde),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
    ("", Operator::Equal),
];

impl Constraint {
    /// Reads a constraint (`semver.NewConstraint`).
    ///
    /// # Errors
    /// The text is not a constraint; the empty text is none either.
    pub fn parse(text: &str) -> Result<Constraint, ConstraintError> {
        if text.len() > MAX_LENGTH {
            return Err(ConstraintError::TooLong);
        }
        let text = rewrite_ranges(text);
        let parts: Vec<&str> = text.split("||").collect();
        if parts.len() > MAX_GROUPS {
            return Err(ConstraintError::TooManyGroups);
        }
        let groups = parts.into_iter().map(parse_group).collect::<Result<_, _>>()?;
        Ok(Constraint { groups })
    }

    /// Tells whether `version` is in the set (`Constraints.Check`).
    pub fn check(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            (version.prerelease.is_empty() || group.prereleases)
                && group.comparators.iter().all(|comparator| comparator.admits(version))
        })
    }
}

impl fmt::Display for Constraint {
    /// Writes the comparators as they were read, ranges rewritten (`Constraints.String`).
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, group) in self.groups.iter().enumerate() {
            out.write_str(if index == 0 { "" } else { " || " })?;
            for (index, comparator) in group.comparators.iter().enumerate() {
                let (operator, version) = &comparator.written;
                write!(out, "{}{operator}{version}", if index == 0 { "" } else { " " })?;
            }
        }
        Ok(())
    }
}

/// The bytes that Go's `\s` matches.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ')
}

fn skip_spaces(text: &str) -> &str {
    text.trim_start_matches(|rune: char| rune.is_ascii() && is_space(u8::try_from(rune).unwrap_or(0)))
}

/// A number of a constraint may be a placeholder. The bar belongs to the class by an old slip that is kept.
fn in_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'|' | b'x' | b'X' | b'*')
}

/// Rewrites each `A - B` to `>= A, <= B `.
///
/// A range starts at the first place from which a version reaches exactly to the blanks around the dash.
fn rewrite_ranges(text: &str) -> String {
    let mut out = text.to_owned();
    let mut cursor = 0;
    while cursor < text.len() {
        let Some((found, low, high)) = range_at(text, cursor) else {
            cursor += text[cursor..].chars().next().map_or(1, char::len_utf8);
            continue;
        };
        out = out.replacen(found, &format!(">= {low}, <= {high} "), 1);
        cursor += found.len();
    }
    out
}

/// The whole range with the blanks around it, and its two versions.
fn range_at(text: &str, start: usize) -> Option<(&str, &str, &str)> {
    let tail = text.get(start..)?;
    let body = skip_spaces(tail);
    let low = body.get(..Shape::of(body, in_number)?.length)?;
    let after_low = body.get(low.len()..)?;
    let dash = skip_spaces(after_low);
    let after_dash = dash.strip_prefix('-')?;
    let body = skip_spaces(after_dash);
    if dash.len() == after_low.len() || body.len() == after_dash.len() {
        return None;
    }
    let high = body.get(..Shape::of(body, in_number)?.length)?;
    let rest = skip_spaces(body.get(high.len()..)?);
    Some((tail.get(..tail.len() - rest.len())?, low, high))
}

fn parse_group(text: &str) -> Result<Group, ConstraintError> {
    let improper = || ConstraintError::Improper(text.to_owned());
    let mut comparators = Vec::new();
    let mut rest = text;
    loop {
        let body = skip_spaces(rest);
        let (operator_text, operator) = OPERATORS
            .iter()
            .find(|(operator, _)| body.starts_with(operator))
            .map(|&(text, operator)| (text, operator))
            .ok_or_else(improper)?;
        let body = skip_spaces(body.get(operator_text.len()..).unwrap_or_default());
        let shape = Shape::of(body, in_number).ok_or_else(improper)?;
        let (written, tail) = body.split_at_checked(shape.length).ok_or_else(improper)?;
        let after = skip_spaces(tail);
        comparators.push((operator_text, operator, written, shape));
        if after.is_empty() {
            break;
        }
        // A comma or a blank must stand between two comparators, and something after a comma.
        rest = match after.strip_prefix(',') {
            Some(next) => next,
            None if after.len() < tail.len() => after,
            None => return Err(improper()),
        };
    }
    let comparators = comparators
        .into_iter()
        .map(|(operator_text, operator, written, shape)| comparator(operator_text, operator, written, shape))
        .collect::<Result<Vec<_>, _>>()?;
    let prereleases = comparators.iter().any(|comparator| !comparator.version.prerelease.is_empty());
    Ok(Group { comparators, prereleases })
}

fn comparator(
    operator_text: &str,
    operator: Operator,
    written: &str,
    shape: Shape<'_>,
) -> Result<Comparator, ConstraintError> {
    let is_open = |part: Option<&str>| part.is_none_or(|part| matches!(part, "x" | "X" | "*"));
    let prerelease = shape.prerelease.map(|text| format!("-{text}")).unwrap_or_default();
    let minor = shape.minor.unwrap_or_default();
    let (text, open) = if is_open(Some(shape.major)) {
        (format!("0.0.0{prerelease}"), Open::Everything)
    } else if is_open(shape.minor) {
        (format!("{}.0.0{prerelease}", shape.major), Open::Minor)
    } else if is_open(shape.patch) {
        (format!("{}.{minor}.0{prerelease}", shape.major), Open::Patch)
    } else {
        (written.to_owned(), Open::Nothing)
    };
    Ok(Comparator {
        operator,
        written: (operator_text.to_owned(), written.to_owned()),
        version: Version::parse(&text).map_err(|_| ConstraintError::Version)?,
        open,
    })
}

impl Comparator {
    fn admits(&self, version: &Version) -> bool {
        let wanted = &self.version;
        match self.operator {
            Operator::Equal if self.open == Open::Nothing => version == wanted,
            Operator::Equal | Operator::Tilde => self.tilde(version),
            Operator::NotEqual => self.differs(version),
            Operator::Greater => self.greater(version),
            Operator::Less => version < wanted,
            Operator::GreaterOrEqual => version >= wanted,
            Operator::LessOrEqual => self.less_or_equal(version),
            Operator::Caret => self.caret(version),
        }
    }

    /// `!=1.2` excludes every 1.2 release, yet not its pre-releases unless they are named.
    fn differs(&self, version: &Version) -> bool {
        let wanted = &self.version;
        match self.open {
            Open::Nothing => version != wanted,
            _ if version.major != wanted.major => true,
            Open::Minor => false,
            _ if version.minor != wanted.minor => true,
            Open::Patch => compare_prereleases_textually(&version.prerelease, &wanted.prerelease),
            Open::Everything => version != wanted,
        }
    }

    /// `>1.2` begins with 1.3.
    fn greater(&self, version: &Version) -> bool {
        let wanted = &self.version;
        if self.open == Open::Nothing || version.major != wanted.major {
            return version > wanted;
        }
        match self.open {
            Open::Minor => false,
            Open::Patch => version.minor > wanted.minor,
            Open::Nothing | Open::Everything => version > wanted,
        }
    }

    /// `<=1.2` includes every 1.2.
    fn less_or_equal(&self, version: &Version) -> bool {
        let wanted = &self.version;
        match self.open {
            Open::Nothing => version <= wanted,
            Open::Minor => version.major <= wanted.major,
            Open::Patch | Open::Everything => (version.major, version.minor) <= (wanted.major, wanted.minor),
        }
    }

    /// `~1.2.3` stays in 1.2, `~1` in 1; `*` and `~0.0.0` leave everything open.
    fn tilde(&self, version: &Version) -> bool {
        let wanted = &self.version;
        if version < wanted {
            return false;
        }
        let zero = (wanted.major, wanted.minor, wanted.patch) == (0, 0, 0);
        if zero && !matches!(self.open, Open::Minor | Open::Patch) {
            return true;
        }
        version.major == wanted.major && (version.minor == wanted.minor || self.open == Open::Minor)
    }

    /// `^1.2.3` stays in 1, `^0.2.3` in 0.2, `^0.0.3` at 0.0.3.
    fn caret(&self, version: &Version) -> bool {
        let wanted = &self.version;
        if version < wanted || version.major != wanted.major {
            return false;
        }
        if wanted.major > 0 || self.open == Open::Minor {
            return true;
        }
        if version.minor != wanted.minor {
            return false;
        }
        wanted.minor > 0 || self.open == Open::Patch || version.patch == wanted.patch
    }
}

/// Tells whether two pre-releases differ; both empty means that the versions are equal.
fn compare_prereleases_textually(left: &str, right: &str) -> bool {
    !(left.is_empty() && right.is_empty()) && compare_prereleases(left, right).is_ne()
}
