//! Executes parsed templates.
//!
//! The order in which things are evaluated, checked and marked as "the current node" follows Go's executor, so
//! that error texts name the same place and expression.

mod action;
mod call;
mod command;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use super::call::{Context, FuncError, FuncTable, Host, Limits};
use super::error::ExecError;
use super::parse::Template;
use super::parse::ast::{NodeId, Source, Span};
use super::set::TemplateSet;
use super::stack::Stack;
use super::text::{Str, lossy};
use super::types::Type;
use super::value::Val;
use crate::go::strconv::quote;
pub(super) use call::zero as zero_value;

type Exec<T> = Result<T, Box<ExecError>>;

/// A value with what Go's reflection knows beyond it: whether it sits in an interface.
///
/// It matters for nil: a nil interface (a missing map key) is an error to look into, no value at all is not.
/// A pipeline, a variable and parentheses turn the first into the second.
#[derive(Clone, Debug, Default)]
pub(super) struct Operand {
    val: Val,
    is_interface: bool,
}

impl Operand {
    fn plain(val: Val) -> Operand {
        Operand { val, is_interface: false }
    }

    /// An element of a container, or what stands for a missing one.
    fn element(val: Val, element: Type) -> Operand {
        Operand { val, is_interface: element == Type::Any }
    }

    /// The name of the static type.
    fn type_name(&self) -> String {
        if self.is_interface { Type::Any.to_string() } else { self.val.type_name() }
    }
}

/// One running template.
struct Frame<'t> {
    source: &'t Source,
    template: &'t Template,
    /// Where its variables begin.
    base: usize,
    /// The node that errors are reported at.
    at: Cell<NodeId>,
}

impl<'t> Frame<'t> {
    /// Returns a stretch of the text for people.
    fn text(&self, span: Span) -> Cow<'t, str> {
        lossy(self.source.slice(span))
    }
}

impl<'h> Context<'h> {
    /// Prepares the execution of `templates` on the current thread, with `limits.stack` bytes of its stack.
    pub fn new(
        templates: Rc<TemplateSet>,
        functions: Rc<FuncTable>,
        limits: Limits,
        host: &'h mut dyn Host,
    ) -> Context<'h> {
        Context {
            host,
            functions,
            templates,
            out: Vec::new(),
            variables: Vec::new(),
            stack: Stack::here(limits.stack),
            steps_left: limits.steps,
            bytes_left: limits.bytes,
            depth: 0,
            parsed: HashMap::new(),
        }
    }

    /// Executes the template `name` on `data` and returns what it writes. After a failure the context is of no
    /// further use.
    pub fn execute(&mut self, name: &Str, data: Val) -> Result<Vec<u8>, FuncError> {
        let Some(template) = self.templates.get(name).map(Rc::clone) else {
            return Err(FuncError::Message(format!(
                "template: no template {} associated with template \"gotpl\"",
                quote(name)
            )));
        };
        let start = self.out.len();
        self.run(&template, data).map_err(FuncError::Exec)?;
        let text = self.out[start..].to_vec();
        self.out.truncate(start);
        Ok(text)
    }

    /// Executes a template on `data` and returns what it writes.
    pub(super) fn execute_template(&mut self, template: &Template, data: Val) -> Result<Str, FuncError> {
        let start = self.out.len();
        self.run(template, data).map_err(FuncError::Exec)?;
        let text = Str::from(&self.out[start..]);
        self.out.truncate(start);
        Ok(text)
    }

    fn run(&mut self, template: &Template, data: Val) -> Exec<()> {
        let base = self.variables.len();
        self.variables.resize(base + template.slots as usize, Operand::default());
        let dot = Operand::plain(data);
        self.variables[base] = dot.clone();
        let frame = Frame { source: &template.source, template, base, at: Cell::new(template.root) };
        self.list(&frame, &dot, template.root)?;
        self.variables.truncate(base);
        Ok(())
    }

    #[cold]
    fn fail<T>(&self, frame: &Frame<'_>, message: impl Into<String>) -> Exec<T> {
        Err(self.error(frame, message.into(), None))
    }

    fn error(&self, frame: &Frame<'_>, message: String, source: Option<Box<FuncError>>) -> Box<ExecError> {
        let at = frame.at.get();
        Box::new(ExecError {
            location: frame.source.location(at),
            template: frame.template.name.to_string(),
            expression: frame.source.print(at),
            message,
            source,
        })
    }

    fn write(&mut self, frame: &Frame<'_>, text: &[u8]) -> Exec<()> {
        if let Err(error) = self.charge(text.len()) {
            return self.fail(frame, error.to_string());
        }
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn step(&mut self, frame: &Frame<'_>) -> Exec<()> {
        match self.steps_left.checked_sub(1) {
            Some(left) => self.steps_left = left,
            None => return self.fail(frame, "the render takes more steps than is allowed"),
        }
        Ok(())
    }

    fn check_stack(&self, frame: &Frame<'_>) -> Exec<()> {
        if self.stack.is_exhausted() {
            return self.fail(frame, "templates call one another, or nest, too deeply");
        }
        Ok(())
    }
}
