//! Pipelines, commands, constants, variables and chains of fields.

use super::{Exec, Frame, Operand};
use crate::template::call::Context;
use crate::template::parse::ast::{Form, Names, NodeId, Span, Variable};
use crate::template::value::{Map, Val};

impl Context<'_> {
    pub(super) fn pipeline(&mut self, frame: &Frame<'_>, dot: &Operand, id: NodeId) -> Exec<Val> {
        frame.at.set(id);
        let Form::Pipe(pipe) = &frame.source.node(id).form else { return Ok(Val::Nil) };
        let mut value = None;
        for command in frame.source.members(pipe.commands) {
            value = Some(self.command(frame, dot, *command, value)?.val);
        }
        let value = value.unwrap_or_default();
        for variable in frame.source.members(pipe.declared) {
            self.set_variable(frame, *variable, Operand::plain(value.clone()))?;
        }
        Ok(value)
    }

    pub(super) fn set_variable(&mut self, frame: &Frame<'_>, id: NodeId, value: Operand) -> Exec<()> {
        let Form::Variable(variable) = &frame.source.node(id).form else { return Ok(()) };
        match variable.slot {
            Some(slot) => self.variables[frame.base + slot as usize] = value,
            None => return self.fail(frame, format!("undefined variable: {}", frame.text(variable.name))),
        }
        Ok(())
    }

    fn command(&mut self, frame: &Frame<'_>, dot: &Operand, id: NodeId, last: Option<Val>) -> Exec<Operand> {
        let Form::Command(words) = &frame.source.node(id).form else { return Ok(Operand::default()) };
        let words = frame.source.members(*words);
        let first = words[0];
        let args = &words[1..];
        match &frame.source.node(first).form {
            Form::Field(fields) => {
                frame.at.set(first);
                return self.chain(frame, dot, dot, first, *fields, args, last);
            }
            Form::Chain { node, fields } => {
                return self.chain_node(frame, dot, first, *node, *fields, args, last);
            }
            Form::Identifier(function) => {
                frame.at.set(first);
                return self.function(frame, dot, function, id, args, last);
            }
            Form::Pipe(_) => {
                self.check_no_args(frame, first, args, &last)?;
                return self.pipeline(frame, dot, first).map(Operand::plain);
            }
            Form::Variable(variable) => return self.variable(frame, dot, first, variable, args, last),
            _ => {}
        }
        frame.at.set(first);
        self.check_no_args(frame, first, args, &last)?;
        match &frame.source.node(first).form {
            Form::Dot => Ok(dot.clone()),
            Form::Nil => self.fail(frame, "nil is not a command"),
            _ => self.constant(frame, first),
        }
    }

    fn check_no_args(
        &self,
        frame: &Frame<'_>,
        first: NodeId,
        args: &[NodeId],
        last: &Option<Val>,
    ) -> Exec<()> {
        if args.is_empty() && last.is_none() {
            return Ok(());
        }
        self.fail(frame, format!("can't give argument to non-function {}", frame.source.print(first)))
    }

    /// A literal where no type is asked for.
    pub(super) fn constant(&mut self, frame: &Frame<'_>, id: NodeId) -> Exec<Operand> {
        frame.at.set(id);
        Ok(Operand::plain(match &frame.source.node(id).form {
            Form::Bool(flag) => Val::Bool(*flag),
            Form::String { text, .. } => Val::Str(text.clone()),
            Form::Number(number) => match &number.ideal {
                Some(value) => value.clone(),
                None => return self.fail(frame, format!("{} overflows int", number.text)),
            },
            _ => {
                let text = frame.source.print(id);
                return self
                    .fail(frame, format!("can't handle assignment of {text} to empty interface argument"));
            }
        }))
    }

    pub(super) fn variable(
        &mut self,
        frame: &Frame<'_>,
        dot: &Operand,
        id: NodeId,
        variable: &Variable,
        args: &[NodeId],
        last: Option<Val>,
    ) -> Exec<Operand> {
        frame.at.set(id);
        let Some(slot) = variable.slot else {
            return self.fail(frame, format!("undefined variable: {}", frame.text(variable.name)));
        };
        let value = self.variables[frame.base + slot as usize].clone();
        if variable.fields.is_empty() {
            self.check_no_args(frame, id, args, &last)?;
            return Ok(value);
        }
        self.chain(frame, dot, &value, id, variable.fields, args, last)
    }

    #[expect(clippy::too_many_arguments, reason = "a command's parts, as Go's executor passes them")]
    pub(super) fn chain_node(
        &mut self,
        frame: &Frame<'_>,
        dot: &Operand,
        id: NodeId,
        node: NodeId,
        fields: Names,
        args: &[NodeId],
        last: Option<Val>,
    ) -> Exec<Operand> {
        frame.at.set(id);
        if matches!(frame.source.node(node).form, Form::Nil) {
            let text = frame.source.print(id);
            return self.fail(frame, format!("indirection through explicit nil in {text}"));
        }
        let receiver = self.operand(frame, dot, node)?;
        self.chain(frame, dot, &receiver, id, fields, args, last)
    }

    /// Evaluates `.X.Y.Z` from `receiver` on; the last name gets the arguments, should it be a method.
    #[expect(clippy::too_many_arguments, reason = "a command's parts, as Go's executor passes them")]
    pub(super) fn chain(
        &mut self,
        frame: &Frame<'_>,
        dot: &Operand,
        receiver: &Operand,
        node: NodeId,
        fields: Names,
        args: &[NodeId],
        last: Option<Val>,
    ) -> Exec<Operand> {
        let fields = frame.source.names(fields);
        let Some((final_field, fields)) = fields.split_last() else { return Ok(receiver.clone()) };
        let mut value;
        let mut receiver = receiver;
        for field in fields {
            value = self.field(frame, dot, *field, node, &[], None, receiver)?;
            receiver = &value;
        }
        self.field(frame, dot, *final_field, node, args, last, receiver)
    }

    #[expect(clippy::too_many_arguments, reason = "a command's parts, as Go's executor passes them")]
    fn field(
        &mut self,
        frame: &Frame<'_>,
        dot: &Operand,
        name: Span,
        node: NodeId,
        args: &[NodeId],
        last: Option<Val>,
        receiver: &Operand,
    ) -> Exec<Operand> {
        let has_args = !args.is_empty() || last.is_some();
        match &receiver.val {
            Val::Nil if receiver.is_interface => {
                return self
                    .fail(frame, format!("nil pointer evaluating interface {{}}.{}", frame.text(name)));
            }
            // A value that is not there has no fields, and no error either.
            Val::Nil => return Ok(Operand::default()),
            Val::Map(map) => return self.map_field(frame, map, name, has_args),
            Val::Object(object) => {
                let text = frame.text(name);
                if let Some(method) = object.method(&text) {
                    return self.method(frame, dot, object.as_ref(), method, node, args, last);
                }
                if let Some(map) = receiver.val.to_map() {
                    return self.map_field(frame, &map, name, has_args);
                }
                if let Some(val) = object.field(&text) {
                    if has_args {
                        return self
                            .fail(frame, format!("{text} has arguments but cannot be invoked as function"));
                    }
                    let is_interface = val.is_nil();
                    return Ok(Operand { val, is_interface });
                }
            }
            _ => {}
        }
        self.fail(
            frame,
            format!("can't evaluate field {} in type {}", frame.text(name), receiver.type_name()),
        )
    }

    fn map_field(&self, frame: &Frame<'_>, map: &Map, name: Span, has_args: bool) -> Exec<Operand> {
        if has_args {
            return self.fail(frame, format!("{} is not a method but has arguments", frame.text(name)));
        }
        let element = map.element();
        Ok(Operand::element(
            map.get(frame.source.slice(name)).unwrap_or_else(|| super::call::zero(element)),
            element,
        ))
    }
}
