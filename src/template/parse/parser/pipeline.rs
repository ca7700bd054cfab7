//! Pipelines: what stands inside an action.

use super::super::ast::{Form, Members, Names, NodeId, Pipe, Span, Variable};
use super::super::lex::{Class, Token};
use super::super::number;
use super::super::state::Seen;
use super::{MAX_PARENTHESES, Parser, Result, to_u32};
use crate::go::strconv::quote;

impl Parser<'_> {
    pub(super) fn pipeline(&mut self, context: &str, end: Class) -> Result<NodeId> {
        let pos = self.peek_non_space().start;
        let mut pipe = Pipe::default();
        pipe.declared = self.declarations(context, &mut pipe)?;
        let born = self.state.seen.len() - pipe.declared.len()..self.state.seen.len();
        let open = self.open.len();
        loop {
            let token = self.next_non_space();
            match token.class {
                class if class == end => break,
                Class::Bool
                | Class::CharConstant
                | Class::Complex
                | Class::Dot
                | Class::Field
                | Class::Identifier
                | Class::Number
                | Class::Nil
                | Class::RawString
                | Class::String
                | Class::Variable
                | Class::LeftParen => {
                    self.state.backup();
                    let command = self.command()?;
                    self.open.push(command);
                }
                _ => return self.unexpected(&token, context),
            }
        }
        pipe.commands = self.members(open);
        self.check_pipeline(pipe.commands, context)?;
        for index in born {
            // From here on the names mean the new variables; in the pipeline itself they mean older ones.
            let seen = &mut self.state.seen[index];
            seen.is_alive = seen.slot.is_some();
        }
        Ok(self.node(pos, Form::Pipe(pipe)))
    }

    /// `$x :=`, `$x =`, and in a range `$i, $x :=`.
    fn declarations(&mut self, context: &str, pipe: &mut Pipe) -> Result<Members> {
        let open = self.open.len();
        let mut names = Vec::new();
        loop {
            let variable = self.peek_non_space();
            if variable.class != Class::Variable {
                break;
            }
            self.next();
            // Space is a token: in `$x foo` the `foo` must be seen to know that this declares nothing.
            let after = *self.peek();
            let next = self.peek_non_space();
            let is_comma = next.class == Class::Char && self.value(&next) == b",";
            if matches!(next.class, Class::Assign | Class::Declare) || is_comma {
                self.next_non_space();
                names.push(variable);
                if !is_comma {
                    pipe.is_assign = next.class == Class::Assign;
                    break;
                }
                if context != "range" || names.len() >= 2 {
                    return self.fail(format!("too many declarations in {context}"));
                }
                let second = self.peek_non_space().class;
                if !matches!(second, Class::Variable | Class::RightDelim | Class::RightParen) {
                    return self.fail("range can only initialize variables");
                }
                continue;
            }
            if after.class == Class::Space {
                self.state.backup3(variable, after);
            } else {
                self.state.backup2(variable);
            }
            break;
        }
        for token in names {
            let variable = self.declare(&token, pipe.is_assign);
            self.open.push(variable);
        }
        Ok(self.members(open))
    }

    fn declare(&mut self, token: &Token, is_assign: bool) -> NodeId {
        let name = self.value(token);
        let slot = if is_assign { self.state.slot_of(name) } else { Some(self.state.new_slot()) };
        // The parser takes the name as known from here on, also one that is assigned without being declared.
        self.state.seen.push(Seen { name, slot, is_alive: false });
        let variable = Variable { name: Self::span(token), slot, fields: Names::default() };
        self.node(token.start, Form::Variable(variable))
    }

    fn check_pipeline(&self, commands: Members, context: &str) -> Result<()> {
        if commands.is_empty() {
            return self.fail(format!("missing value for {context}"));
        }
        for (index, command) in self.source.members(commands).iter().enumerate().skip(1) {
            let Form::Command(args) = self.form(*command) else { continue };
            let constant = self.source.members(*args).first().is_some_and(|first| {
                matches!(
                    self.form(*first),
                    Form::Bool(_) | Form::Dot | Form::Nil | Form::Number(_) | Form::String { .. }
                )
            });
            if constant {
                return self.fail(format!("non executable command in pipeline stage {}", index + 1));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Result<NodeId> {
        let pos = self.peek_non_space().start;
        let open = self.open.len();
        loop {
            self.peek_non_space();
            if let Some(operand) = self.operand()? {
                self.open.push(operand);
            }
            let token = self.next();
            match token.class {
                Class::Space => continue,
                Class::RightDelim | Class::RightParen => self.state.backup(),
                Class::Pipe => {}
                _ => return self.unexpected(&token, "operand"),
            }
            break;
        }
        if self.open.len() == open {
            return self.fail("empty command");
        }
        let args = self.members(open);
        Ok(self.node(pos, Form::Command(args)))
    }

    /// A term with the fields that follow it; nothing when no term comes next.
    fn operand(&mut self) -> Result<Option<NodeId>> {
        let Some(term) = self.term()? else { return Ok(None) };
        if self.peek().class != Class::Field {
            return Ok(Some(term));
        }
        let pos = self.peek().start;
        let mut fields = Names { start: self.names_len(), end: 0 };
        while self.peek().class == Class::Field {
            let token = self.next();
            self.name_of_field(&token);
        }
        fields.end = self.names_len();
        let form = match *self.form(term) {
            // Its own name stands right before the others.
            Form::Field(first) => Form::Field(Names { start: first.start, end: fields.end }),
            Form::Variable(variable) => Form::Variable(Variable { fields, ..variable }),
            Form::Bool(_) | Form::String { .. } | Form::Number(_) | Form::Nil | Form::Dot => {
                let text = self.source.print(term);
                return self.fail(format!("unexpected . after term {}", quote(text.as_bytes())));
            }
            _ => return Ok(Some(self.node(pos, Form::Chain { node: term, fields }))),
        };
        self.replace(term, pos, form);
        Ok(Some(term))
    }

    fn names_len(&self) -> u32 {
        to_u32(self.source.names.len())
    }

    /// Takes the name behind the dot.
    fn name_of_field(&mut self, token: &Token) {
        let Span { start, end } = Self::span(token);
        self.source.names.push(Span { start: start + 1, end });
    }

    fn term(&mut self) -> Result<Option<NodeId>> {
        let token = self.next_non_space();
        let form = match token.class {
            Class::Identifier => {
                let name = self.value(&token);
                let function = std::str::from_utf8(name).ok().and_then(|name| self.functions.get(name));
                match function {
                    Some(function) => Form::Identifier(function),
                    None => return self.fail(format!("function {} not defined", quote(name))),
                }
            }
            Class::Dot => Form::Dot,
            Class::Nil => Form::Nil,
            Class::Variable => self.variable(&token)?,
            Class::Field => {
                let start = self.names_len();
                self.name_of_field(&token);
                Form::Field(Names { start, end: self.names_len() })
            }
            Class::Bool => Form::Bool(self.value(&token) == b"true"),
            Class::CharConstant | Class::Complex | Class::Number => {
                let text = self.value(&token);
                let number = if token.class == Class::CharConstant {
                    number::character(text)
                } else {
                    number::number(text)
                };
                match number {
                    Ok(number) => Form::Number(Box::new(number)),
                    Err(message) => return self.fail(message),
                }
            }
            Class::LeftParen => return self.parenthesized().map(Some),
            Class::String | Class::RawString => {
                let text = self.unquoted(&token)?;
                Form::String { text, quoted: Self::span(&token) }
            }
            _ => {
                self.state.backup();
                return Ok(None);
            }
        };
        Ok(Some(self.node(token.start, form)))
    }

    fn parenthesized(&mut self) -> Result<NodeId> {
        if self.state.parentheses >= MAX_PARENTHESES {
            return self.fail("max expression depth exceeded");
        }
        self.check_stack()?;
        self.state.parentheses += 1;
        let pipe = self.pipeline("parenthesized pipeline", Class::RightParen)?;
        self.state.parentheses -= 1;
        Ok(pipe)
    }

    fn variable(&self, token: &Token) -> Result<Form> {
        let name = self.value(token);
        if !self.state.seen.iter().any(|seen| seen.name == name) {
            return self.fail(format!("undefined variable {}", quote(name)));
        }
        let slot = self.state.slot_of(name);
        Ok(Form::Variable(Variable { name: Self::span(token), slot, fields: Names::default() }))
    }
}
