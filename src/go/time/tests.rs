//! Answers of Go 1.26 and sprig 3.3.0.

use super::*;

fn zone(name: &str) -> Zone {
    Zone::load(name, &Zone::Utc).unwrap()
}

fn shown(time: &Time, layout: &str) -> String {
    String::from_utf8(time.format(layout.as_bytes())).unwrap()
}

#[test]
fn instants_are_written_by_layout() {
    let check = |seconds: i64, zone_name: &str, layout: &str, expected: &str| {
        let time = Time::unix(seconds, zone(zone_name)).add(123_456_000);
        assert_eq!(shown(&time, layout), expected, "{layout}");
    };
    check(0, "UTC", "2006-01-02T15:04:05Z07:00", "1970-01-01T00:00:00Z");
    check(0, "UTC", "Mon Jan _2 15:04:05 2006 MST", "Thu Jan  1 00:00:00 1970 UTC");
    check(
        1_700_000_000,
        "Europe/Berlin",
        "Monday, 02-Jan-06 15:04:05 MST",
        "Tuesday, 14-Nov-23 23:13:20 CET",
    );
    check(1_700_000_000, "Asia/Kolkata", "3:04PM 03:4:5pm -0700 Z07:00", "3:43AM 03:43:20am +0530 +05:30");
    check(1_700_000_000, "America/Sao_Paulo", "MST -07 -070000 -07:00:00", "-03 -03 -030000 -03:00:00");
    check(1_700_000_000, "UTC", "002 __2 2 1 06 _2006 January", "318 318 14 11 23 _2023 November");
    check(1_700_000_000, "UTC", "5.000 5.999999999 5,000000", "20.123 20.123456 20,123456");
    check(1_700_000_000, "UTC", "Janet Monet Mondays", "Janet Monet Tuesdays");
    check(-62_135_596_800, "UTC", "2006-01-02", "0001-01-01");
    check(-100_000_000_000, "Europe/Berlin", "2006 -0700 MST", "-1199 +0053 LMT");
    check(1_000_000_000_000, "Europe/Berlin", "2006-01-02 15:04:05 -0700", "33658-09-27 03:46:40 +0200");
    assert_eq!(Time::unix(5, Zone::Utc).add(-500_000_000).to_text(), "1970-01-01 00:00:04.5 +0000 UTC");
    assert_eq!(Time::unix(5, zone("Europe/Berlin")).to_rfc3339(), "1970-01-01T01:00:05+01:00");
}

#[test]
fn instants_are_read_by_layout() {
    let check = |layout: &str, value: &str, zone_name: &str, expected: &str| {
        let read = parse_in(layout.as_bytes(), value.as_bytes(), &zone(zone_name));
        let text = read.map_or_else(|error| error.to_string(), |time| time.to_text());
        assert_eq!(text, expected, "{layout} {value}");
    };
    let date = "2006-01-02";
    let full = "2006-01-02 15:04:05 MST";
    let rfc3339 = "2006-01-02T15:04:05Z07:00";
    check(date, "2024-02-29", "UTC", "2024-02-29 00:00:00 +0000 UTC");
    check(date, "2024-07-01", "Europe/Berlin", "2024-07-01 00:00:00 +0200 CEST");
    check(rfc3339, "2024-01-02T03:04:05.5Z", "Europe/Berlin", "2024-01-02 03:04:05.5 +0000 UTC");
    check(rfc3339, "2024-01-02T03:04:05+02:00", "UTC", "2024-01-02 03:04:05 +0200 +0200");
    check(rfc3339, "2024-01-02T03:04:05+01:00", "Europe/Berlin", "2024-01-02 03:04:05 +0100 CET");
    check(full, "2024-07-02 03:04:05 CEST", "Europe/Berlin", "2024-07-02 03:04:05 +0200 CEST");
    check(full, "2024-07-02 03:04:05 FOO", "Europe/Berlin", "2024-07-02 03:04:05 +0000 FOO");
    check(full, "2024-07-02 03:04:05 GMT+3", "UTC", "2024-07-02 06:04:05 +0300 GMT+3");
    check("3:04PM", "12:04AM", "UTC", "0000-01-01 00:04:00 +0000 UTC");
    check("Mon Jan _2 2006", "mon jan  2 2006", "UTC", "2006-01-02 00:00:00 +0000 UTC");
    check("2006-002", "2024-060", "UTC", "2024-02-29 00:00:00 +0000 UTC");
    // A reading that the clock leaves out, and one that it shows twice.
    check("2006-01-02 15:04", "2024-03-31 02:30", "Europe/Berlin", "2024-03-31 03:30:00 +0200 CEST");
    check("2006-01-02 15:04", "2024-10-27 02:30", "Europe/Berlin", "2024-10-27 02:30:00 +0100 CET");

    let bad = |value: &str, why: &str| check(date, value, "UTC", &format!("parsing time {why}"));
    bad("2023-02-29", r#""2023-02-29": day out of range"#);
    bad("2024-13-01", r#""2024-13-01": month out of range"#);
    bad("2024-1-2", r#""2024-1-2" as "2006-01-02": cannot parse "1-2" as "01""#);
    bad("24-01-02", r#""24-01-02" as "2006-01-02": cannot parse "24-01-02" as "2006""#);
    bad("2024-01-02x", r#""2024-01-02x": extra text: "x""#);
    bad("é", r#""\xc3\xa9" as "2006-01-02": cannot parse "\xc3\xa9" as "2006""#);
    bad("2024/01/02", r#""2024/01/02" as "2006-01-02": cannot parse "/01/02" as "-""#);
    let at = "parsing time \"2024-01-02T03:04:05-25:00\": time zone offset hour out of range";
    check(rfc3339, "2024-01-02T03:04:05-25:00", "UTC", at);
    check("2006-002", "2023-366", "UTC", "parsing time \"2023-366\": day-of-year out of range");
}

#[test]
fn zones_are_found_by_their_exact_name() {
    let local = zone("Asia/Kolkata");
    assert_eq!(Zone::load("", &local), Some(Zone::Utc));
    assert_eq!(Zone::load("Local", &local), Some(local.clone()));
    for unknown in ["utc", "europe/berlin", "No/Where", "../etc/passwd"] {
        assert_eq!(Zone::load(unknown, &local), None, "{unknown}");
    }
}

#[test]
fn durations_are_read_and_written() {
    for (text, expected) in [
        ("0", "0s"),
        ("-1.5h", "-1h30m0s"),
        ("1h2m3.0405s", "1h2m3.0405s"),
        (".5s", "500ms"),
        ("5.s", "5s"),
        ("1us", "1µs"),
        ("1.5µs", "1.5µs"),
        ("100h", "100h0m0s"),
        ("-9223372036854775808ns", "-2562047h47m16.854775808s"),
        ("", "time: invalid duration \"\""),
        ("1", "time: missing unit in duration \"1\""),
        ("1d", "time: unknown unit \"d\" in duration \"1d\""),
        (".s", "time: invalid duration \".s\""),
        (" 1s", "time: invalid duration \" 1s\""),
        ("9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""),
        ("3000000h", "time: invalid duration \"3000000h\""),
    ] {
        let shown = parse_duration(text.as_bytes()).map_or_else(|error| error.to_string(), format_duration);
        assert_eq!(shown, expected, "{text}");
    }
}

#[test]
fn durations_are_rounded() {
    const S: i64 = 1_000_000_000;
    for (duration, multiple, rounded, cut) in [
        (1_500_000_000, S, 2 * S, S),
        (-1_500_000_000, S, -2 * S, -S),
        (1_499_999_999, S, S, S),
        (7, 0, 7, 7),
        (i64::MAX, S, i64::MAX, i64::MAX / S * S),
        (i64::MIN, S, i64::MIN, i64::MIN / S * S),
    ] {
        assert_eq!(round_duration(duration, multiple), rounded);
        assert_eq!(truncate_duration(duration, multiple), cut);
    }
    for (hours, expected) in
        [(0, "0s"), (1, "60m"), (2, "2h"), (24, "24h"), (-49, "2d"), (24 * 31, "1mo"), (24 * 800, "2y")]
    {
        assert_eq!(short_duration(hours * 3600 * S), expected);
    }
    assert_eq!(short_duration(S), "0s");
}
