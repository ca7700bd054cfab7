//! One rendered text into its documents.

/// Which Helm's rule is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SplitRule {
    /// Helm 4.2.4 and later: documents keep the blanks at their end.
    #[default]
    Keep,
    /// Helm 3 and Helm 4 up to 4.2.3: documents are trimmed at both ends.
    Trim,
}

/// Returns the documents of a text in their order.
///
/// Dashes separate documents at the start of a line only, but need not stand alone there: `---a: b` starts a
/// document `a: b`. A document that is all blank is left out.
///
/// Source: Helm `SplitManifests`, in `pkg/release/v1/util` of version 4 and `pkg/releaseutil` of version 3.
pub fn split(text: &str, rule: SplitRule) -> Vec<&str> {
    match rule {
        SplitRule::Keep => split_keeping(text),
        SplitRule::Trim => split_trimming(text),
    }
}

/// Splits at `(?m)^---[ \t]*`.
fn split_keeping(text: &str) -> Vec<&str> {
    let text = text.trim_start();
    let mut documents = Vec::new();
    let mut start = 0;
    let mut line_start = Some(0);
    while let Some(at) = line_start {
        if let Some(rest) = text[at..].strip_prefix("---") {
            documents.push(&text[start..at]);
            start = text.len() - rest.trim_start_matches([' ', '\t']).len();
        }
        line_start = text[at.max(start)..].find('\n').map(|newline| at.max(start) + newline + 1);
    }
    documents.push(&text[start..]);
    documents.retain(|document| !document.trim().is_empty());
    documents.into_iter().map(str::trim_start).collect()
}

/// Splits at `(?:^|\s*\n)---\s*`, where `\s` is one of `\t\n\f\r` and the space.
fn split_trimming(text: &str) -> Vec<&str> {
    const BLANKS: [char; 5] = ['\t', '\n', '\u{c}', '\r', ' '];
    let text = text.trim();
    let mut documents = Vec::new();
    let mut start = 0;
    let mut from = 0;
    if let Some(rest) = text.strip_prefix("---") {
        start = text.len() - rest.trim_start_matches(BLANKS).len();
        from = start;
    }
    while let Some(found) = text[from..].find("\n---") {
        let at = from + found;
        let before = text[start..at].trim_end_matches(BLANKS);
        documents.push(before);
        start = text.len() - text[at + 4..].trim_start_matches(BLANKS).len();
        from = start;
    }
    documents.push(&text[start..]);
    documents.retain(|document| !document.is_empty());
    documents.into_iter().map(str::trim).collect()
}
