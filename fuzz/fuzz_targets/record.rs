//! Objects that look like release records are read or refused; what is read is the same after writing.
//!
//! The first byte says what the rest is: `o` a whole object, `b` the stored text, `z` the payload's bytes,
//! anything else (itself included) the payload's JSON.

#![no_main]

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value as Json, json};
use statectl::history::{self, Info, Record, Release, Storage};
use statectl::value::Map;

fuzz_target!(|bytes: &[u8]| {
    let (mode, rest) = bytes.split_first().map_or((b'{', bytes), |(mode, rest)| (*mode, rest));
    for storage in [Storage::Secret, Storage::ConfigMap] {
        let object = match mode {
            b'o' => serde_json::from_slice(rest).ok(),
            b'b' => std::str::from_utf8(rest).ok().map(|text| object(storage, text.to_owned())),
            b'z' => Some(object(storage, stored(storage, rest))),
            _ => Some(object(storage, stored(storage, bytes))),
        };
        let Some(object) = object else { return };
        match history::decode(storage, &object) {
            Some(Ok(record)) => check(&record),
            Some(Err(undecodable)) => {
                let _ = undecodable.why.to_string();
            }
            None => {}
        }
        for history in history::group(storage, [&object, &object]).values() {
            let _ = (history.next_revision(), history.baseline(), history.prune_candidates(1, 1));
        }
    }
});

fn stored(storage: Storage, payload: &[u8]) -> String {
    let text = STANDARD.encode(payload);
    if storage == Storage::Secret { STANDARD.encode(text) } else { text }
}

fn object(storage: Storage, stored: String) -> Json {
    json!({
        "apiVersion": "v1",
        "kind": storage.kind(),
        "type": "helm.sh/release.v1",
        "metadata": {
            "name": "sh.helm.release.v1.web.v3",
            "namespace": "shop",
            "labels": { "owner": "helm", "name": "web", "status": "deployed", "version": "3" },
        },
        "data": { "release": stored },
    })
}

fn check(record: &Record) {
    let now = jiff::Timestamp::UNIX_EPOCH;
    let Ok(object) = history::updated_object(record, now) else { return };
    let again = history::decode(record.storage, &object).expect("the object has the same name");
    let again = again.expect("what was written can be read");
    // Numbers may change their kind on the way: 4e1 is written as 40.
    let text = |release: &Release| history::encode_release(release).expect("it was just written");
    assert_eq!(text(&again.release), text(&record.release));
    let bare = |release: &Release| Release {
        config: Map::new(),
        chart: None,
        hooks: Vec::new(),
        unknown: Map::new(),
        info: Info { unknown: Map::new(), ..release.info.clone() },
        ..release.clone()
    };
    assert_eq!(bare(&again.release), bare(&record.release));
    let _ = history::new_object(record.storage, &record.release, &BTreeMap::new(), now);
    let _ = (record.key(), record.context());
}
