//! Parses and executes the templates of a chart.
//!
//! Source: Helm `pkg/engine/engine.go`, `Engine.render`.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::context::Source;
use super::error::TemplateError;
use super::lookup::{LookupKey, Lookups};
use super::objects::Values;
use crate::template::call::{Context, FuncTable, Host, Limits};
use crate::template::funcs::{self, engine::without_no_value};
use crate::template::parse::{Parsed, parse};
use crate::template::set::TemplateSet;
use crate::template::stack::Stack;
use crate::template::text::Str;
use crate::value::Value;
use crate::value::json::text_from_vec;

/// The stack that templates may recurse in. The operating system only hands out what is touched.
pub(super) const STACK: usize = 256 << 20;

/// Executes templates, and keeps what it has parsed for the next time.
pub(super) struct Engine {
    functions: Rc<FuncTable>,
    parsed: HashMap<TextId, Kept>,
}

/// The full path of a template and the place of its text in memory, which stays the same as long as a chart is
/// kept.
type TextId = (String, usize);

/// A parsed text. The text is held so that nothing else can come to lie in its place.
struct Kept {
    parsed: Parsed,
    _text: Arc<[u8]>,
}

impl Engine {
    pub(super) fn new() -> Self {
        Self { functions: Rc::new(funcs::table()), parsed: HashMap::new() }
    }

    /// Returns what every template writes that is not a partial. Each byte that is no text becomes U+FFFD: the YAML
    /// reader refuses some such bytes and would take others, Kubernetes takes none.
    pub(super) fn render(
        &mut self,
        sources: &[Source],
        host: &mut dyn Host,
    ) -> Result<BTreeMap<String, String>, TemplateError> {
        let mut templates = TemplateSet::new();
        for source in sources {
            templates.add(self.parsed(source)?);
        }
        let limits = Limits { stack: STACK, ..Limits::default() };
        let mut context = Context::new(Rc::new(templates), Rc::clone(&self.functions), limits, host);
        let mut rendered = BTreeMap::new();
        for source in sources.iter().filter(|source| !source.is_partial()) {
            source.enter();
            let name = Str::from(source.name.as_str());
            let text = context
                .execute(&name, Values::val(source.root.clone()))
                .map_err(|error| TemplateError::execution(&source.name, &error))?;
            let text = without_no_value(&text).unwrap_or(text);
            rendered.insert(source.name.clone(), text_from_vec(text));
        }
        Ok(rendered)
    }

    fn parsed(&mut self, source: &Source) -> Result<&Parsed, TemplateError> {
        let key = (source.name.clone(), Arc::as_ptr(&source.text).addr());
        let entry = match self.parsed.entry(key) {
            std::collections::hash_map::Entry::Occupied(known) => return Ok(&known.into_mut().parsed),
            std::collections::hash_map::Entry::Vacant(entry) => entry,
        };
        let (name, text) = (Str::from(source.name.as_str()), Str::from(&*source.text));
        let parsed = parse(&name, &text, &self.functions, Stack::here(STACK))
            .map_err(|error| TemplateError::syntax(&error))?;
        Ok(&entry.insert(Kept { parsed, _text: Arc::clone(&source.text) }).parsed)
    }
}

/// What templates may ask of the world, all of it given beforehand.
pub(super) struct Given<'r> {
    pub(super) now: jiff::Zoned,
    pub(super) random: StdRng,
    pub(super) lookups: &'r mut Lookups,
}

impl<'r> Given<'r> {
    pub(super) fn new(now: jiff::Zoned, seed: [u8; 32], lookups: &'r mut Lookups) -> Self {
        Self { now, random: StdRng::from_seed(seed), lookups }
    }
}

impl Host for Given<'_> {
    fn now(&mut self) -> jiff::Zoned {
        self.now.clone()
    }

    fn fill_random(&mut self, buffer: &mut [u8]) {
        self.random.fill_bytes(buffer);
    }

    fn lookup(
        &mut self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Value, String> {
        self.lookups.ask(LookupKey {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }

    fn resolve(&mut self, _: &str) -> String {
        // Helm asks no DNS unless it is told to.
        String::new()
    }
}
