//! What the server adds to objects and refuses of them, kind by kind. Pure.

mod defaults;

pub use defaults::default;
