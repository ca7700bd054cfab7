//! Any bytes as a desired-state file in TOML.

#![no_main]

#[path = "common/dsf.rs"]
mod dsf;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dsf::check(bytes, "toml"));
