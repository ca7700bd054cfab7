//! Templates by name.

use std::collections::HashMap;
use std::rc::Rc;

use super::parse::{Parsed, Template};
use super::text::Str;

/// The templates that can see each other. `tpl` lays a set of its own over the one it is called in.
#[derive(Debug, Default)]
pub struct TemplateSet {
    templates: HashMap<Str, Rc<Template>>,
    below: Option<Rc<TemplateSet>>,
}

impl TemplateSet {
    /// Returns an empty set.
    pub fn new() -> TemplateSet {
        TemplateSet::default()
    }

    /// Returns an empty set over `below`: what is added hides templates there and is gone with the new set.
    pub fn over(below: Rc<TemplateSet>) -> TemplateSet {
        TemplateSet { templates: HashMap::new(), below: Some(below) }
    }

    /// Adds what a text defines. A template replaces one of the same name, unless it is empty.
    pub fn add(&mut self, parsed: &Parsed) {
        for template in parsed.defined.iter().chain([&parsed.main]) {
            if !template.is_empty || self.get(&template.name).is_none() {
                self.templates.insert(template.name.clone(), Rc::clone(template));
            }
        }
    }

    /// Returns the template `name`.
    pub fn get(&self, name: &[u8]) -> Option<&Rc<Template>> {
        let mut set = self;
        loop {
            if let Some(template) = set.templates.get(name) {
                return Some(template);
            }
            set = set.below.as_deref()?;
        }
    }
}
