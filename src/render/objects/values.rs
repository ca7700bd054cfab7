//! `.Values`: a map with methods, Go type `common.Values`. `.Template` is of the same type.

use crate::template::call::{Context, FuncError, FuncResult, text};
use crate::template::convert::to_value;
use crate::template::types::{Kind, Type};
use crate::template::value::{Map, Method, Object, Val, receiver};
use crate::{chart::tables, yaml};

/// A table of values.
#[derive(Debug)]
pub(crate) struct Values(pub(crate) Map);

impl Values {
    /// Returns the table as a template value.
    pub(crate) fn val(table: Map) -> Val {
        Val::object(Values(table))
    }
}

impl Object for Values {
    fn type_name(&self) -> &'static str {
        "common.Values"
    }

    fn kind(&self) -> Kind {
        Kind::Map
    }

    fn underlying(&self) -> Option<Val> {
        Some(Val::Map(self.0.clone()))
    }

    fn around(&self, inner: Map) -> Option<Val> {
        Some(Values::val(inner))
    }

    fn method(&self, name: &str) -> Option<&'static Method> {
        METHODS.iter().find(|method| method.name == name)
    }
}

static METHODS: [Method; 5] = [
    Method { name: "AsMap", params: &[], variadic: false, call: as_map },
    Method { name: "YAML", params: &[], variadic: false, call: as_yaml },
    Method { name: "Table", params: &[Type::STRING], variadic: false, call: table },
    Method { name: "PathValue", params: &[Type::STRING], variadic: false, call: path_value },
    // Needs a writer, which no template has; it only hides a key of that name.
    Method {
        name: "Encode",
        params: &[Type::Named("io.Writer", Kind::Interface)],
        variadic: false,
        call: encode,
    },
];

fn as_map(_: &mut Context<'_>, this: &(dyn Object + 'static), _: &[Val]) -> FuncResult {
    let table = &receiver::<Values>(this)?.0;
    Ok(Val::Map(if table.is_empty() { Map::new() } else { table.clone() }))
}

fn as_yaml(context: &mut Context<'_>, this: &(dyn Object + 'static), _: &[Val]) -> FuncResult {
    let table = receiver::<Values>(this)?.0.clone();
    let text =
        yaml::to_yaml(&to_value(&Val::Map(table))?).map_err(|error| FuncError::new(error.to_string()))?;
    context.charge(text.len())?;
    Ok(Val::from(text))
}

fn table(_: &mut Context<'_>, this: &(dyn Object + 'static), args: &[Val]) -> FuncResult {
    let mut table = receiver::<Values>(this)?.0.clone();
    let path = text(args, 0)?.to_text().into_owned();
    for key in path.split('.') {
        let inner = tables::get(&table, key).and_then(|value| value.to_map());
        table = inner.ok_or_else(|| FuncError::new(format!("{key:?} is not a table")))?;
    }
    Ok(Values::val(table))
}

fn path_value(_: &mut Context<'_>, this: &(dyn Object + 'static), args: &[Val]) -> FuncResult {
    let table = receiver::<Values>(this)?.0.clone();
    let path = text(args, 0)?.to_text().into_owned();
    if path.is_empty() {
        return Err(FuncError::new("YAML path cannot be empty"));
    }
    let last = path.rsplit('.').next().unwrap_or_default();
    tables::value_at(&table, &path).ok_or_else(|| FuncError::new(format!("{last:?} is not a value")))
}

fn encode(_: &mut Context<'_>, _: &(dyn Object + 'static), _: &[Val]) -> FuncResult {
    Err(FuncError::new("invalid memory address or nil pointer dereference"))
}
