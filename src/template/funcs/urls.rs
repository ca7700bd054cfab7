//! Taking URLs apart and putting them together. Source: sprig `url.go`.

use crate::go::url::{Url, Userinfo};
use crate::template::call::{Context, Func, FuncError, FuncResult, map, text};
use crate::template::text::Str;
use crate::template::types::Type;
use crate::template::value::{Map, Val};

pub(super) static TABLE: &[Func] = &[
    Func::fixed("urlParse", &[Type::STRING], url_parse),
    Func::fixed("urlJoin", &[Type::ANY_MAP], url_join),
];

fn url_parse(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let url = Url::parse(text(args, 0)?)
        .map_err(|error| FuncError::new(format!("unable to parse url: {error}")))?;
    let userinfo = url.user.as_ref().map(Userinfo::to_bytes).unwrap_or_default();
    let hostname = url.hostname().to_owned();
    let parts = [
        ("scheme", url.scheme),
        ("host", url.host),
        ("hostname", hostname),
        ("path", url.path),
        ("query", url.raw_query),
        ("opaque", url.opaque),
        ("fragment", url.fragment),
        ("userinfo", userinfo),
    ];
    let map: Map = parts.into_iter().map(|(key, part)| (Str::from(key), Val::str(part))).collect();
    Ok(Val::Map(map))
}

fn url_join(_: &mut Context<'_>, args: &[Val]) -> FuncResult {
    let parts = map(args, 0)?;
    let part = |key: &str| match parts.get(key.as_bytes()) {
        None => Ok(Vec::new()),
        Some(Val::Str(text)) => Ok(text.to_vec()),
        Some(Val::Nil) => {
            Err(FuncError::new("runtime error: invalid memory address or nil pointer dereference"))
        }
        Some(other) => {
            let kind = other.kind().name();
            let message = format!("unable to parse {key} key, must be of type string, but {kind} found");
            Err(FuncError::new(message))
        }
    };
    let mut url = Url {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        raw_query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        user: None,
    };
    let userinfo = part("userinfo")?;
    if !userinfo.is_empty() {
        url.user = Url::parse_userinfo(&userinfo)
            .map_err(|error| FuncError::new(format!("unable to parse userinfo in dict: {error}")))?;
    }
    Ok(Val::str(url.to_bytes()))
}
