//! Any text is split by both rules, its documents read, sorted and flattened.

#![no_main]

use libfuzzer_sys::fuzz_target;
use statectl::manifest::{Document, KindOrder, SplitRule, flatten, sort_by_kind, split};

fuzz_target!(|text: &str| {
    for rule in [SplitRule::Keep, SplitRule::Trim] {
        let mut documents = Vec::new();
        for part in split(text, rule) {
            // Helm 3 keeps what only consists of blanks that its pattern does not know, such as a vertical tab.
            assert!(rule == SplitRule::Trim || !part.trim().is_empty());
            match Document::parse(part) {
                Ok(document) => {
                    let _ = (document.role(), document.head.is_kept());
                    documents.push(document);
                }
                Err(error) => {
                    let _ = error.to_string();
                }
            }
        }
        for order in [KindOrder::Install, KindOrder::Uninstall] {
            sort_by_kind(&mut documents, order, |document| &document.head.kind);
        }
        documents.into_iter().for_each(|document| drop(flatten(document.object)));
    }
});
