//! What recorded answers cannot show: functions of the time and of random numbers, and that none is missing.

use std::rc::Rc;

use super::table;
use crate::template::call::{Context, Host, Limits};
use crate::template::parse::parse;
use crate::template::set::TemplateSet;
use crate::template::stack::{Stack, on_large_stack};
use crate::template::text::Str;
use crate::template::value::Val;
use crate::value::Value;

const STACK: usize = 16 << 20;

/// It is always the same time; random bytes are those of a simple generator.
struct World(u64);

impl Host for World {
    fn now(&mut self) -> jiff::Zoned {
        let berlin = jiff::tz::TimeZoneDatabase::bundled().get("Europe/Berlin").unwrap();
        jiff::Timestamp::from_second(1_700_000_000).unwrap().to_zoned(berlin)
    }

    fn fill_random(&mut self, buffer: &mut [u8]) {
        for byte in buffer {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = self.0.to_be_bytes()[0];
        }
    }

    fn lookup(&mut self, _: &str, _: &str, _: &str, _: &str) -> Result<Value, String> {
        Ok(Value::Null)
    }

    fn resolve(&mut self, _: &str) -> String {
        String::new()
    }
}

fn rendered(template: &str) -> Result<String, String> {
    on_large_stack(STACK, || {
        let (functions, name) = (Rc::new(table()), Str::from("t"));
        let source = Str::from(template);
        let parsed =
            parse(&name, &source, &functions, Stack::here(STACK)).map_err(|error| error.to_string())?;
        let mut templates = TemplateSet::new();
        templates.add(&parsed);
        let limits = Limits { stack: STACK, bytes: 1 << 20, ..Limits::default() };
        let mut world = World(1);
        let mut context = Context::new(Rc::new(templates), functions, limits, &mut world);
        let text = context.execute(&name, Val::Nil).map_err(|error| error.to_string())?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    })
    .unwrap()
}

fn check(cases: &[(&str, &str)]) {
    for (template, expected) in cases {
        assert_eq!(rendered(template).as_deref(), Ok(*expected), "{template}");
    }
}

#[test]
fn no_function_of_sprig_is_missing() {
    let names = "abbrev abbrevboth add add1 add1f addf adler32sum ago all any append atoi b32dec b32enc b64dec \
        b64enc base bcrypt biggest buildCustomCert camelcase cat ceil chunk clean coalesce compact concat \
        contains date dateInZone dateModify date_in_zone date_modify decryptAES deepCopy deepEqual default \
        derivePassword dict dig dir div divf duration durationRound empty encryptAES ext fail first float64 \
        floor fromJson genCA genCAWithKey genPrivateKey genSelfSignedCert genSelfSignedCertWithKey \
        genSignedCert genSignedCertWithKey get getHostByName has hasKey hasPrefix hasSuffix hello htmlDate \
        htmlDateInZone htpasswd indent initial initials int int64 isAbs join kebabcase keys kindIs kindOf last \
        list lower max maxf merge mergeOverwrite min minf mod mul mulf mustAppend mustChunk mustCompact \
        mustDateModify mustDeepCopy mustFirst mustFromJson mustHas mustInitial mustLast mustMerge \
        mustMergeOverwrite mustPrepend mustPush mustRegexFind mustRegexFindAll mustRegexMatch \
        mustRegexReplaceAll mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse mustSlice mustToDate \
        mustToJson mustToPrettyJson mustToRawJson mustUniq mustWithout must_date_modify nindent nospace now omit \
        osBase osClean osDir osExt osIsAbs pick pluck plural prepend push quote randAlpha randAlphaNum randAscii \
        randBytes randInt randNumeric regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll \
        regexReplaceAllLiteral regexSplit repeat replace rest reverse round semver semverCompare seq set sha1sum \
        sha256sum sha512sum shuffle slice snakecase sortAlpha split splitList splitn squote sub subf substr \
        swapcase ternary title toDate toDecimal toJson toPrettyJson toRawJson toString toStrings trim trimAll \
        trimPrefix trimSuffix trimall trunc tuple typeIs typeIsLike typeOf uniq unixEpoch unset until untilStep \
        untitle upper urlJoin urlParse uuidv4 values without wrap wrapWith \
        durationDays durationHours durationMicroseconds durationMilliseconds durationMinutes \
        durationNanoseconds durationRoundTo durationSeconds durationTruncateTo durationWeeks mustToDuration \
        fromJsonArray fromToml fromYaml fromYamlArray include lookup mustToToml mustToYaml required toToml \
        toYaml toYamlPretty tpl \
        and call eq ge gt html index js le len lt ne not or print printf println urlquery";
    let table = table();
    let missing: Vec<_> = names.split_whitespace().filter(|name| table.get(name).is_none()).collect();
    assert_eq!(missing, Vec::<&str>::new());
    let known: Vec<_> = names.split_whitespace().collect();
    let unknown: Vec<_> = table.names().into_iter().filter(|name| !known.contains(name)).collect();
    assert_eq!(unknown, Vec::<&str>::new());
}

#[test]
fn dates_are_those_of_the_given_clock_and_zone() {
    check(&[
        ("{{now}}", "2023-11-14 23:13:20 +0100 CET"),
        ("{{now.Unix}} {{now | unixEpoch}}", "1700000000 1700000000"),
        ("{{now | date \"15:04 MST\"}}", "23:13 CET"),
        ("{{date \"2006-01-02\" 0}}", "1970-01-01"),
        // A floating-point number, as every number of a values file is, stands for now.
        ("{{date \"2006-01-02\" 0.5}}", "2023-11-14"),
        ("{{dateInZone \"15:04\" now \"UTC\"}} {{dateInZone \"15:04\" now \"No/Where\"}}", "22:13 22:13"),
        ("{{htmlDate nil}} {{htmlDateInZone now \"Asia/Tokyo\"}}", "2023-11-14 2023-11-15"),
        ("{{toDate \"2006-01-02\" \"2024-07-01\"}}", "2024-07-01 00:00:00 +0200 CEST"),
        ("{{now | dateModify \"-24h\" | ago}} {{ago 1700000001}} {{ago \"x\"}}", "24h0m0s -1s 0s"),
        ("{{now | date_modify \"-49h\" | durationRound}}", "2d"),
        ("{{(now.Sub (now.AddDate 0 0 -1)).Hours}}", "24"),
        ("{{now | toJson}}", "\"2023-11-14T23:13:20+01:00\""),
    ]);
}

#[test]
fn durations_are_read_as_helm_reads_them() {
    check(&[
        (
            "{{mustToDuration \"1h30m\"}} {{mustToDuration 90}} {{mustToDuration \" 2.5 \"}}",
            "1h30m0s 1m30s 2.5s",
        ),
        ("{{durationSeconds \"1m\"}} {{durationMinutes 90}} {{durationHours \"90m\"}}", "60 1.5 1.5"),
        ("{{durationDays \"36h\"}} {{durationWeeks \"84h\"}}", "1.5 0.5"),
        (
            "{{durationMilliseconds 1.5}} {{durationMicroseconds 1}} {{durationNanoseconds 1}}",
            "1500 1000000 1000000000",
        ),
        ("{{durationRoundTo \"2h40m\" \"1h\"}} {{durationTruncateTo \"2h40m\" 3600}}", "3h0m0s 2h0m0s"),
        (
            "{{durationRoundTo \"2h40m\" \"x\"}} {{durationRoundTo \"x\" 1}} {{durationHours nil}}",
            "2h40m0s 0s 0",
        ),
        ("{{durationSeconds (mustToDuration 3)}} {{(mustToDuration 90).Minutes}}", "3 1.5"),
        ("{{typeOf (mustToDuration 1)}} {{kindOf (mustToDuration 1)}}", "time.Duration int64"),
    ]);
    for (argument, message) in [
        ("nil", "invalid duration"),
        ("\"\"", "empty duration"),
        ("\"x\"", "could not parse duration \"x\""),
        ("1e300", "duration seconds overflow: 1e+300"),
        ("9223372037", "duration seconds overflow: 9223372037"),
        ("(list)", "unsupported duration type []interface {}"),
    ] {
        let error = rendered(&format!("{{{{mustToDuration {argument}}}}}")).unwrap_err();
        assert!(error.ends_with(&format!("error calling mustToDuration: {message}")), "{error}");
    }
}

#[test]
fn random_texts_have_their_length_and_alphabet() {
    for (template, pattern) in [
        ("{{randAlphaNum 50}}", "^[0-9A-Za-z]{50}$"),
        ("{{randAlpha 50}}", "^[A-Za-z]{50}$"),
        ("{{randNumeric 50}}", "^[0-9]{50}$"),
        ("{{randAscii 200}}", "^[ -~]{200}$"),
        ("{{randAlpha 0}}{{randAlpha -1}}", "^$"),
        ("{{randBytes 3}}", "^[A-Za-z0-9+/]{4}$"),
        ("{{uuidv4}}", "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"),
        ("{{shuffle \"aaabbb\"}}", "^[ab]{6}$"),
        ("{{splitList \"\" (shuffle \"cabé\") | sortAlpha | join \"\"}}", "^abcé$"),
        ("{{htpasswd \"me\" \"pw\"}}", r"^me:\$2a\$10\$.{53}$"),
        ("{{bcrypt \"pw\"}}", r"^\$2a\$10\$.{53}$"),
        ("{{encryptAES \"key\" \"text\" | decryptAES \"key\"}}", "^text$"),
        ("{{genPrivateKey \"ecdsa\"}}", "^-----BEGIN EC PRIVATE KEY-----\n"),
        ("{{genPrivateKey \"ed25519\"}}", "^-----BEGIN PRIVATE KEY-----\n"),
    ] {
        let text = rendered(template).unwrap();
        let pattern = crate::go::regexp::compile(pattern.as_bytes()).unwrap();
        assert!(pattern.is_match(text.as_bytes()), "{template}: {text}");
    }
    assert!(rendered("{{randBytes -1}}").unwrap_err().contains("makeslice: len out of range"));
}

#[test]
fn certificates_are_made_from_templates() {
    let key = "{{$key := genPrivateKey \"ecdsa\"}}";
    check(&[
        (&format!("{key}{{{{$ca := genCAWithKey \"ca\" 10 $key}}}}{{{{eq $ca.Key $key}}}}"), "true"),
        (
            &format!(
                "{key}{{{{$ca := genCAWithKey \"ca\" 10 $key}}}}\
                 {{{{$c := genSignedCertWithKey \"c\" (list \"10.0.0.1\" \"::1\") (list \"a.b\") 5 $ca $key}}}}\
                 {{{{$d := buildCustomCert (b64enc $c.Cert) (b64enc $c.Key)}}}}{{{{eq $d.Cert $c.Cert}}}}"
            ),
            "true",
        ),
        (
            &format!(
                "{key}{{{{$c := genSelfSignedCertWithKey \"c\" nil nil 5 $key}}}}\
                 {{{{typeOf $c}}}} {{{{kindOf $c}}}} {{{{hasPrefix \"-----BEGIN CERT\" $c.Cert}}}}"
            ),
            "sprig.certificate struct true",
        ),
        (
            "{{$ca := genCA \"ca\" 1}}{{(genSignedCert \"c\" nil nil 1 $ca).Key | trunc 31}}",
            "-----BEGIN RSA PRIVATE KEY-----",
        ),
        ("{{(genSelfSignedCert \"c\" (list) (list) 1).Key | trunc 31}}", "-----BEGIN RSA PRIVATE KEY-----"),
    ]);
    for (call, message) in [
        ("genSelfSignedCertWithKey \"c\" (list 1) nil 5 $key", "error parsing ip: 1 is not a string"),
        ("genSelfSignedCertWithKey \"c\" (list \"x\") nil 5 $key", "error parsing ip: x"),
        (
            "genSelfSignedCertWithKey \"c\" nil (list 1) 5 $key",
            "error processing alternate dns name: 1 is not a string",
        ),
        ("genCAWithKey \"c\" 5 \"x\"", "parsing private key: no PEM data in input"),
        (
            "genSignedCert \"c\" nil nil 5 (print \"x\")",
            "wrong type for value; expected sprig.certificate; got string",
        ),
    ] {
        let error = rendered(&format!("{key}{{{{{call}}}}}")).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn large_results_are_refused_before_they_are_built() {
    for template in [
        "{{repeat 100000000 \"abc\"}}",
        "{{indent 100000000 \"a\\nb\"}}",
        "{{nindent 9223372036854775807 \"\"}}",
        "{{$s := repeat 1000 \"a\"}}{{replace \"a\" (repeat 10000 \"b\") $s}}",
        "{{$s := repeat 10000 \"a\"}}{{replace \"\" $s $s}}",
        "{{$s := repeat 10000 \"a\"}}{{regexReplaceAll \"a\" $s $s}}",
        "{{$s := repeat 100000 \"a\"}}{{regexReplaceAll \"a*\" $s (repeat 1000 \"$0\")}}",
        "{{$s := repeat 10000 \"a\"}}{{wrapWith 1 $s $s}}",
        "{{$s := repeat 10000 \"a\"}}{{join $s (splitList \"\" $s)}}",
        "{{randAlpha 100000000}}",
        "{{randBytes 9223372036854775807}}",
    ] {
        let error = rendered(template).unwrap_err();
        assert!(error.contains("more output than is allowed"), "{template}: {error}");
    }
}
