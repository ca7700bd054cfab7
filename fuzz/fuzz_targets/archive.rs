//! Charts from any bytes and from any files, with everything that is computed from a chart before a render.
//!
//! Bytes that begin as gzip are an archive. Others that look like a tar (a magic number at the right place) are
//! packed first, so that the checksum of gzip hides nothing. All others are files: a line `=== NAME` begins one.

#![no_main]

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use libfuzzer_sys::fuzz_target;
use statectl::chart::coalesce::{Merger, Mode, NullRules};
use statectl::chart::{Chart, ChartError, File, archive, dependencies, helm_text, load, schema};
use statectl::template::convert::{from_value, to_value};
use statectl::template::value::Val;
use statectl::value::{Map, Value};
use statectl::values;

fuzz_target!(|bytes: &[u8]| {
    let mut user = Map::new();
    let chart = if archive::is_gzip(bytes) {
        load::from_archive(bytes)
    } else if bytes.get(257..262) == Some(b"ustar") {
        load::from_archive(&packed(bytes))
    } else {
        let mut files = files(bytes);
        files.retain(|file| {
            let is_user = file.name == "user.yaml";
            if is_user {
                user = values::load(&file.data).unwrap_or_default();
            }
            !is_user
        });
        load::from_files(files)
    };
    if let Err(error) = chart.and_then(|chart| used(&chart, &user)) {
        let _ = (error.to_string(), helm_text(&error));
    }
});

fn packed(tar: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
    encoder.write_all(tar).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

fn files(bytes: &[u8]) -> Vec<File> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match (line.strip_prefix(b"=== "), files.last_mut()) {
            (Some(name), _) => {
                let name = name.strip_suffix(b"\n").unwrap_or(name);
                files.push((String::from_utf8_lossy(name).into_owned(), Vec::new()));
            }
            (None, Some((_, data))) => data.extend_from_slice(line),
            (None, None) => {}
        }
    }
    // An archive inside is written as the tar's bytes are: unpacked.
    let packed_inside = |(name, data): (String, Vec<u8>)| match name.ends_with(".tgz") {
        true if !archive::is_gzip(&data) => File::new(name, &packed(&data)),
        _ => File::new(name, &data),
    };
    files.into_iter().map(packed_inside).collect()
}

fn used(chart: &Chart, user: &Map) -> Result<(), ChartError> {
    let _ =
        (load::check_format(chart), dependencies::check_present(chart).map_err(|error| error.to_string()));
    let _ = chart.crds();
    for rules in [NullRules::Helm3_18, NullRules::Helm3_20, NullRules::Helm4_1, NullRules::Helm4_2] {
        let Val::Map(user) = from_value(&Value::Map(user.clone())) else { unreachable!("a map stays one") };
        let mut merger = Merger::new(rules);
        let processed = dependencies::process(chart, &user, &mut merger)?;
        let values = merger.values(&processed, &user, Mode::Coalesce)?;
        merger.values(&processed, &user, Mode::Merge)?;
        if let Ok(Value::Map(values)) = to_value(&Val::Map(values)) {
            schema::check(&processed, &values, None)?;
        }
    }
    Ok(())
}
