//! Points in time as a release record spells them.
//!
//! Helm writes the clock of the machine it runs on, with that machine's offset. The text is kept, so that
//! rewriting a record does not change times it did not set.

use std::fmt;

use jiff::Timestamp;

/// A point in time and the text it is written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Time {
    text: String,
    at: Timestamp,
}

impl Time {
    /// Reads RFC 3339 text; nothing if it is not a time.
    pub fn parse(text: &str) -> Option<Self> {
        Some(Self { text: text.to_owned(), at: text.parse().ok()? })
    }

    /// Returns the point in time.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Returns the text as it stands in the record.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl From<Timestamp> for Time {
    /// Spells the time in UTC as Go's `time.RFC3339Nano` does: fraction digits without trailing zeros.
    fn from(at: Timestamp) -> Self {
        Self { text: at.to_string(), at }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_spelt_as_go_spells_rfc3339_nano() {
        for (second, nanosecond, text) in [
            (0, 0, "1970-01-01T00:00:00Z"),
            (1_796_036_626, 266_082_073, "2026-11-30T11:03:46.266082073Z"),
            (1_796_036_626, 500_000_000, "2026-11-30T11:03:46.5Z"),
            (1_796_036_626, 1_000, "2026-11-30T11:03:46.000001Z"),
        ] {
            let at = Timestamp::new(second, nanosecond).unwrap();
            assert_eq!(Time::from(at).text(), text);
            assert_eq!(Time::parse(text).unwrap().at(), at);
        }
    }

    #[test]
    fn the_writers_offset_is_kept() {
        let time = Time::parse("2026-11-30T06:03:46.5-05:00").unwrap();
        assert_eq!(time.text(), "2026-11-30T06:03:46.5-05:00");
        assert_eq!(time.at(), Time::parse("2026-11-30T11:03:46.5Z").unwrap().at());
        assert_eq!(Time::parse("yesterday"), None);
    }
}
