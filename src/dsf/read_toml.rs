//! TOML text to a tree.

use super::problems::{Code, Problem};
use super::read::Budget;
use super::tree::{Entry, Kind, Node, Text};
use crate::text::{FileId, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A text that is no TOML at all gives an error for each of its lines.
const MOST_ERRORS: usize = 100;

/// Reads a document. After a syntax error, which is a problem, what could be read is returned.
pub(super) fn read(text: &str, file: FileId, problems: &mut Vec<Problem>) -> Option<Node> {
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors.iter().take(MOST_ERRORS) {
        let span = Span::new(file, error.span().unwrap_or(0..0));
        problems.push(if error.message() == "duplicate key" {
            let key = text.get(span.range()).unwrap_or("");
            Problem::new(Code::DuplicateKey, "", format!("the key `{key}` is given twice"), span)
        } else {
            let message = format!("not valid TOML: {}", error.message().replace('\n', " "));
            Problem::new(Code::Syntax, "", message, span)
        });
    }
    let mut reader = Reader { file, budget: Budget::new(), syntax_errors: !errors.is_empty(), problems };
    reader.table(document.get_ref(), Span::new(file, 0..0), 0).ok()
}

struct Reader<'a> {
    file: FileId,
    budget: Budget,
    /// Whether the parser has reported something already: it puts placeholders where it could not read.
    syntax_errors: bool,
    problems: &'a mut Vec<Problem>,
}

/// The tree is too large; said in `problems`.
struct TooLarge;

impl Reader<'_> {
    fn table(&mut self, table: &DeTable<'_>, span: Span, depth: usize) -> Result<Node, TooLarge> {
        let mut entries = Vec::with_capacity(table.len());
        for (key, value) in table {
            let key_span = Span::new(self.file, key.span());
            let value = self.value(value, depth + 1)?;
            entries.push(Entry { key: Text::plain(key.get_ref().as_ref()), key_span, value });
        }
        // The parser sorts by name; people and plans go by the order of the file.
        entries.sort_by_key(|entry| entry.key_span);
        Ok(Node { kind: Kind::Map(entries), span })
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, TooLarge> {
        let span = Span::new(self.file, value.span());
        if let Err(message) = self.budget.take(depth) {
            self.problems.push(Problem::new(Code::TooLarge, "", message, span));
            return Err(TooLarge);
        }
        let kind = match value.get_ref() {
            DeValue::String(text) => Kind::Str(Text::plain(text.as_ref())),
            DeValue::Integer(number) => self.integer(number.as_str(), number.radix(), span),
            DeValue::Float(number) => Kind::Float(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(flag) => Kind::Bool(*flag),
            DeValue::Datetime(_) => Kind::Date,
            DeValue::Array(items) => {
                let items = items.iter().map(|item| self.value(item, depth + 1)).collect::<Result<_, _>>()?;
                Kind::List(items)
            }
            DeValue::Table(table) => return self.table(table, span, depth),
        };
        Ok(Node { kind, span })
    }

    fn integer(&mut self, digits: &str, radix: u32, span: Span) -> Kind {
        let number = i64::from_str_radix(digits, radix).map(Kind::Int).ok();
        let number = number.or_else(|| u64::from_str_radix(digits, radix).map(Kind::Uint).ok());
        number.unwrap_or_else(|| {
            if !self.syntax_errors {
                self.problems.push(Problem::new(Code::BadValue, "", "the number is too large", span));
            }
            Kind::Int(0)
        })
    }
}
