//! Charts in archives.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::chart::archive::unpack;
use crate::chart::{helm_text, load};

/// Returns a gzipped tar with these entries.
fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, content) in entries {
        let mut header = tar::Header::new_old();
        // Written past the checks of `set_path`: unsafe paths are the point.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(1_700_000_000);
        header.set_cksum();
        tar.append(&header, *content).unwrap();
    }
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&tar.into_inner().unwrap()).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn an_archive_holds_a_chart_in_a_folder_of_any_name() {
    let bytes = archive(&[
        ("x/Chart.yaml", b"apiVersion: v2\nname: c\nversion: 0.1.0\n"),
        ("y/templates/a.yaml", b"\xEF\xBB\xBFa: 1"),
        ("x\\templates\\b.yaml", b"b: 1"),
        ("x/charts/s.tgz", &archive(&[("s/Chart.yaml", b"name: s\nversion: 1\n")])),
    ]);
    let chart = load::from_archive(&bytes).unwrap();
    let templates: Vec<_> = chart.templates.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(templates, ["templates/a.yaml", "templates/b.yaml"]);
    assert_eq!(&*chart.templates[0].data, b"a: 1");
    assert_eq!(chart.templates[0].modified.unwrap().as_second(), 1_700_000_000);
    assert_eq!(chart.dependencies[0].name(), "s");
}

#[test]
fn unsafe_and_broken_archives_are_refused() {
    let check = |bytes: &[u8], expected: &str| {
        assert_eq!(helm_text(&unpack(bytes).unwrap_err()), expected);
    };
    check(b"plain text", "gzip: invalid header");
    check(&archive(&[]), "no files in chart archive");
    check(&archive(&[("c//etc/passwd", b"")]), "chart illegally contains absolute paths");
    check(&archive(&[("c/../../x", b"")]), "chart illegally references parent directory");
    check(&archive(&[("c", b"")]), "chart illegally contains content outside the base directory: \"c\"");
    check(&archive(&[("c/c:/x", b"")]), "chart contains illegally named files");
    check(
        &archive(&[("Chart.yaml", b"")]),
        "chart illegally contains content outside the base directory: \"Chart.yaml\"",
    );
    let large = vec![0; 5 * 1024 * 1024 + 1];
    check(
        &archive(&[("c/large", &large)]),
        "decompressed chart file \"c/large\" is larger than the maximum file size 5242880",
    );
    let whole = archive(&[("c/Chart.yaml", b"name: c")]);
    assert!(unpack(&whole[..whole.len() / 2]).is_err());
}

#[test]
fn an_archive_that_unpacks_to_too_much_is_refused() {
    let file = vec![0; 5 * 1024 * 1024];
    let names: Vec<String> = (0..21).map(|index| format!("c/{index}")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), file.as_slice())).collect();
    let error = unpack(&archive(&entries)).unwrap_err();
    assert_eq!(error.to_string(), "decompressed chart is larger than the maximum size 104857600");
}
