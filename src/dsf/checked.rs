//! Tables that are read only so far as to tell what is wrong with them.

use super::fields::{Context, Fields, wrong_type};
use super::problems::{Code, Problem};
use super::raw::{At, RawCertificates, RawRepository, RawVerify};
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
        let identity = (fields.text("certFile", cx), fields.text("keyFile", cx));
        if identity.0.is_some() != identity.1.is_some() {
            let message = "`certFile` and `keyFile` belong together";
            cx.report.problem(Problem::new(Code::BadValue, path.clone(), message, entry.key_span));
        }
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
            identity,
            username_from,
            password_from,
        }));
    }
    out
}

/// `verify` of an app.
pub(super) fn verify(app: &Fields<'_>, cx: &mut Context<'_, '_>) -> RawVerify {
    let Some((table, path)) = app.table("verify", cx) else { return RawVerify::default() };
    let fields = Fields::new(table, &path);
    let raw = RawVerify {
        keyring: fields.text("keyring", cx),
        cosign_key: fields.text("cosignKey", cx),
        cosign_identity: fields.text("cosignIdentity", cx),
        cosign_issuer: fields.text("cosignIssuer", cx),
    };
    let span = app.get("verify").map(|(entry, _)| entry.key_span).unwrap_or_default();
    let mut complain =
        |message: &str| cx.report.problem(Problem::new(Code::BadValue, path.clone(), message, span));
    if raw.cosign_identity.is_some() != raw.cosign_issuer.is_some() {
        complain("`cosignIdentity` and `cosignIssuer` belong together");
    } else if raw.cosign_identity.is_some() && raw.cosign_key.is_some() {
        complain("a signature of cosign is by a key or by an identity");
    }
    raw
}

/// `certificates`.
pub(super) fn certificates(file: &Fields<'_>, cx: &mut Context<'_, '_>) -> RawCertificates {
    let Some((table, path)) = file.table("certificates", cx) else { return RawCertificates::default() };
    let fields = Fields::new(table, path);
    RawCertificates {
        ca_crt: fields.text("caCrt", cx),
        ca_key: fields.text("caKey", cx),
        ca_client: fields.text("caClient", cx),
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
