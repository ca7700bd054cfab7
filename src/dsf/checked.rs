//! Tables that are read only so far as to tell what is wrong with them.

use super::fields::{Context, Fields, wrong_type};
use super::problems::{Code, Problem};
use super::raw::{At, RawRepository};
use super::tree::{Kind, Node, join};

/// `vars`: what is wrong with them; their values are taken before anything is decoded.
pub(super) fn vars(file: &Fields<'_>, cx: &mut Context<'_, '_>) {
    let Some((entries, path)) = file.table("vars", cx) else { return };
    for entry in entries {
        if matches!(entry.value.kind, Kind::List(_) | Kind::Map(_) | Kind::Date) {
            let path = join(&path, entry.key.shown());
            let _: Option<()> = wrong_type(&entry.value, &path, "text, a number or a boolean", cx);
        }
    }
}

/// `settings.windows`.
pub(super) fn windows(settings: &Fields<'_>, cx: &mut Context<'_, '_>) {
    let Some((items, path)) = settings.list("windows", cx) else { return };
    for (at, item) in items.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let Some(fields) = table(item, &path, "a table with `cron` and `length`", cx) else { continue };
        required(&fields, &["cron", "length"], item, cx);
        if let Some(cron) = fields.text("cron", cx)
            && cron.value.value.split_whitespace().count() != 5
        {
            let problem = Problem::new(Code::BadValue, join(&path, "cron"), "not five fields", cron.span);
            cx.report.problem(problem.hint("such as \"0 2 * * 1-5\": minute, hour, day, month, weekday"));
        }
        fields.duration("length", cx);
        fields.text("zone", cx);
    }
}

/// `repositories`.
pub(super) fn repositories(file: &Fields<'_>, cx: &mut Context<'_, '_>) -> Vec<RawRepository> {
    let mut out = Vec::new();
    let Some((entries, path)) = file.table("repositories", cx) else { return out };
    for entry in entries {
        let path = join(&path, entry.key.shown());
        let Some(fields) = table(&entry.value, &path, "a table with `url`", cx) else { continue };
        required(&fields, &["url"], &entry.value, cx);
        let name = At { value: entry.key.clone(), span: entry.key_span };
        let url = fields.text("url", cx);
        let ca_file = fields.text("caFile", cx);
        let mut reference = |key: &str| {
            let text = fields.text(key, cx)?;
            let (entry, path) = fields.get(key)?;
            if !text.value.value.starts_with("ref+") {
                // The value is a secret that should not stand there: only its key is shown.
                let message = "not a reference to a secret";
                let problem = Problem::new(Code::BadValue, path, message, entry.key_span);
                cx.report.problem(problem.conceal(true).hint("such as \"ref+env://NAME\""));
                return None;
            }
            Some(text)
        };
        let (username_from, password_from) = (reference("usernameFrom"), reference("passwordFrom"));
        let section = "repositories";
        out.extend(url.map(|url| RawRepository {
            name,
            url,
            section,
            ca_file,
            username_from,
            password_from,
        }));
    }
    out
}

/// `certificates`.
pub(super) fn certificates(file: &Fields<'_>, cx: &mut Context<'_, '_>) {
    let Some((table, path)) = file.table("certificates", cx) else { return };
    let fields = Fields::new(table, path);
    for key in ["caCrt", "caKey", "caClient"] {
        fields.text(key, cx);
    }
}

/// Where messages are posted.
pub(super) fn webhook(settings: &Fields<'_>, key: &str, cx: &mut Context<'_, '_>) {
    let Some((url, (entry, path))) = settings.text(key, cx).zip(settings.get(key)) else { return };
    let text = url.value.value.as_str();
    let is_url =
        ["https://", "http://"].iter().any(|scheme| text.len() > scheme.len() && text.starts_with(scheme));
    if !text.is_empty() && !is_url {
        let problem = Problem::new(Code::BadValue, path, "not a URL", entry.key_span).conceal(true);
        cx.report.problem(problem.hint("it starts with https://"));
    }
}

fn table<'t>(node: &'t Node, path: &str, wanted: &str, cx: &mut Context<'_, '_>) -> Option<Fields<'t>> {
    match &node.kind {
        Kind::Map(table) => Some(Fields::new(table, path)),
        _ => wrong_type(node, path, wanted, cx),
    }
}

fn required(fields: &Fields<'_>, keys: &[&str], node: &Node, cx: &mut Context<'_, '_>) {
    for key in keys.iter().filter(|key| fields.get(key).is_none()) {
        let message = format!("`{key}` is missing");
        cx.report
            .problem(Problem::new(Code::MissingKey, fields.path.as_str(), message, node.span).conceal(true));
    }
}
