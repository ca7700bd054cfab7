//! Text, actions and control structures.

use std::rc::Rc;

use super::{Exec, Frame, Operand};
use crate::go::strconv::quote;
use crate::template::call::Context;
use crate::template::fmt::{print_value, to_text};
use crate::template::parse::ast::{Branch, Form, NodeId, Pipe};
use crate::template::text::Str;
use crate::template::value::{Number, Val};

/// Go's bound on `template` actions within one another.
const MAX_TEMPLATE_DEPTH: usize = 100_000;

/// How a list of nodes ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
}

impl Context<'_> {
    pub(super) fn list(&mut self, frame: &Frame<'_>, dot: &Operand, id: NodeId) -> Exec<Flow> {
        let Form::List(nodes) = &frame.source.node(id).form else { return Ok(Flow::Next) };
        for node in frame.source.members(*nodes) {
            let flow = self.walk(frame, dot, *node)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn walk(&mut self, frame: &Frame<'_>, dot: &Operand, id: NodeId) -> Exec<Flow> {
        frame.at.set(id);
        self.step(frame)?;
        match &frame.source.node(id).form {
            Form::Text(span) => self.write(frame, frame.source.slice(*span))?,
            Form::Action { pipe } => self.action(frame, dot, id, *pipe)?,
            Form::If(branch) => {
                let value = self.pipeline(frame, dot, branch.pipe)?;
                return self.branch(frame, dot, dot, &value, branch);
            }
            Form::With(branch) => {
                let value = Operand::plain(self.pipeline(frame, dot, branch.pipe)?);
                return self.branch(frame, dot, &value, &value.val, branch);
            }
            Form::Range(branch) => return self.range(frame, dot, branch),
            Form::Template { name, pipe } => self.template(frame, dot, name, *pipe)?,
            Form::Break => return Ok(Flow::Break),
            Form::Continue => return Ok(Flow::Continue),
            _ => {}
        }
        Ok(Flow::Next)
    }

    fn action(&mut self, frame: &Frame<'_>, dot: &Operand, id: NodeId, pipe: NodeId) -> Exec<()> {
        let value = self.pipeline(frame, dot, pipe)?;
        if matches!(&frame.source.node(pipe).form, Form::Pipe(pipe) if !pipe.declared.is_empty()) {
            return Ok(());
        }
        frame.at.set(id);
        match &value {
            Val::Nil => self.write(frame, b"<no value>"),
            Val::Str(text) => self.write(frame, text),
            Val::Object(object) => {
                if let Some(text) = object.printed() {
                    return self.write(frame, text.as_bytes());
                }
                self.print(frame, &value)
            }
            _ => self.print(frame, &value),
        }
    }

    fn print(&mut self, frame: &Frame<'_>, value: &Val) -> Exec<()> {
        let start = self.out.len();
        if let Err(error) = print_value(&mut self.out, value) {
            return self.fail(frame, error.to_string());
        }
        if let Err(error) = self.charge(self.out.len() - start) {
            return self.fail(frame, error.to_string());
        }
        Ok(())
    }

    /// Runs the list of an `if` or `with` with `inner` as dot, or the other one with `dot`.
    fn branch(
        &mut self,
        frame: &Frame<'_>,
        dot: &Operand,
        inner: &Operand,
        value: &Val,
        branch: &Branch,
    ) -> Exec<Flow> {
        self.check_stack(frame)?;
        if value.is_true() {
            self.list(frame, inner, branch.list)
        } else if let Some(list) = branch.else_list {
            self.list(frame, dot, list)
        } else {
            Ok(Flow::Next)
        }
    }

    fn range(&mut self, frame: &Frame<'_>, dot: &Operand, branch: &Branch) -> Exec<Flow> {
        self.check_stack(frame)?;
        let value = self.pipeline(frame, dot, branch.pipe)?;
        let Form::Pipe(pipe) = &frame.source.node(branch.pipe).form else { return Ok(Flow::Next) };
        let mut has_run = false;
        // Go's sorted copy of a map, and its slices, do not see what the body changes.
        if let Some(list) = value.to_list() {
            let element = list.element();
            for (index, item) in list.iter().enumerate() {
                has_run = true;
                let index = i64::try_from(index).unwrap_or(i64::MAX);
                let item = Operand::element(item.clone(), element);
                if self.round(frame, pipe, branch, Operand::plain(Val::Int(index)), item)? == Flow::Break {
                    return Ok(Flow::Next);
                }
            }
        } else if let Some(map) = value.to_map() {
            let element = map.element();
            for (key, item) in map.entries() {
                has_run = true;
                let item = Operand::element(item, element);
                if self.round(frame, pipe, branch, Operand::plain(Val::Str(key)), item)? == Flow::Break {
                    return Ok(Flow::Next);
                }
            }
        } else if let Some(count) = count(&value) {
            if pipe.declared.len() > 1 {
                let text = to_text(&value);
                return self.fail(frame, format!("can't use {text} to iterate over more than one variable"));
            }
            for number in 0..count {
                has_run = true;
                let item = Operand::plain(same_kind(&value, number));
                if self.round(frame, pipe, branch, Operand::default(), item)? == Flow::Break {
                    return Ok(Flow::Next);
                }
            }
        } else if !value.is_nil() {
            return self.fail(frame, format!("range can't iterate over {}", to_text(&value)));
        }
        match branch.else_list {
            Some(list) if !has_run => self.list(frame, dot, list),
            _ => Ok(Flow::Next),
        }
    }

    /// One round of a loop.
    fn round(
        &mut self,
        frame: &Frame<'_>,
        pipe: &Pipe,
        branch: &Branch,
        index: Operand,
        item: Operand,
    ) -> Exec<Flow> {
        self.step(frame)?;
        match frame.source.members(pipe.declared) {
            [] => {}
            [only] => self.set_variable(frame, *only, item.clone())?,
            [first, second, ..] => {
                self.set_variable(frame, *first, index)?;
                self.set_variable(frame, *second, item.clone())?;
            }
        }
        self.list(frame, &item, branch.list)
    }

    fn template(&mut self, frame: &Frame<'_>, dot: &Operand, name: &Str, pipe: Option<NodeId>) -> Exec<()> {
        let Some(template) = self.templates.get(name).map(Rc::clone) else {
            return self.fail(frame, format!("template {} not defined", quote(name)));
        };
        if self.depth == MAX_TEMPLATE_DEPTH {
            return self.fail(frame, format!("exceeded maximum template depth ({MAX_TEMPLATE_DEPTH})"));
        }
        let data = match pipe {
            Some(pipe) => self.pipeline(frame, dot, pipe)?,
            None => Val::Nil,
        };
        self.check_stack(frame)?;
        self.depth += 1;
        self.run(&template, data)?;
        self.depth -= 1;
        Ok(())
    }
}

/// How many rounds a loop over a number has.
fn count(value: &Val) -> Option<i64> {
    match value.number()? {
        Number::Int(number) => Some(number),
        Number::Uint(number) => Some(i64::try_from(number).unwrap_or(i64::MAX)),
        Number::Float(_) => None,
    }
}

/// The number in the type of `model`.
fn same_kind(model: &Val, number: i64) -> Val {
    match model {
        Val::Int(_) => Val::Int(number),
        Val::Sized(kind, _) => Val::Sized(*kind, number),
        Val::Uint(kind, _) => Val::Uint(*kind, number.unsigned_abs()),
        _ => Val::Int64(number),
    }
}
