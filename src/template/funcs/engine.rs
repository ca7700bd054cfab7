//! The functions through which templates reach the engine itself: `include`, `tpl`, `required`, `fail`,
//! `lookup`, `getHostByName`. Source: Helm `pkg/engine/engine.go`, `lookup_func.go`.

use std::rc::Rc;

use memchr::memmem;

use crate::go::strconv::quote;
use crate::template::call::{Context, Func, FuncError, FuncResult, any, text};
use crate::template::convert::from_value;
use crate::template::parse::{Parsed, parse};
use crate::template::report::{WARNING_END, WARNING_START};
use crate::template::set::TemplateSet;
use crate::template::text::Str;
use crate::template::types::Type;
use crate::template::value::Val;

pub(super) static TABLE: &[Func] = &[
    Func::fixed("include", &[Type::STRING, Type::Any], include),
    Func::fixed("tpl", &[Type::STRING, Type::Any], tpl),
    Func::fixed("required", &[Type::STRING, Type::Any], required),
    Func::fixed("fail", &[Type::STRING], |_, args| Err(warning(text(args, 0)?))),
    Func::fixed("lookup", &[Type::STRING, Type::STRING, Type::STRING, Type::STRING], lookup),
    Func::fixed("getHostByName", &[Type::STRING], |context, args| {
        Ok(Val::from(context.host.resolve(&text(args, 0)?.to_text())))
    }),
];

/// How often one template may be included within itself.
const MAX_NESTED_INCLUDES: u32 = 1000;

/// How many texts of `tpl` are kept in their parsed form.
const MAX_KEPT_TEXTS: usize = 2000;

/// The name that Helm gives to the text of `tpl`.
const TPL_NAME: &str = "gotpl";

fn warning(message: &Str) -> FuncError {
    FuncError::Message(format!("{WARNING_START}{message}{WARNING_END}"))
}

fn include(context: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let (name, data) = (text(args, 0)?, any(args, 1));
    let Some(template) = context.templates.get(name).map(Rc::clone) else {
        return Err(FuncError::Message(format!(
            "template: no template {} associated with template {}",
            quote(name),
            quote(TPL_NAME.as_bytes())
        )));
    };
    let depth = template.includes.get();
    if depth > MAX_NESTED_INCLUDES {
        return Err(FuncError::Message(format!(
            "rendering template has a nested reference name: {name}: unable to execute template"
        )));
    }
    template.includes.set(depth + 1);
    let text = context.execute_template(&template, data.clone());
    template.includes.set(depth);
    text.map(Val::Str)
}

fn tpl(context: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let (source, data) = (text(args, 0)?, any(args, 1));
    if memmem::find(source, b"{{").is_none() {
        // Nothing to execute, and nothing that could be wrong.
        return Ok(Val::Str(without_no_value(source).map_or_else(|| source.clone(), Str::from)));
    }
    let parsed = parse_once(context, source)?;
    let mut templates = TemplateSet::over(Rc::clone(&context.templates));
    templates.add(&parsed);
    let outer = std::mem::replace(&mut context.templates, Rc::new(templates));
    let result = context.execute_template(&parsed.main, data.clone());
    context.templates = outer;
    let text = result.map_err(|error| {
        FuncError::Message(format!("error during tpl function execution for {}: {error}", quote(source)))
    })?;
    Ok(Val::Str(without_no_value(&text).map_or(text, Str::from)))
}

/// Parses the text of a `tpl` call; charts give the same few texts again and again.
fn parse_once(context: &mut Context<'_>, source: &Str) -> Result<Parsed, FuncError> {
    if let Some(parsed) = context.parsed.get(source) {
        return Ok(parsed.clone());
    }
    context.charge(source.len())?;
    let parsed = parse(&Str::from(TPL_NAME), source, &context.functions, context.stack)
        .map_err(|error| FuncError::Message(format!("cannot parse template {}: {error}", quote(source))))?;
    if context.parsed.len() >= MAX_KEPT_TEXTS {
        context.parsed.clear();
    }
    context.parsed.insert(source.clone(), parsed.clone());
    Ok(parsed)
}

const NO_VALUE: &[u8] = b"<no value>";

/// Returns the text without `<no value>`, which Go writes for a missing value and Helm takes out again; nothing if
/// it does not occur.
pub fn without_no_value(text: &[u8]) -> Option<Vec<u8>> {
    let mut finder = memmem::find_iter(text, NO_VALUE).peekable();
    finder.peek()?;
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for found in finder {
        out.extend_from_slice(&text[from..found]);
        from = found + NO_VALUE.len();
    }
    out.extend_from_slice(&text[from..]);
    Some(out)
}

fn required(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    match any(args, 1) {
        Val::Nil => Err(warning(text(args, 0)?)),
        Val::Str(value) if value.is_empty() => Err(warning(text(args, 0)?)),
        value => Ok(value.clone()),
    }
}

fn lookup(context: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let part = |index| text(args, index).map(|text| text.to_text().into_owned());
    let (api_version, kind, namespace, name) = (part(0)?, part(1)?, part(2)?, part(3)?);
    match context.host.lookup(&api_version, &kind, &namespace, &name) {
        Ok(object) => Ok(from_value(&object)),
        Err(message) => Err(FuncError::Message(message)),
    }
}
