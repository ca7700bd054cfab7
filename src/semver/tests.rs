//! Answers of Masterminds/semver 3.5.0.

use super::*;

#[test]
fn versions_are_read_leniently() {
    for (text, expected) in [
        ("1", "1.0.0"),
        ("1.2", "1.2.0"),
        ("v1.2.3", "1.2.3"),
        ("01.02.3", "1.2.3"),
        ("1.2-beta", "1.2.0-beta"),
        ("v1.28.3-gke.1+build.5", "1.28.3-gke.1+build.5"),
        ("1.2.3-a-b", "1.2.3-a-b"),
        ("18446744073709551615.0.0", "18446744073709551615.0.0"),
        ("", "invalid semantic version"),
        ("V1.2.3", "invalid semantic version"),
        ("1.2.", "invalid semantic version"),
        ("1.2.3.4", "invalid semantic version"),
        ("1.2.3 ", "invalid semantic version"),
        ("1.2.3-", "invalid semantic version"),
        ("1.2.3-a..b", "invalid semantic version"),
        ("1.25+", "invalid semantic version"),
        ("latest", "invalid semantic version"),
        ("1.2.3-01", "version segment starts with 0"),
        (
            "18446744073709551616",
            "error parsing version segment: strconv.ParseUint: parsing \"18446744073709551616\": value out of range",
        ),
    ] {
        let shown =
            Version::parse(text).map_or_else(|error| error.to_string(), |version| version.to_string());
        assert_eq!(shown, expected, "{text}");
    }
    assert_eq!(Version::parse(&"1".repeat(257)).unwrap_err(), VersionError::TooLong);
}

#[test]
fn versions_are_read_strictly_where_asked() {
    for (text, expected) in [
        ("1.2.3-rc.1+m", "1.2.3-rc.1+m"),
        ("", "version string empty"),
        ("1.2", "invalid semantic version"),
        ("v1.2.3", "invalid characters in version"),
        ("1.2.3.4", "invalid characters in version"),
        ("1.02.3", "version segment starts with 0"),
        ("1.2.3-", "invalid prerelease string"),
        ("1.2.3-é", "invalid prerelease string"),
        ("1.2.3-01", "version segment starts with 0"),
        ("1.2.3+", "invalid metadata string"),
        ("1..3", "strconv.ParseUint: parsing \"\": invalid syntax"),
    ] {
        let shown =
            Version::parse_strict(text).map_or_else(|error| error.to_string(), |version| version.to_string());
        assert_eq!(shown, expected, "{text}");
    }
}

#[test]
fn versions_are_ordered_by_number_then_prerelease() {
    let ascending = [
        "0.0.1",
        "1.2.3-0",
        "1.2.3-1",
        "1.2.3-alpha",
        "1.2.3-alpha.1",
        "1.2.3-alpha.beta",
        "1.2.3-rc.9",
        "1.2.3-rc.10",
        "1.2.3",
        "1.10.0",
        "2.0.0-0",
        "2",
    ];
    let versions: Vec<_> = ascending.iter().map(|text| Version::parse(text).unwrap()).collect();
    assert!(versions.is_sorted_by(|left, right| left < right));
    assert_eq!(Version::parse("1.2+a").unwrap(), Version::parse("v1.2.0+b").unwrap());
    // Too large for a number, so compared as text.
    assert!(
        Version::parse("1.2.3-99999999999999999999").unwrap()
            > Version::parse("1.2.3-99999999999999999998").unwrap()
    );
}

#[test]
fn versions_step_and_keep_their_prefix() {
    let version = Version::parse("v1.2.3-rc.1+m").unwrap();
    assert_eq!(version.next_patch().unwrap().original(), "v1.2.3");
    assert_eq!(version.next_minor().unwrap().original(), "v1.3.0");
    assert_eq!(version.next_major().unwrap().original(), "v2.0.0");
    assert_eq!(version.with_prerelease("x").unwrap().original(), "v1.2.3-x+m");
    assert_eq!(version.with_metadata("").unwrap().to_string(), "1.2.3-rc.1");
    assert_eq!(version.with_prerelease("a..b").unwrap_err(), VersionError::Prerelease);
    assert_eq!(version.with_metadata("é").unwrap_err(), VersionError::Metadata);
    assert!(Version::parse("18446744073709551615").unwrap().next_major().is_none());
}

#[test]
fn constraints_admit_what_masterminds_admits() {
    // Constraint; versions admitted; versions refused.
    for (text, admitted, refused) in [
        ("1.2", "1.2.0 1.2.9", "1.3.0 1.1.9 1.2.0-rc"),
        ("=1.2.3", "1.2.3 1.2.3+m", "1.2.4 1.2.3-rc"),
        ("1.x", "1.0.0 1.9.9", "2.0.0"),
        ("*", "0.0.0 9.9.9", "1.0.0-rc"),
        ("x.x.x-0", "0.0.0 1.0.0-rc", ""),
        ("!=1.2.x", "1.3.0 2.0.0", "1.2.0 1.2.9"),
        ("!=1", "2.0.0", "1.0.0 1.5.0"),
        ("!=1.2.3", "1.2.4", "1.2.3"),
        (">1.2", "1.3.0 2.0.0", "1.2.0 1.2.9"),
        (">1", "2.0.0", "1.9.9"),
        (">1.2.3", "1.2.4", "1.2.3"),
        ("<1.2", "1.1.9", "1.2.0"),
        (">=1.2", "1.2.0", "1.1.9"),
        ("=>1.2", "1.2.0", "1.1.9"),
        ("<=1.2", "1.2.9 1.0.0", "1.3.0"),
        ("=<1", "1.9.9", "2.0.0"),
        ("<=1.2.3", "1.2.3", "1.2.4"),
        ("~1", "1.0.0 1.9.9", "2.0.0"),
        ("~>1.2.3", "1.2.3 1.2.9", "1.2.2 1.3.0"),
        ("~0.0.0", "0.0.0 5.0.0", ""),
        ("^1.2.3", "1.2.3 1.9.0", "1.2.2 2.0.0"),
        ("^0.2.3", "0.2.3 0.2.9", "0.3.0 0.2.2"),
        ("^0.0.3", "0.0.3", "0.0.4 0.1.0"),
        ("^0.0", "0.0.9", "0.1.0"),
        ("^0", "0.9.0", "1.0.0"),
        ("1.2 - 1.4", "1.2.0 1.4.9", "1.5.0 1.1.0"),
        ("1 - 2 || 5", "2.9.9 5.0.0", "3.0.0"),
        ("<1 || >=2, <3", "0.9.0 2.5.0", "1.0.0 3.0.0"),
        // One pre-release in a group opens the group, and only that group.
        (">=1.2.0-0, <2.0.0", "1.5.0-rc 1.2.0-alpha", "2.0.0 1.1.0"),
        (">=1.2.0 <2.0.0-0", "1.5.0-rc", "2.0.0-0"),
        ("<1 || >=1.2.0-0", "1.2.0-rc", "0.9.0-rc"),
        (">=1.19-0", "1.28.3-gke.1 1.19.0-a", "1.18.9"),
        (">0.0.0-0", "0.0.1-a 1.0.0", "0.0.0-0"),
        (">=1.2.3", "1.2.3", "1.28.3-gke.1"),
    ] {
        let constraint = Constraint::parse(text).unwrap();
        let check = |versions: &str, expected| {
            for version in versions.split_whitespace() {
                assert_eq!(constraint.check(&Version::parse(version).unwrap()), expected, "{text} {version}");
            }
        };
        check(admitted, true);
        check(refused, false);
    }
}

#[test]
fn constraints_are_printed_or_refused() {
    for (text, expected) in [
        (" >= 1.2 , <2\t!=v1.5 ", ">=1.2 <2 !=v1.5"),
        ("1.2 - 1.4||3", ">=1.2 <=1.4 || 3"),
        ("v1.2.3+m", "v1.2.3+m"),
        ("", r#"improper constraint: """#),
        ("1.25+", r#"improper constraint: "1.25+""#),
        ("latest", r#"improper constraint: "latest""#),
        ("==1.2", r#"improper constraint: "==1.2""#),
        ("1.2.3.4", r#"improper constraint: "1.2.3.4""#),
        (">=1.2,", r#"improper constraint: ">=1.2,""#),
        (">=1.2<2", r#"improper constraint: ">=1.2<2""#),
        ("1 || ", r#"improper constraint: " ""#),
        ("\"1\"\x01\n", r#"improper constraint: "\"1\"\x01\n""#),
        ("1.2.3-01", "constraint parser error"),
        ("xx", "constraint parser error"),
        ("1|2", "constraint parser error"),
    ] {
        let shown = Constraint::parse(text).map_or_else(|error| error.to_string(), |read| read.to_string());
        assert_eq!(shown, expected, "{text}");
    }
    assert_eq!(Constraint::parse(&"1".repeat(513)).unwrap_err(), ConstraintError::TooLong);
    assert_eq!(Constraint::parse(&"1||".repeat(32)).unwrap_err(), ConstraintError::TooManyGroups);
}
