//! How template functions are described and called.
//!
//! A function states its parameter types; the executor checks the arguments against them before the call and
//! words the errors as Go does, so the function itself can rely on what it gets:
//!
//! ```
//! use statectl::template::call::{Context, Func, FuncResult, text};
//! use statectl::template::types::Type;
//! use statectl::template::value::Val;
//!
//! fn trim_prefix(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
//!     let (prefix, whole) = (text(args, 0)?, text(args, 1)?);
//!     Ok(Val::str(whole.strip_prefix(prefix.as_bytes()).unwrap_or(whole)))
//! }
//!
//! static TABLE: &[Func] = &[Func::fixed("trimPrefix", &[Type::STRING, Type::STRING], trim_prefix)];
//! # assert_eq!(TABLE[0].name, "trimPrefix");
//! ```
//!
//! An argument of type `interface {}` arrives as [`Val::Nil`] when it is nil; one of a map or slice type
//! arrives as a nil map or slice. A named map or slice type is handed over as what is beneath it.

use std::collections::HashMap;
use std::rc::Rc;

use super::error::ExecError;
use super::exec::Operand;
use super::parse::Parsed;
use super::set::TemplateSet;
use super::stack::Stack;
use super::text::Str;
use super::types::Type;
use super::value::{List, Map, NilMap, Val};
use crate::value::Value;

/// What a function answers.
pub type FuncResult = Result<Val, FuncError>;

/// The code of a function.
pub type FuncCode = fn(&mut Context<'_>, &[Val]) -> FuncResult;

/// Why a function failed.
#[derive(Debug, thiserror::Error)]
pub enum FuncError {
    /// The function's own message, as the Go function words it (also for what is a panic there).
    #[error("{0}")]
    Message(String),
    /// A template that the function executed failed.
    #[error(transparent)]
    Exec(Box<ExecError>),
}

impl FuncError {
    /// Returns the error with this message.
    pub fn new(message: impl Into<String>) -> FuncError {
        FuncError::Message(message.into())
    }
}

impl From<NilMap> for FuncError {
    fn from(error: NilMap) -> Self {
        FuncError::new(error.to_string())
    }
}

impl From<super::convert::TooDeep> for FuncError {
    fn from(error: super::convert::TooDeep) -> Self {
        FuncError::new(error.to_string())
    }
}

/// A function that templates can call by name.
#[derive(Debug)]
pub struct Func {
    /// The name in templates.
    pub name: &'static str,
    /// Types of the parameters. The last one of a variadic function is the type of each further argument.
    pub params: &'static [Type],
    /// The last parameter may be given any number of times, also not at all.
    pub variadic: bool,
    /// What happens on a call.
    pub action: Action,
}

/// What happens on a call.
#[derive(Debug)]
pub enum Action {
    /// The arguments are evaluated and this code is run.
    Run(FuncCode),
    /// Built-in `and`: arguments are evaluated until one is false.
    And,
    /// Built-in `or`: arguments are evaluated until one is true.
    Or,
    /// Built-in `len`, which alone tells a nil interface from no value at all.
    Len,
}

impl Func {
    /// Describes a function with exactly these parameters.
    pub const fn fixed(name: &'static str, params: &'static [Type], code: FuncCode) -> Func {
        Func { name, params, variadic: false, action: Action::Run(code) }
    }

    /// Describes a function whose last parameter may be given any number of times.
    pub const fn variadic(name: &'static str, params: &'static [Type], code: FuncCode) -> Func {
        Func { name, params, variadic: true, action: Action::Run(code) }
    }
}

/// The functions that templates may call. Names are looked up once, when a template is parsed.
#[derive(Clone, Debug, Default)]
pub struct FuncTable {
    functions: HashMap<&'static str, &'static Func>,
}

impl FuncTable {
    /// Returns an empty table: not even Go's built-ins.
    pub fn new() -> FuncTable {
        FuncTable::default()
    }

    /// Adds functions; a later one replaces an earlier one of the same name.
    pub fn add(&mut self, functions: &'static [Func]) {
        self.functions.extend(functions.iter().map(|function| (function.name, function)));
    }

    /// Removes a function.
    pub fn remove(&mut self, name: &str) {
        self.functions.remove(name);
    }

    /// Returns the function `name`.
    pub fn get(&self, name: &str) -> Option<&'static Func> {
        self.functions.get(name).copied()
    }

    /// Returns all names, sorted.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.functions.keys().copied().collect();
        names.sort_unstable();
        names
    }
}

/// What functions may ask of the world. All of it is handed in, so that a render is repeatable.
pub trait Host {
    /// Returns the time, in the zone that counts as local.
    fn now(&mut self) -> jiff::Zoned;

    /// Fills `buffer` with random bytes. Keys and certificates are drawn from here too.
    fn fill_random(&mut self, buffer: &mut [u8]);

    /// Answers `lookup`: the object, a list object when `name` is empty, an empty map when there is none.
    fn lookup(&mut self, api_version: &str, kind: &str, namespace: &str, name: &str)
    -> Result<Value, String>;

    /// Answers `getHostByName`; the empty string where DNS is not to be asked.
    fn resolve(&mut self, host: &str) -> String;
}

/// How much work one render may do before it is given up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Nodes executed, loop rounds included.
    pub steps: u64,
    /// Bytes written by templates and built by functions, all together.
    pub bytes: u64,
    /// Stack that execution may use, in bytes. Must leave some room below the thread's real stack.
    pub stack: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { steps: 1 << 32, bytes: 1 << 32, stack: 1 << 20 }
    }
}

/// What a function sees of the running render. `exec` makes it and runs templates with it.
pub struct Context<'h> {
    /// The world outside.
    pub host: &'h mut dyn Host,
    /// The function table, for text that is parsed while a template runs.
    pub(super) functions: Rc<FuncTable>,
    pub(super) templates: Rc<TemplateSet>,
    /// What the running templates have written.
    pub(super) out: Vec<u8>,
    /// The variables of all running templates.
    pub(super) variables: Vec<Operand>,
    pub(super) stack: Stack,
    pub(super) steps_left: u64,
    pub(super) bytes_left: u64,
    /// How deep `template` actions are nested.
    pub(super) depth: usize,
    /// Texts that `tpl` has parsed already.
    pub(super) parsed: HashMap<Str, Parsed>,
}

impl Context<'_> {
    /// Reports that a function is about to build `bytes` bytes of text or elements. Functions whose result can
    /// be much larger than their arguments (`repeat`, `until`, `indent`) call this first.
    pub fn charge(&mut self, bytes: usize) -> Result<(), FuncError> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.bytes_left = self
            .bytes_left
            .checked_sub(bytes)
            .ok_or_else(|| FuncError::new("the render produces more output than is allowed"))?;
        Ok(())
    }
}

/// Returns argument `index`, nil when there is none.
pub fn any(args: &[Val], index: usize) -> &Val {
    args.get(index).unwrap_or(&Val::Nil)
}

/// Returns argument `index`, a string.
pub fn text(args: &[Val], index: usize) -> Result<&Str, FuncError> {
    let value = any(args, index);
    value.as_str().ok_or_else(|| wrong_type(Type::STRING, value))
}

/// Returns argument `index`, an `int` or `int64`.
pub fn int(args: &[Val], index: usize) -> Result<i64, FuncError> {
    match any(args, index) {
        Val::Int(number) | Val::Int64(number) => Ok(*number),
        value => Err(wrong_type(Type::INT, value)),
    }
}

/// Returns argument `index`, a `float64`.
pub fn float(args: &[Val], index: usize) -> Result<f64, FuncError> {
    match any(args, index) {
        Val::Float(number) => Ok(*number),
        value => Err(wrong_type(Type::FLOAT64, value)),
    }
}

/// Returns argument `index`, a `bool`.
pub fn flag(args: &[Val], index: usize) -> Result<bool, FuncError> {
    match any(args, index) {
        Val::Bool(flag) => Ok(*flag),
        value => Err(wrong_type(Type::BOOL, value)),
    }
}

/// Returns argument `index`, a map.
pub fn map(args: &[Val], index: usize) -> Result<&Map, FuncError> {
    match any(args, index) {
        Val::Map(map) => Ok(map),
        value => Err(wrong_type(Type::ANY_MAP, value)),
    }
}

/// Returns argument `index`, a slice of the declared type.
pub fn list(args: &[Val], index: usize) -> Result<&List, FuncError> {
    match any(args, index) {
        Val::List(list) => Ok(list),
        value => Err(wrong_type(Type::ANY_LIST, value)),
    }
}

/// Returns the error for an argument of the wrong type, in Go's words.
pub fn wrong_type(expected: Type, value: &Val) -> FuncError {
    FuncError::Message(match value.go_type() {
        None => format!("invalid value; expected {expected}"),
        Some(actual) => format!("wrong type for value; expected {expected}; got {actual}"),
    })
}
