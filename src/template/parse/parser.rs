//! From tokens to nodes.
//!
//! Look-ahead, error lines and the scope of variables follow Go's parser step by step, because they show: in
//! error texts, and in what a chart may write without an error.

mod pipeline;

use std::cell::Cell;
use std::rc::Rc;

use super::ast::{Branch, Form, Members, Node, NodeId, Source, Span};
use super::lex::{Class, Lexer, Token};
use super::state::State;
use super::{Parsed, Template};
use crate::go::strconv::{quote, unquote};
use crate::template::call::FuncTable;
use crate::template::error::ParseError;
use crate::template::stack::Stack;
use crate::template::text::Str;

/// Go's bound on nested parentheses.
const MAX_PARENTHESES: usize = 10_000;

type Result<T> = std::result::Result<T, ParseError>;

/// A template before its text is complete.
struct Tree {
    name: Str,
    root: NodeId,
    slots: u32,
    is_empty: bool,
}

struct Parser<'p> {
    name: &'p Str,
    text: &'p [u8],
    functions: &'p FuncTable,
    stack: Stack,
    lexer: Lexer<'p>,
    state: State<'p>,
    source: Source,
    /// The members of nodes that are not complete yet, those of inner nodes behind those of outer ones.
    open: Vec<NodeId>,
    trees: Vec<Tree>,
}

pub(super) fn parse(name: &Str, text: &Str, functions: &FuncTable, stack: Stack) -> Result<Parsed> {
    if u32::try_from(text.len()).is_err() {
        return Err(ParseError {
            name: name.to_string(),
            line: 1,
            message: "the text is too long".to_owned(),
        });
    }
    let mut parser = Parser {
        name,
        text: text.as_bytes(),
        functions,
        stack,
        lexer: Lexer::new(text.as_bytes()),
        state: State::new(),
        source: Source {
            name: name.clone(),
            text: text.clone(),
            // Half of what ordinary templates need.
            nodes: Vec::with_capacity(text.len() / 32),
            members: Vec::with_capacity(text.len() / 32),
            names: Vec::with_capacity(text.len() / 64),
        },
        open: Vec::new(),
        trees: Vec::new(),
    };
    let root = parser.top_level()?;
    parser.add(name.clone(), root)?;
    let Parser { source, trees, .. } = parser;
    let source = Rc::new(source);
    let mut main = None;
    let mut defined = Vec::new();
    for tree in trees {
        let Tree { name: tree_name, root, slots, is_empty } = tree;
        let template = Rc::new(Template {
            name: tree_name,
            source: Rc::clone(&source),
            root,
            slots,
            is_empty,
            includes: Cell::new(0),
        });
        if template.name == *name {
            main = Some(template);
        } else {
            defined.push(template);
        }
    }
    let main = main.ok_or_else(|| ParseError {
        name: name.to_string(),
        line: 1,
        message: "the text defines no template".to_owned(),
    })?;
    Ok(Parsed { main, defined })
}

fn to_u32(offset: usize) -> u32 {
    // The length of the text was checked.
    u32::try_from(offset).unwrap_or(u32::MAX)
}

impl<'p> Parser<'p> {
    // Tokens.

    fn next(&mut self) -> Token {
        self.state.next(&mut self.lexer)
    }

    fn peek(&mut self) -> &Token {
        self.state.peek(&mut self.lexer)
    }

    fn next_non_space(&mut self) -> Token {
        self.state.next_non_space(&mut self.lexer)
    }

    fn peek_non_space(&mut self) -> Token {
        let token = self.next_non_space();
        self.state.backup();
        token
    }

    fn value(&self, token: &Token) -> &'p [u8] {
        &self.text[token.start..token.end]
    }

    // Errors.

    fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(ParseError { name: self.name.to_string(), line: self.state.line(), message: message.into() })
    }

    fn unexpected<T>(&self, token: &Token, context: &str) -> Result<T> {
        if token.class != Class::Error {
            return self.fail(format!("unexpected {} in {context}", token.describe(self.text)));
        }
        let text = self.lexer.message();
        let started = self.state.action_line;
        if started == 0 || started == token.line {
            return self.fail(text);
        }
        // "unclosed action in action started at" would say it twice.
        let joint = if text.ends_with(" action") { "" } else { " in action" };
        self.fail(format!("{text}{joint} started at {}:{started}", self.name))
    }

    fn expect(&mut self, class: Class, context: &str) -> Result<Token> {
        let token = self.next_non_space();
        if token.class == class { Ok(token) } else { self.unexpected(&token, context) }
    }

    fn check_stack(&self) -> Result<()> {
        if self.stack.is_exhausted() { self.fail("the template nests too deeply") } else { Ok(()) }
    }

    // Nodes.

    fn node(&mut self, pos: usize, form: Form) -> NodeId {
        self.source.nodes.push(Node { pos: to_u32(pos), form });
        to_u32(self.source.nodes.len() - 1)
    }

    /// Makes what was added to [`Parser::open`] since `from` the members of a node.
    fn members(&mut self, from: usize) -> Members {
        let start = to_u32(self.source.members.len());
        self.source.members.extend(self.open.drain(from..));
        Members { start, end: to_u32(self.source.members.len()) }
    }

    fn span(token: &Token) -> Span {
        Span { start: to_u32(token.start), end: to_u32(token.end) }
    }

    fn replace(&mut self, id: NodeId, pos: usize, form: Form) {
        if let Some(node) = self.source.nodes.get_mut(id as usize) {
            *node = Node { pos: to_u32(pos), form };
        }
    }

    fn form(&self, id: NodeId) -> &Form {
        &self.source.node(id).form
    }

    fn pos(&self, id: NodeId) -> usize {
        self.source.node(id).pos as usize
    }

    /// Registers a finished template of the current state.
    fn add(&mut self, name: Str, root: NodeId) -> Result<()> {
        let is_empty = self.source.is_empty(root);
        let tree = Tree { name, root, slots: self.state.slots, is_empty };
        match self.trees.iter_mut().find(|other| other.name == tree.name) {
            None => self.trees.push(tree),
            Some(other) if other.is_empty => *other = tree,
            Some(_) if tree.is_empty => {}
            Some(_) => {
                return self.fail(format!("template: multiple definition of template {}", quote(&tree.name)));
            }
        }
        Ok(())
    }

    /// The whole text: text and actions, and definitions.
    fn top_level(&mut self) -> Result<NodeId> {
        let pos = self.peek().start;
        let open = self.open.len();
        while self.peek().class != Class::Eof {
            if self.peek().class == Class::LeftDelim {
                let delim = self.next();
                if self.next_non_space().class == Class::Define {
                    self.definition()?;
                    continue;
                }
                self.state.backup2(delim);
            }
            let node = self.text_or_action()?;
            if matches!(self.form(node), Form::End | Form::Else) {
                return self.fail(format!("unexpected {}", self.source.print(node)));
            }
            self.open.push(node);
        }
        let nodes = self.members(open);
        Ok(self.node(pos, Form::List(nodes)))
    }

    fn definition(&mut self) -> Result<()> {
        let outer = std::mem::replace(&mut self.state, State::new());
        let context = "define clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, context)?;
        self.expect(Class::RightDelim, context)?;
        let (root, end) = self.item_list()?;
        if !matches!(self.form(end), Form::End) {
            return self.fail(format!("unexpected {} in {context}", self.source.print(end)));
        }
        self.add(name, root)?;
        self.state = outer;
        Ok(())
    }

    fn template_name(&mut self, token: &Token, context: &str) -> Result<Str> {
        if !matches!(token.class, Class::String | Class::RawString) {
            return self.unexpected(token, context);
        }
        self.unquoted(token)
    }

    fn unquoted(&mut self, token: &Token) -> Result<Str> {
        match unquote(self.value(token)) {
            Ok(text) => Ok(Str::from(text)),
            Err(error) => self.fail(error.to_string()),
        }
    }

    /// Text and actions up to `end` or `else`, which is returned too.
    fn item_list(&mut self) -> Result<(NodeId, NodeId)> {
        self.check_stack()?;
        let pos = self.peek_non_space().start;
        let open = self.open.len();
        while self.peek_non_space().class != Class::Eof {
            let node = self.text_or_action()?;
            if matches!(self.form(node), Form::End | Form::Else) {
                let nodes = self.members(open);
                return Ok((self.node(pos, Form::List(nodes)), node));
            }
            self.open.push(node);
        }
        self.fail("unexpected EOF")
    }

    fn text_or_action(&mut self) -> Result<NodeId> {
        let token = self.next_non_space();
        match token.class {
            Class::Text => Ok(self.node(token.start, Form::Text(Self::span(&token)))),
            Class::LeftDelim => {
                self.state.action_line = token.line;
                let node = self.action()?;
                self.state.action_line = 0;
                Ok(node)
            }
            _ => self.unexpected(&token, "input"),
        }
    }

    fn action(&mut self) -> Result<NodeId> {
        let token = self.next_non_space();
        match token.class {
            Class::Block => return self.block(),
            Class::Break => return self.loop_control(&token, "{{break}}", Form::Break),
            Class::Continue => return self.loop_control(&token, "{{continue}}", Form::Continue),
            Class::Else => return self.else_control(),
            Class::End => {
                let pos = self.expect(Class::RightDelim, "end")?.start;
                return Ok(self.node(pos, Form::End));
            }
            Class::If => return self.if_control(),
            Class::Range => return self.control("range", Form::Range),
            Class::Template => return self.template(),
            Class::With => return self.with_control(),
            _ => {}
        }
        self.state.backup();
        let pos = self.peek().start;
        let pipe = self.pipeline("command", Class::RightDelim)?;
        Ok(self.node(pos, Form::Action { pipe }))
    }

    fn loop_control(&mut self, keyword: &Token, name: &str, form: Form) -> Result<NodeId> {
        let token = self.next_non_space();
        if token.class != Class::RightDelim {
            return self.unexpected(&token, name);
        }
        if self.state.range_depth == 0 {
            return self.fail(format!("{name} outside {{{{range}}}}"));
        }
        Ok(self.node(keyword.start, form))
    }

    fn if_control(&mut self) -> Result<NodeId> {
        self.control("if", Form::If)
    }

    fn with_control(&mut self) -> Result<NodeId> {
        self.control("with", Form::With)
    }

    fn control(&mut self, context: &str, form: fn(Branch) -> Form) -> Result<NodeId> {
        let (seen, slot) = (self.state.seen.len(), self.state.next_slot);
        let pipe = self.pipeline(context, Class::RightDelim)?;
        let (seen_in_pipe, slot_in_pipe) = (self.state.seen.len(), self.state.next_slot);
        let is_range = context == "range";
        self.state.range_depth += usize::from(is_range);
        let (list, next) = self.item_list()?;
        self.state.range_depth -= usize::from(is_range);
        let mut else_list = None;
        if matches!(self.form(next), Form::Else) {
            // The variables of the first branch are gone when the second one runs.
            self.state.seen[seen_in_pipe..].iter_mut().for_each(|seen| seen.is_alive = false);
            self.state.next_slot = slot_in_pipe;
            else_list = Some(self.else_branch(context, next)?);
        }
        self.state.seen.truncate(seen);
        self.state.next_slot = slot;
        let pos = self.pos(pipe);
        Ok(self.node(pos, form(Branch { pipe, list, else_list })))
    }

    /// What follows `else`. `else if` and `else with` are nested without an `end` of their own.
    fn else_branch(&mut self, context: &str, keyword: NodeId) -> Result<NodeId> {
        self.check_stack()?;
        let nested = match (context, self.peek().class) {
            ("if", Class::If) => Parser::if_control,
            ("with", Class::With) => Parser::with_control,
            _ => {
                let (list, next) = self.item_list()?;
                if !matches!(self.form(next), Form::End) {
                    return self.fail(format!("expected end; found {}", self.source.print(next)));
                }
                return Ok(list);
            }
        };
        self.next();
        let control = nested(self)?;
        let pos = self.pos(keyword);
        let open = self.open.len();
        self.open.push(control);
        let nodes = self.members(open);
        Ok(self.node(pos, Form::List(nodes)))
    }

    fn else_control(&mut self) -> Result<NodeId> {
        let peeked = self.peek_non_space();
        if matches!(peeked.class, Class::If | Class::With) {
            return Ok(self.node(peeked.start, Form::Else));
        }
        let pos = self.expect(Class::RightDelim, "else")?.start;
        Ok(self.node(pos, Form::Else))
    }

    fn block(&mut self) -> Result<NodeId> {
        let context = "block clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, context)?;
        let pipe = self.pipeline(context, Class::RightDelim)?;
        let outer = std::mem::replace(&mut self.state, State::new());
        let (root, end) = self.item_list()?;
        if !matches!(self.form(end), Form::End) {
            self.state = outer;
            return self.fail(format!("unexpected {} in {context}", self.source.print(end)));
        }
        self.add(name.clone(), root)?;
        self.state = outer;
        Ok(self.node(token.start, Form::Template { name, pipe: Some(pipe) }))
    }

    fn template(&mut self) -> Result<NodeId> {
        let context = "template clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, context)?;
        let mut pipe = None;
        if self.next_non_space().class != Class::RightDelim {
            self.state.backup();
            pipe = Some(self.pipeline(context, Class::RightDelim)?);
        }
        Ok(self.node(token.start, Form::Template { name, pipe }))
    }
}
