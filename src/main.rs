//! The `statectl` binary.

fn main() {}
