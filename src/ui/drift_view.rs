//! Drift as a person reads it: what was changed, by whom and when; then what others added.

use super::Style;
use crate::plan::{Drift, ObjectDrift, ReleaseDrift, Standing};
use crate::text::plural;

/// Returns the report as text.
pub fn render(drift: &Drift, style: Style) -> String {
    let mut lines = vec![style.bold(&format!("Drift for context `{}` on {}", drift.context, drift.cluster))];
    lines.push(String::new());
    for release in &drift.releases {
        lines.extend(release_lines(release, drift.strict, style));
    }
    let count = |standing: &str| {
        drift.releases.iter().filter(|release| release.standing(drift.strict) == standing).count()
    };
    let words = [
        ("drifted", "drifted"),
        ("unknown", "unknown"),
        ("clean", "clean"),
        ("not-installed", "not installed"),
    ];
    let parts: Vec<String> = words
        .iter()
        .map(|(standing, word)| (count(standing), word))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    lines.push(String::new());
    let counts = if parts.is_empty() { "no releases".to_owned() } else { parts.join(", ") };
    lines.push(style.bold(&format!("{counts}.")));
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

fn release_lines(release: &ReleaseDrift, strict: bool, style: Style) -> Vec<String> {
    let standing = release.standing(strict);
    let head = match release.revision {
        Some(revision) => format!(
            "{}  {standing}  {} of revision {revision} compared",
            release.key,
            plural(release.objects.len(), "object")
        ),
        None => format!("{}  {standing}", release.key),
    };
    let mut lines = vec![match standing {
        "drifted" => format!("{} {}", style.change("~"), style.bold(&head)),
        "unknown" => format!("{} {}", style.danger("!"), style.danger(&head)),
        _ => format!("{} {}", style.dim("="), style.dim(&head)),
    }];
    if let (Some(revision), Some(newest)) = (release.revision, release.newest)
        && newest != revision
    {
        lines.push(format!("    note: revision {newest} is newer, and was not finished"));
    }
    if let Some(problem) = &release.problem {
        lines.push(format!("    {problem}"));
    }
    for object in &release.objects {
        lines.extend(object_lines(object, strict, style));
    }
    lines
}

fn object_lines(object: &ObjectDrift, strict: bool, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    match &object.standing {
        Standing::Clean => {}
        Standing::Changed => {
            lines.push(format!("    {} {}  changed", style.change("~"), object.key));
            for field in &object.fields {
                let by = match (&field.manager, &field.since) {
                    (Some(manager), Some(since)) => format!(" by `{manager}` ({since})"),
                    (Some(manager), None) => format!(" by `{manager}`"),
                    _ => String::new(),
                };
                lines.push(format!("        {}{by}", field.path));
            }
            for line in object.diff.text.to_string().lines() {
                let painted = match line.as_bytes().first() {
                    Some(b'+') => style.good(line),
                    Some(b'-') => style.removed(line),
                    _ => style.dim(line),
                };
                lines.push(format!("        {painted}"));
            }
        }
        Standing::Missing => lines.push(format!("    {} {}  missing", style.danger("-"), object.key)),
        Standing::Unknown(why) => {
            lines.push(format!("    {} {}  cannot be compared: {why}", style.danger("!"), object.key));
        }
    }
    if object.additions.is_empty() {
        return lines;
    }
    if object.standing == Standing::Clean {
        let sign = if strict { style.change("~") } else { style.dim("·") };
        lines.push(format!("    {sign} {}  as recorded", object.key));
    }
    for addition in &object.additions {
        let what = if addition.is_value { "value" } else { "field" };
        let line = format!("        added {what} {} by `{}`", addition.path, addition.manager);
        lines.push(if strict { line } else { style.dim(&line) });
    }
    lines
}
