//! Versions: lenient and strict reading, order, printing.

use std::cmp::Ordering;
use std::fmt;

/// Longest version text that is read, in bytes.
const MAX_LENGTH: usize = 256;

/// Why a text is not a version. Display is the text of Masterminds/semver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Not of the form `X[.Y[.Z]][-pre][+meta]`.
    #[error("invalid semantic version")]
    Invalid,
    /// Strict reading of an empty text.
    #[error("version string empty")]
    Empty,
    /// Strict reading met something else than digits in a number.
    #[error("invalid characters in version")]
    Characters,
    /// A number (strict reading only) or a numeric pre-release part has a leading zero.
    #[error("version segment starts with 0")]
    LeadingZero,
    /// An empty or ill-formed part of the build metadata.
    #[error("invalid metadata string")]
    Metadata,
    /// An empty or ill-formed part of the pre-release.
    #[error("invalid prerelease string")]
    Prerelease,
    /// More than 256 bytes.
    #[error("version string is too long (max {MAX_LENGTH} bytes)")]
    TooLong,
    /// A number above 2^64-1, in a lenient reading.
    #[error("error parsing version segment: strconv.ParseUint: parsing \"{0}\": value out of range")]
    Segment(String),
    /// A number above 2^64-1, or an empty one, in a strict reading.
    #[error("strconv.ParseUint: parsing \"{text}\": {problem}")]
    StrictSegment {
        /// The digits that were read.
        text: String,
        /// Go's words for what is wrong with them.
        problem: &'static str,
    },
}

/// A semantic version.
///
/// Equality and order ignore build metadata, and how the version was written.
#[derive(Clone, Debug)]
pub struct Version {
    /// The first number.
    pub major: u64,
    /// The second number.
    pub minor: u64,
    /// The third number.
    pub patch: u64,
    /// What follows `-`, or nothing.
    pub prerelease: String,
    /// What follows `+`, or nothing.
    pub metadata: String,
    original: String,
}

impl Version {
    /// Reads a version leniently (`semver.NewVersion`): a leading `v`, missing parts and leading zeros in the
    /// numbers are fine.
    ///
    /// # Errors
    /// The text is not a version.
    pub fn parse(text: &str) -> Result<Version, VersionError> {
        if text.len() > MAX_LENGTH {
            return Err(VersionError::TooLong);
        }
        let shape = Shape::of(text, |byte| byte.is_ascii_digit()).ok_or(VersionError::Invalid)?;
        if shape.length != text.len() {
            return Err(VersionError::Invalid);
        }
        let number = |part: Option<&str>| -> Result<u64, VersionError> {
            let digits = part.unwrap_or("0");
            digits.parse().map_err(|_| VersionError::Segment(digits.to_owned()))
        };
        let version = Version {
            major: number(Some(shape.major))?,
            minor: number(shape.minor)?,
            patch: number(shape.patch)?,
            prerelease: shape.prerelease.unwrap_or_default().to_owned(),
            metadata: shape.metadata.unwrap_or_default().to_owned(),
            original: text.to_owned(),
        };
        check_prerelease(&version.prerelease)?;
        Ok(version)
    }

    /// Reads a version strictly by the specification (`semver.StrictNewVersion`): exactly three numbers.
    ///
    /// # Errors
    /// The text is not a version.
    pub fn parse_strict(text: &str) -> Result<Version, VersionError> {
        if text.is_empty() {
            return Err(VersionError::Empty);
        }
        if text.len() > MAX_LENGTH {
            return Err(VersionError::TooLong);
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(VersionError::Invalid);
        };
        let (rest, metadata) = match rest.split_once('+') {
            Some((rest, metadata)) => (rest, Some(metadata)),
            None => (rest, None),
        };
        if let Some(metadata) = metadata {
            check_metadata(metadata)?;
        }
        let (patch, prerelease) = match rest.split_once('-') {
            Some((_, "")) => return Err(VersionError::Prerelease),
            Some((patch, prerelease)) => (patch, prerelease),
            None => (rest, ""),
        };
        check_prerelease(prerelease)?;
        for part in [major, minor, patch] {
            if !part.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(VersionError::Characters);
            }
            if part.len() > 1 && part.starts_with('0') {
                return Err(VersionError::LeadingZero);
            }
        }
        let number = |digits: &str| -> Result<u64, VersionError> {
            digits.parse().map_err(|_| VersionError::StrictSegment {
                text: digits.to_owned(),
                problem: if digits.is_empty() { "invalid syntax" } else { "value out of range" },
            })
        };
        Ok(Version {
            major: number(major)?,
            minor: number(minor)?,
            patch: number(patch)?,
            prerelease: prerelease.to_owned(),
            metadata: metadata.unwrap_or_default().to_owned(),
            original: text.to_owned(),
        })
    }

    /// Returns the text that was read.
    pub fn original(&self) -> &str {
        &self.original
    }

    /// Returns the next patch version; of a pre-release the release itself (`IncPatch`). Nothing on overflow.
    pub fn next_patch(&self) -> Option<Version> {
        let step = u64::from(self.prerelease.is_empty());
        Some(self.changed(self.major, self.minor, self.patch.checked_add(step)?))
    }

    /// Returns the next minor version (`IncMinor`). Nothing on overflow.
    pub fn next_minor(&self) -> Option<Version> {
        Some(self.changed(self.major, self.minor.checked_add(1)?, 0))
    }

    /// Returns the next major version (`IncMajor`). Nothing on overflow.
    pub fn next_major(&self) -> Option<Version> {
        Some(self.changed(self.major.checked_add(1)?, 0, 0))
    }

    /// Returns the version with another pre-release, which may be empty (`SetPrerelease`).
    ///
    /// # Errors
    /// The text is not a pre-release.
    pub fn with_prerelease(&self, prerelease: &str) -> Result<Version, VersionError> {
        check_prerelease(prerelease)?;
        let changed = Version { prerelease: prerelease.to_owned(), ..self.clone() };
        Ok(changed.renamed(self))
    }

    /// Returns the version with other build metadata, which may be empty (`SetMetadata`).
    ///
    /// # Errors
    /// The text is not build metadata.
    pub fn with_metadata(&self, metadata: &str) -> Result<Version, VersionError> {
        if !metadata.is_empty() {
            check_metadata(metadata)?;
        }
        let changed = Version { metadata: metadata.to_owned(), ..self.clone() };
        Ok(changed.renamed(self))
    }

    fn changed(&self, major: u64, minor: u64, patch: u64) -> Version {
        let (prerelease, metadata) = (String::new(), String::new());
        Version { major, minor, patch, prerelease, metadata, original: String::new() }.renamed(self)
    }

    /// The printed form becomes the original text; a `v` in front of the one it is made from stays.
    fn renamed(mut self, from: &Version) -> Version {
        let prefix = if from.original.starts_with('v') { "v" } else { "" };
        self.original = format!("{prefix}{self}");
        self
    }
}

impl fmt::Display for Version {
    /// Writes all three numbers and no `v`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(out, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(out, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.major, self.minor, self.patch)
            .cmp(&(other.major, other.minor, other.patch))
            .then_with(|| compare_prereleases(&self.prerelease, &other.prerelease))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version {}

/// A release is above its pre-releases; parts compare as numbers, else as text, numbers below text.
pub(super) fn compare_prereleases(left: &str, right: &str) -> Ordering {
    match (left.is_empty(), right.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(left), Some(right)) => compare_parts(left, right),
        };
        if order.is_ne() {
            return order;
        }
    }
}

fn compare_parts(left: &str, right: &str) -> Ordering {
    // A number too large for 64 bits counts as text, as it does there.
    match (left.parse::<u64>(), right.parse::<u64>()) {
        (Ok(left), Ok(right)) => left.cmp(&right),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => left.cmp(right),
    }
}

fn check_prerelease(text: &str) -> Result<(), VersionError> {
    if text.is_empty() {
        return Ok(());
    }
    for part in text.split('.') {
        if part.is_empty() || !part.bytes().all(is_identifier) {
            return Err(VersionError::Prerelease);
        }
        if part.len() > 1 && part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(VersionError::LeadingZero);
        }
    }
    Ok(())
}

fn check_metadata(text: &str) -> Result<(), VersionError> {
    let good = text.split('.').all(|part| !part.is_empty() && part.bytes().all(is_identifier));
    if good { Ok(()) } else { Err(VersionError::Metadata) }
}

pub(super) fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// The parts of a version-like text at the start of a longer one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape<'t> {
    /// The first number.
    pub(super) major: &'t str,
    /// The second number, without its dot.
    pub(super) minor: Option<&'t str>,
    /// The third number, without its dot.
    pub(super) patch: Option<&'t str>,
    /// The pre-release, without its dash.
    pub(super) prerelease: Option<&'t str>,
    /// The build metadata, without its plus sign.
    pub(super) metadata: Option<&'t str>,
    /// Length of the whole in bytes.
    pub(super) length: usize,
}

impl<'t> Shape<'t> {
    /// Takes the longest version-like beginning of `text`; `in_number` tells which bytes numbers are made of.
    pub(super) fn of(text: &'t str, in_number: impl Fn(u8) -> bool) -> Option<Shape<'t>> {
        let mut cursor = usize::from(text.starts_with('v'));
        let run = |from: usize, accept: &dyn Fn(u8) -> bool| -> Option<&'t str> {
            let tail = text.get(from..)?;
            let length = tail.bytes().take_while(|&byte| accept(byte)).count();
            tail.get(..length).filter(|run| !run.is_empty())
        };
        let major = run(cursor, &in_number)?;
        cursor += major.len();
        let dotted = |cursor: usize| {
            text.get(cursor..).filter(|tail| tail.starts_with('.')).and_then(|_| run(cursor + 1, &in_number))
        };
        let minor = dotted(cursor);
        cursor += minor.map_or(0, |part| part.len() + 1);
        let patch = if minor.is_some() { dotted(cursor) } else { None };
        cursor += patch.map_or(0, |part| part.len() + 1);
        let identifiers = |cursor: usize, sign: char| -> Option<&'t str> {
            let start = text.get(cursor..).filter(|tail| tail.starts_with(sign)).map(|_| cursor + 1)?;
            let mut end = start + run(start, &is_identifier)?.len();
            while let Some(part) = text
                .get(end..)
                .filter(|tail| tail.starts_with('.'))
                .and_then(|_| run(end + 1, &is_identifier))
            {
                end += 1 + part.len();
            }
            text.get(start..end)
        };
        let prerelease = identifiers(cursor, '-');
        cursor += prerelease.map_or(0, |part| part.len() + 1);
        let metadata = identifiers(cursor, '+');
        cursor += metadata.map_or(0, |part| part.len() + 1);
        Some(Shape { major, minor, patch, prerelease, metadata, length: cursor })
    }
}
