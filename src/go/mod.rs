//! Behaviours of Go's standard library (and of small Go libraries) that rendered output depends on.
//!
//! Every function here answers as its Go namesake does, on bytes where a Go string may hold any bytes.
//! Nothing here knows templates, charts or Kubernetes; time, zone and randomness are parameters.

pub mod crypto;
pub mod decimal;
pub mod encoding;
pub mod glob;
pub mod html;
pub mod path;
pub mod regexp;
pub mod strconv;
pub mod strings;
pub mod time;
pub mod toml;
pub mod unicode;
pub mod url;
pub mod utf8;
