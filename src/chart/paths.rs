//! Go's slash-separated paths, for names that are text.

use std::str::from_utf8;

use crate::go::path;

/// Returns the shortest equivalent path (`path.Clean`).
pub(crate) fn clean(name: &str) -> String {
    String::from_utf8_lossy(&path::clean(name.as_bytes())).into_owned()
}

/// Returns the last element (`path.Base`).
pub(crate) fn base(name: &str) -> &str {
    // Cut at slashes, which never lie inside a character.
    from_utf8(path::base(name.as_bytes())).unwrap_or(name)
}

/// Returns the extension of the last element with its dot (`path.Ext`).
pub(crate) fn ext(name: &str) -> &str {
    from_utf8(path::ext(name.as_bytes())).unwrap_or_default()
}

/// Returns `name` inside `folder` (`path.Join`).
pub(crate) fn join(folder: &str, name: &str) -> String {
    clean(&format!("{folder}/{name}"))
}
