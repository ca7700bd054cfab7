//! `.Files`: the files of a chart that are not templates, Go type `engine.files`.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;

use crate::chart::{File, paths};
use crate::go::glob::Glob;
use crate::template::call::{Context, FuncResult, text};
use crate::template::text::Str;
use crate::template::types::{Kind, Type};
use crate::template::value::{Map, Method, Object, Val, receiver};
use crate::value::Value;
use crate::value::json::text_from_bytes;
use crate::yaml;

/// The files of one chart, or those of them that matched a pattern.
#[derive(Debug)]
pub(crate) struct Files {
    all: Arc<[File]>,
    /// By path; the last file of a path counts.
    index: BTreeMap<String, usize>,
    /// The Go map, made when a template looks at it as one.
    map: OnceCell<Map>,
}

impl Files {
    /// Returns the object for these files.
    pub(crate) fn new(files: &Arc<[File]>) -> Self {
        let index = files.iter().enumerate().map(|(index, file)| (file.name.clone(), index)).collect();
        Self { all: Arc::clone(files), index, map: OnceCell::new() }
    }

    fn get(&self, name: &[u8]) -> Option<&[u8]> {
        let name = std::str::from_utf8(name).ok()?;
        self.index.get(name).map(|&index| &*self.all[index].data)
    }

    fn by_base_name(&self, content: impl Fn(&[u8]) -> String) -> Value {
        let files = self.index.iter();
        Value::Map(
            files
                .map(|(name, &index)| (paths::base(name).to_owned(), content(&self.all[index].data).into()))
                .collect(),
        )
    }
}

impl Object for Files {
    fn type_name(&self) -> &'static str {
        "engine.files"
    }

    fn kind(&self) -> Kind {
        Kind::Map
    }

    fn underlying(&self) -> Option<Val> {
        let map = self.map.get_or_init(|| {
            let entry = |(name, &index): (&String, &usize)| {
                (Str::from(name.as_str()), Val::Bytes(Str::from(&*self.all[index].data)))
            };
            Map::of(Type::List(&Type::UINT8), self.index.iter().map(entry).collect())
        });
        Some(Val::Map(map.clone()))
    }

    fn is_true(&self) -> bool {
        !self.index.is_empty()
    }

    fn method(&self, name: &str) -> Option<&'static Method> {
        METHODS.iter().find(|method| method.name == name)
    }
}

static METHODS: [Method; 6] = [
    Method { name: "Get", params: &[Type::STRING], variadic: false, call: get },
    Method { name: "GetBytes", params: &[Type::STRING], variadic: false, call: get_bytes },
    Method { name: "Glob", params: &[Type::STRING], variadic: false, call: glob },
    Method { name: "Lines", params: &[Type::STRING], variadic: false, call: lines },
    Method { name: "AsConfig", params: &[], variadic: false, call: as_config },
    Method { name: "AsSecrets", params: &[], variadic: false, call: as_secrets },
];

fn get(context: &mut Context<'_>, this: &(dyn Object + 'static), args: &[Val]) -> FuncResult {
    let content = receiver::<Files>(this)?.get(text(args, 0)?).unwrap_or_default();
    context.charge(content.len())?;
    Ok(Val::str(content))
}

fn get_bytes(context: &mut Context<'_>, this: &(dyn Object + 'static), args: &[Val]) -> FuncResult {
    let content = receiver::<Files>(this)?.get(text(args, 0)?).unwrap_or_default();
    context.charge(content.len())?;
    Ok(Val::Bytes(Str::from(content)))
}

fn glob(_: &mut Context<'_>, this: &(dyn Object + 'static), args: &[Val]) -> FuncResult {
    let files = receiver::<Files>(this)?;
    // A malformed pattern takes all files.
    let pattern = Glob::compile(&text(args, 0)?.to_text()).ok();
    let fits = |name: &str| pattern.as_ref().is_none_or(|pattern| pattern.matches(name));
    let matching = files.index.iter().filter(|(name, _)| fits(name));
    let index = matching.map(|(name, &index)| (name.clone(), index)).collect();
    Ok(Val::object(Files { all: Arc::clone(&files.all), index, map: OnceCell::new() }))
}

/// The lines of a file, without the line break that ends the last one.
fn lines(context: &mut Context<'_>, this: &(dyn Object + 'static), args: &[Val]) -> FuncResult {
    let content = receiver::<Files>(this)?.get(text(args, 0)?).unwrap_or_default();
    if content.is_empty() {
        return Ok(Val::strings(Vec::<Str>::new()));
    }
    context.charge(content.len())?;
    let content = content.strip_suffix(b"\n").unwrap_or(content);
    Ok(Val::strings(content.split(|byte| *byte == b'\n')))
}

fn as_config(context: &mut Context<'_>, this: &(dyn Object + 'static), _: &[Val]) -> FuncResult {
    data(context, &receiver::<Files>(this)?.by_base_name(text_from_bytes))
}

fn as_secrets(context: &mut Context<'_>, this: &(dyn Object + 'static), _: &[Val]) -> FuncResult {
    let encode = |content: &[u8]| base64::engine::general_purpose::STANDARD.encode(content);
    data(context, &receiver::<Files>(this)?.by_base_name(encode))
}

/// Writes a map for the `data` of a ConfigMap or Secret, as `toYaml` does: what cannot be written is empty.
fn data(context: &mut Context<'_>, map: &Value) -> FuncResult {
    let text = yaml::to_yaml(map).unwrap_or_default();
    context.charge(text.len())?;
    Ok(Val::str(text.strip_suffix('\n').unwrap_or(&text)))
}
