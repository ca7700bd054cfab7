//! The parsed form of templates.
//!
//! All nodes of one text live in one arena, so that they can be named by number, shared by the templates
//! defined in it and dropped without recursion. Names of functions are resolved, variables have their place in
//! the frame of their template.

use std::fmt::Write as _;

use crate::go::strconv::quote;
use crate::template::call::Func;
use crate::template::text::{Str, lossy};
use crate::template::value::Val;

/// The number of a node in its [`Source`].
pub(in crate::template) type NodeId = u32;

/// A text and the nodes parsed from it. What nodes consist of lies in common lists, so that a node needs no memory
/// of its own.
#[derive(Debug)]
pub(in crate::template) struct Source {
    /// The name under which the text was parsed.
    pub(in crate::template) name: Str,
    /// The text.
    pub(in crate::template) text: Str,
    pub(super) nodes: Vec<Node>,
    pub(super) members: Vec<NodeId>,
    pub(super) names: Vec<Span>,
}

/// The nodes that a node consists of: a stretch of [`Source::members`].
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::template) struct Members {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Members {
    pub(in crate::template) fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    pub(in crate::template) fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// Names of fields, without their dots: a stretch of [`Source::names`].
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::template) struct Names {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// One node and where it stands.
#[derive(Debug)]
pub(in crate::template) struct Node {
    /// Byte offset in the text, as Go's parser sets it.
    pub(in crate::template) pos: u32,
    pub(in crate::template) form: Form,
}

/// A stretch of the text.
#[derive(Clone, Copy, Debug)]
pub(in crate::template) struct Span {
    pub(in crate::template) start: u32,
    pub(in crate::template) end: u32,
}

/// The forms of nodes.
#[derive(Debug)]
pub(in crate::template) enum Form {
    List(Members),
    Text(Span),
    Action { pipe: NodeId },
    If(Branch),
    With(Branch),
    Range(Branch),
    Template { name: Str, pipe: Option<NodeId> },
    Break,
    Continue,
    Pipe(Pipe),
    Command(Members),
    Identifier(&'static Func),
    Variable(Variable),
    Dot,
    Nil,
    Field(Names),
    Chain { node: NodeId, fields: Names },
    Bool(bool),
    Number(Box<Number>),
    String { text: Str, quoted: Span },
    End,
    Else,
}

/// `if`, `with` and `range`.
#[derive(Debug)]
pub(in crate::template) struct Branch {
    pub(in crate::template) pipe: NodeId,
    pub(in crate::template) list: NodeId,
    pub(in crate::template) else_list: Option<NodeId>,
}

/// A pipeline: declarations and commands.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::template) struct Pipe {
    pub(in crate::template) is_assign: bool,
    pub(in crate::template) declared: Members,
    pub(in crate::template) commands: Members,
}

/// A variable, possibly followed by fields.
#[derive(Clone, Copy, Debug)]
pub(in crate::template) struct Variable {
    /// The name with its `$`.
    pub(in crate::template) name: Span,
    /// Its place in the frame; nothing when it is never set by the time it is used.
    pub(in crate::template) slot: Option<u32>,
    pub(in crate::template) fields: Names,
}

/// A number constant: every type that it can take without loss.
#[derive(Clone, Debug, Default)]
pub(in crate::template) struct Number {
    pub(in crate::template) text: String,
    pub(in crate::template) int: Option<i64>,
    pub(in crate::template) uint: Option<u64>,
    pub(in crate::template) float: Option<f64>,
    /// The value where no type is asked for; nothing when it does not fit an `int`.
    pub(in crate::template) ideal: Option<Val>,
}

impl Names {
    pub(in crate::template) fn is_empty(self) -> bool {
        self.start == self.end
    }
}

impl Source {
    /// Returns the node `id`.
    pub(in crate::template) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// Returns the nodes that a node consists of.
    pub(in crate::template) fn members(&self, of: Members) -> &[NodeId] {
        &self.members[of.start as usize..of.end as usize]
    }

    /// Returns names of fields; [`Source::slice`] gives their bytes.
    pub(in crate::template) fn names(&self, of: Names) -> &[Span] {
        &self.names[of.start as usize..of.end as usize]
    }

    /// Returns the bytes of a stretch.
    pub(in crate::template) fn slice(&self, span: Span) -> &[u8] {
        &self.text[span.start as usize..span.end as usize]
    }

    /// Returns `NAME:LINE:COLUMN` of a node: the line counted from 1, the column in bytes from 0.
    pub(in crate::template) fn location(&self, id: NodeId) -> String {
        let before = &self.text[..self.node(id).pos as usize];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let column =
            before.iter().rposition(|byte| *byte == b'\n').map_or(before.len(), |at| before.len() - at - 1);
        format!("{}:{line}:{column}", self.name)
    }

    /// Returns the node as Go's `String` method writes it.
    pub(in crate::template) fn print(&self, id: NodeId) -> String {
        let mut out = String::new();
        self.write(&mut out, id, MAX_PRINT_DEPTH);
        out
    }

    /// Tells whether nothing but white space is below the node, so that it does not replace a template.
    pub(in crate::template) fn is_empty(&self, id: NodeId) -> bool {
        match &self.node(id).form {
            Form::List(nodes) => self.members(*nodes).iter().all(|node| self.is_empty(*node)),
            Form::Text(span) => lossy(self.slice(*span)).trim().is_empty(),
            _ => false,
        }
    }

    fn write(&self, out: &mut String, id: NodeId, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else {
            return out.push_str("...");
        };
        match &self.node(id).form {
            Form::List(nodes) => {
                self.members(*nodes).iter().for_each(|node| self.write(out, *node, depth));
            }
            Form::Text(span) => out.push_str(&lossy(self.slice(*span))),
            Form::Action { pipe } => {
                out.push_str("{{");
                self.write(out, *pipe, depth);
                out.push_str("}}");
            }
            Form::If(branch) => self.write_branch(out, "if", branch, depth),
            Form::With(branch) => self.write_branch(out, "with", branch, depth),
            Form::Range(branch) => self.write_branch(out, "range", branch, depth),
            Form::Template { name, pipe } => {
                // Writing to a string cannot fail.
                let _ = write!(out, "{{{{template {}", quote(name));
                if let Some(pipe) = pipe {
                    out.push(' ');
                    self.write(out, *pipe, depth);
                }
                out.push_str("}}");
            }
            Form::Break => out.push_str("{{break}}"),
            Form::Continue => out.push_str("{{continue}}"),
            Form::End => out.push_str("{{end}}"),
            Form::Else => out.push_str("{{else}}"),
            Form::Pipe(pipe) => self.write_pipe(out, pipe, depth),
            Form::Command(args) => {
                for (index, arg) in self.members(*args).iter().enumerate() {
                    if index > 0 {
                        out.push(' ');
                    }
                    self.write_operand(out, *arg, depth);
                }
            }
            Form::Identifier(function) => out.push_str(function.name),
            Form::Variable(variable) => {
                out.push_str(&lossy(self.slice(variable.name)));
                self.write_fields(out, variable.fields);
            }
            Form::Dot => out.push('.'),
            Form::Nil => out.push_str("nil"),
            Form::Field(fields) => self.write_fields(out, *fields),
            Form::Chain { node, fields } => {
                self.write_operand(out, *node, depth);
                self.write_fields(out, *fields);
            }
            Form::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Form::Number(number) => out.push_str(&number.text),
            Form::String { quoted, .. } => out.push_str(&lossy(self.slice(*quoted))),
        }
    }

    /// Writes an operand; a pipeline gets its parentheses back.
    fn write_operand(&self, out: &mut String, id: NodeId, depth: usize) {
        let nested = matches!(self.node(id).form, Form::Pipe(_));
        if nested {
            out.push('(');
        }
        self.write(out, id, depth);
        if nested {
            out.push(')');
        }
    }

    fn write_branch(&self, out: &mut String, keyword: &str, branch: &Branch, depth: usize) {
        out.push_str("{{");
        out.push_str(keyword);
        out.push(' ');
        self.write(out, branch.pipe, depth);
        out.push_str("}}");
        self.write(out, branch.list, depth);
        if let Some(list) = branch.else_list {
            out.push_str("{{else}}");
            self.write(out, list, depth);
        }
        out.push_str("{{end}}");
    }

    fn write_fields(&self, out: &mut String, fields: Names) {
        for field in self.names(fields) {
            out.push('.');
            out.push_str(&lossy(self.slice(*field)));
        }
    }

    fn write_pipe(&self, out: &mut String, pipe: &Pipe, depth: usize) {
        for (index, variable) in self.members(pipe.declared).iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            self.write(out, *variable, depth);
        }
        if !pipe.declared.is_empty() {
            out.push_str(if pipe.is_assign { " = " } else { " := " });
        }
        for (index, command) in self.members(pipe.commands).iter().enumerate() {
            if index > 0 {
                out.push_str(" | ");
            }
            self.write(out, *command, depth);
        }
    }
}

/// Error texts do not need more of a deeply nested expression than this.
const MAX_PRINT_DEPTH: usize = 400;
