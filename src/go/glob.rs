//! Patterns of gobwas/glob with `/` as separator, as `.Files.Glob` takes them.

use regex_automata::{Input, meta};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, Look, Repetition};

/// Braces within braces.
const MAX_DEPTH: usize = 50;

/// The pattern is malformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// The text ends within `[`.
    #[error("unexpected end of input")]
    End,
    /// Something else than `]` after a range.
    #[error("expected close range character")]
    RangeNotClosed,
    /// An empty class.
    #[error("could not parse range")]
    EmptyClass,
    /// A range that runs backwards.
    #[error("hi character '{high}' should be greater than lo '{low}'")]
    Backwards {
        /// The lower end as written.
        low: char,
        /// The upper end as written.
        high: char,
    },
    /// Braces nest too deeply or the pattern is too large.
    #[error("pattern is too complex")]
    TooComplex,
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Glob(Matcher);

#[derive(Debug)]
enum Matcher {
    Pattern(Box<meta::Regex>),
    /// `PREFIX**SUFFIX`. The two may overlap in the text, by a slip there that charts have come to rely on:
    /// `files/**/x.conf` takes `files/x.conf`.
    Ends(String, String),
}

impl Glob {
    /// Compiles a pattern: `*` and `?` stop at slashes, `**` does not; `[ab]`, `[!ab]`, `[a-z]`, `{a,b*}`, `\`.
    ///
    /// # Errors
    /// The pattern is malformed.
    pub fn compile(pattern: &str) -> Result<Glob, GlobError> {
        // The end of input is a zero character there.
        let text = pattern.split('\0').next().unwrap_or_default();
        if let Some((prefix, suffix)) = text.split_once("**")
            && ![prefix, suffix]
                .iter()
                .any(|part| part.is_empty() || part.contains(['*', '?', '[', '{', '\\']))
        {
            return Ok(Glob(Matcher::Ends(prefix.to_owned(), suffix.to_owned())));
        }
        let mut parser = Parser { rest: text, open: Vec::new(), current: Level::default() };
        parser.run()?;
        let whole = Hir::concat(vec![Hir::look(Look::Start), parser.finish(), Hir::look(Look::End)]);
        let regex = meta::Builder::new().build_from_hir(&whole).map_err(|_| GlobError::TooComplex)?;
        Ok(Glob(Matcher::Pattern(Box::new(regex))))
    }

    /// Tells whether the whole text fits.
    pub fn matches(&self, text: &str) -> bool {
        match &self.0 {
            Matcher::Pattern(regex) => regex.is_match(Input::new(text)),
            Matcher::Ends(prefix, suffix) => text.starts_with(prefix) && text.ends_with(suffix),
        }
    }
}

/// The alternatives of a pair of braces, or the pattern as a whole.
#[derive(Default)]
struct Level {
    done: Vec<Hir>,
    sequence: Vec<Hir>,
}

impl Level {
    fn next(&mut self) {
        self.done.push(Hir::concat(std::mem::take(&mut self.sequence)));
    }

    fn finish(mut self) -> Hir {
        self.next();
        Hir::alternation(self.done)
    }
}

struct Parser<'p> {
    rest: &'p str,
    open: Vec<Level>,
    current: Level,
}

impl Parser<'_> {
    fn take(&mut self) -> Option<char> {
        let rune = self.rest.chars().next()?;
        self.rest = &self.rest[rune.len_utf8()..];
        Some(rune)
    }

    fn run(&mut self) -> Result<(), GlobError> {
        while let Some(rune) = self.take() {
            let in_braces = !self.open.is_empty();
            match rune {
                '{' => {
                    if self.open.len() >= MAX_DEPTH {
                        return Err(GlobError::TooComplex);
                    }
                    self.open.push(std::mem::take(&mut self.current));
                }
                ',' if in_braces => self.current.next(),
                '}' if in_braces => self.close(),
                '[' => {
                    let class = self.class()?;
                    self.current.sequence.push(Hir::class(Class::Unicode(class)));
                }
                '?' => self.current.sequence.push(not_slash()),
                '*' if self.rest.starts_with('*') => {
                    self.rest = &self.rest[1..];
                    self.current.sequence.push(run_of(Hir::class(Class::Unicode(anything()))));
                }
                '*' => self.current.sequence.push(run_of(not_slash())),
                // A backslash at the very end stands for nothing.
                '\\' => {
                    if let Some(escaped) = self.take() {
                        self.current.sequence.push(literal(escaped));
                    }
                }
                _ => self.current.sequence.push(literal(rune)),
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        if let Some(outer) = self.open.pop() {
            let group = std::mem::replace(&mut self.current, outer);
            self.current.sequence.push(group.finish());
        }
    }

    /// Braces that are left open end with the pattern.
    fn finish(mut self) -> Hir {
        while !self.open.is_empty() {
            self.close();
        }
        self.current.finish()
    }

    /// A class: either one range or a list of characters, never both.
    fn class(&mut self) -> Result<ClassUnicode, GlobError> {
        let negated = self.rest.starts_with('!');
        self.rest = self.rest.strip_prefix('!').unwrap_or(self.rest);
        let mut runes = self.rest.chars();
        let mut class = match (runes.next(), runes.next()) {
            (None, _) => return Err(GlobError::End),
            (Some(low), Some('-')) => {
                let high = runes.next().ok_or(GlobError::End)?;
                let after = runes.next().ok_or(GlobError::End)?;
                if after != ']' {
                    return Err(GlobError::RangeNotClosed);
                }
                if high < low {
                    return Err(GlobError::Backwards { low, high });
                }
                self.rest = runes.as_str();
                ClassUnicode::new([ClassUnicodeRange::new(low, high)])
            }
            _ => self.list()?,
        };
        if negated {
            class.negate();
        }
        Ok(class)
    }

    fn list(&mut self) -> Result<ClassUnicode, GlobError> {
        let mut class = ClassUnicode::empty();
        loop {
            let rune = match self.take() {
                None => return Err(GlobError::End),
                Some(']') if class.ranges().is_empty() => return Err(GlobError::EmptyClass),
                Some(']') => return Ok(class),
                Some('\\') => self.take().ok_or(GlobError::End)?,
                Some(rune) => rune,
            };
            class.push(ClassUnicodeRange::new(rune, rune));
        }
    }
}

fn literal(rune: char) -> Hir {
    Hir::literal(rune.encode_utf8(&mut [0; 4]).as_bytes())
}

fn anything() -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)])
}

fn not_slash() -> Hir {
    let mut class = ClassUnicode::new([ClassUnicodeRange::new('/', '/')]);
    class.negate();
    Hir::class(Class::Unicode(class))
}

fn run_of(one: Hir) -> Hir {
    Hir::repetition(Repetition { min: 0, max: None, greedy: true, sub: Box::new(one) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_gobwas_matches_them() {
        // Answers of gobwas/glob 0.2.3 with separator '/'.
        for (pattern, matching, other) in [
            ("foo/*", "foo/a", "foo/a/b"),
            ("**.yaml", "d/x.yaml", "x.yml"),
            ("*.{json,yaml}", "x.yaml", "d/x.yaml"),
            ("files/**/x.conf", "files/a/b/x.conf", "files/xx.conf"),
            ("files/**/x.conf", "files/x.conf", "x.conf"),
            ("files/{a,b*,{c,d}/e}/f", "files/d/e/f", "files/d/f"),
            ("a?c", "abc", "a/c"),
            ("[!a]x", "/x", "ax"),
            ("[a-c]x", "bx", "dx"),
            ("[ab-]x", "-x", "cx"),
            (r"[\]]x", "]x", r"\x"),
            ("a,b}", "a,b}", "a"),
            (r"\*\{", "*{", "a{"),
            ("{a,b", "b", "c"),
            ("conf/*.{conf,d/**}", "conf/a.d/b/c", "conf/a/b.conf"),
        ] {
            let glob = Glob::compile(pattern).unwrap();
            assert!(glob.matches(matching), "{pattern} {matching}");
            assert!(!glob.matches(other), "{pattern} {other}");
        }
        for (pattern, expected) in [
            ("[abc", "unexpected end of input"),
            ("[", "unexpected end of input"),
            ("[a-bc]", "expected close range character"),
            ("[]", "could not parse range"),
            ("[z-a]", "hi character 'a' should be greater than lo 'z'"),
        ] {
            assert_eq!(Glob::compile(pattern).unwrap_err().to_string(), expected, "{pattern}");
        }
        assert!(Glob::compile(&"{".repeat(1000)).is_err());
    }
}
