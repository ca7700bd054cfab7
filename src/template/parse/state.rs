//! What the parser keeps for each template: look-ahead, and the variables in scope.

use super::lex::{Class, Lexer, Token};

/// A variable that the parser has seen.
pub(super) struct Seen<'t> {
    /// The name with its `$`.
    pub(super) name: &'t [u8],
    /// Its place; nothing when an undeclared name is assigned to.
    pub(super) slot: Option<u32>,
    /// Not so for variables of the branch before `else`: Go's parser still accepts their names, but they are
    /// gone when the template runs.
    pub(super) is_alive: bool,
}

/// What Go keeps in each `Tree`: `define` and `block` begin a fresh one.
pub(super) struct State<'t> {
    tokens: [Token; 3],
    peeked: usize,
    pub(super) seen: Vec<Seen<'t>>,
    pub(super) next_slot: u32,
    pub(super) slots: u32,
    pub(super) action_line: usize,
    pub(super) range_depth: usize,
    pub(super) parentheses: usize,
}

impl<'t> State<'t> {
    pub(super) fn new() -> State<'t> {
        State {
            tokens: [Token::none(), Token::none(), Token::none()],
            peeked: 0,
            seen: vec![Seen { name: b"$", slot: Some(0), is_alive: true }],
            next_slot: 1,
            slots: 1,
            action_line: 0,
            range_depth: 0,
            parentheses: 0,
        }
    }

    pub(super) fn next(&mut self, lexer: &mut Lexer<'_>) -> Token {
        if self.peeked > 0 {
            self.peeked -= 1;
        } else {
            self.tokens[0] = lexer.next_token();
        }
        self.tokens[self.peeked]
    }

    pub(super) fn next_non_space(&mut self, lexer: &mut Lexer<'_>) -> Token {
        loop {
            let token = self.next(lexer);
            if token.class != Class::Space {
                return token;
            }
        }
    }

    pub(super) fn peek(&mut self, lexer: &mut Lexer<'_>) -> &Token {
        if self.peeked == 0 {
            self.peeked = 1;
            self.tokens[0] = lexer.next_token();
        }
        &self.tokens[self.peeked - 1]
    }

    /// Puts the last token back.
    pub(super) fn backup(&mut self) {
        self.peeked += 1;
    }

    /// Puts `first` back before the last token.
    pub(super) fn backup2(&mut self, first: Token) {
        self.tokens[1] = first;
        self.peeked = 2;
    }

    /// Puts `first` and `second` back before the last token.
    pub(super) fn backup3(&mut self, first: Token, second: Token) {
        self.tokens[1] = second;
        self.tokens[2] = first;
        self.peeked = 3;
    }

    /// The line of the token read last, which errors are reported at.
    pub(super) fn line(&self) -> usize {
        self.tokens[0].line
    }

    /// Makes room for one more variable.
    pub(super) fn new_slot(&mut self) -> u32 {
        let slot = self.next_slot;
        self.next_slot += 1;
        self.slots = self.slots.max(self.next_slot);
        slot
    }

    /// The place of the variable that `name` means now.
    pub(super) fn slot_of(&self, name: &[u8]) -> Option<u32> {
        self.seen.iter().rev().find(|seen| seen.is_alive && seen.name == name)?.slot
    }
}
