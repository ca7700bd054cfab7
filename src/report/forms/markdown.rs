//! Markdown for comments on merge requests and for the summaries of jobs, within a number of bytes.
//!
//! Everything that comes from files, charts and clusters stands in code, so that nothing in it is a link, a mention or
//! markup. What is too long loses the bodies of differences first, then what is said of single releases, then rows, the
//! least important first each time; and says so.

use serde_json::Value as Json;

use super::view::{Grade, Release, View};
use super::{Part, parts};

/// What the note on what was left out may take.
const NOTE: usize = 300;

/// Returns a report as Markdown of at most `most` bytes (but never less than its head). Its first line is a comment that is
/// the same for each report of the same kind, context and cluster: whoever posts it finds the one to update.
pub fn markdown(document: &Json, most: usize) -> String {
    let parts = parts(document);
    let share = most / parts.len().max(1);
    parts.iter().map(|part| one(part, share)).collect::<Vec<_>>().join("\n")
}

fn one(part: &Part<'_>, most: usize) -> String {
    let Some(report) = part.report else {
        let context = code(part.context.unwrap_or_default());
        let why = code(part.failure.unwrap_or("there is no report"));
        return format!(
            "{}\n### {context}\n\n{why}\n",
            marker("failure", "", part.context.unwrap_or_default())
        );
    };
    let view = View::of(report);
    let mut out = head(&view);
    let (told, quiet): (Vec<_>, Vec<_>) = view.releases.iter().partition(|one| one.grade != Grade::Quiet);
    let quiet = quiet_line(&view, &quiet);
    let mut room = most.saturating_sub(out.len() + quiet.len().min(NOTE) + NOTE);
    let rows = table(&view, &told, &mut room, &mut out);
    let quiet = if quiet.len() > NOTE && quiet.len() - NOTE > room { shortened(&quiet) } else { quiet };
    room = room.saturating_sub(quiet.len().saturating_sub(NOTE));
    let mut bodies = 0;
    let mut blocks = 0;
    // Each block as it fits: whole, without its differences, or not at all. The worst come first.
    for release in told.iter().filter(|_| view.kind != "validate") {
        if release.objects.is_empty() && release.reasons.len() < 2 {
            continue;
        }
        let (whole, short) = (details(release, true), details(release, false));
        let block = if whole.len() <= room {
            whole
        } else {
            bodies += usize::from(release.objects.iter().any(|object| !object.diff.is_empty()));
            short
        };
        if block.len() > room {
            blocks += 1;
            continue;
        }
        room -= block.len();
        out.push_str(&block);
    }
    out.push_str(&quiet);
    for (count, what) in [(told.len() - rows, "rows"), (bodies, "differences"), (blocks, "details")] {
        if count > 0 {
            out.extend([format!("\n**Left out to stay within {most} bytes: {what} of {count}.**\n")]);
        }
    }
    if told.len() > rows || bodies + blocks > 0 {
        out.push_str("See all of it with `-o html=FILE`, or `-o markdown=FILE --max-bytes N`.\n");
    }
    out
}

fn head(view: &View<'_>) -> String {
    let mut out = format!("{}\n### {}", marker(view.kind, view.context, &view.cluster), view.title());
    if !view.context.is_empty() {
        out.extend([format!(": {}", code(view.context))]);
    }
    out.push('\n');
    if !view.cluster.is_empty() {
        out.extend([format!("\nCluster {}\n", code(&view.cluster))]);
    }
    if view.destroys() {
        let tense = if view.kind == "run" { "was" } else { "is" };
        out.extend([format!("\n**Something {tense} removed: look at the rows marked `-`.**\n")]);
    }
    let counts: Vec<String> =
        view.counts().iter().map(|(_, word, count)| format!("{count} {word}")).collect();
    let counts = match (counts.is_empty(), view.kind) {
        (true, "validate") => "no problems".to_owned(),
        (true, _) => "no releases".to_owned(),
        (false, _) => counts.join(", "),
    };
    out.extend([format!("\n{counts}\n")]);
    for note in view.notes.iter().take(20) {
        out.extend([format!("\n- {}", code(note))]);
    }
    if !view.notes.is_empty() {
        out.push('\n');
    }
    out
}

/// The comment by which the report is found again.
fn marker(kind: &str, context: &str, cluster: &str) -> String {
    // Two hyphens would end the comment, and white space would make the marker hard to look for.
    let safe = |text: &str| {
        let keep = |c: char| if c.is_ascii_alphanumeric() || "./_:@".contains(c) { c } else { '-' };
        let mut safe: String = text.chars().map(keep).collect();
        while safe.contains("--") {
            safe = safe.replace("--", "-");
        }
        safe.trim_matches('-').to_owned()
    };
    format!("<!-- statectl:{}:{}:{} -->", safe(kind), safe(context), safe(cluster))
}

/// Writes the table; returns how many rows have room.
fn table(view: &View<'_>, told: &[&Release<'_>], room: &mut usize, out: &mut String) -> usize {
    if told.is_empty() {
        return 0;
    }
    let head = match view.kind {
        "validate" => "\n|   | What | Where | Why |\n|---|---|---|---|\n",
        _ => "\n|   | What | Release | Why |\n|---|---|---|---|\n",
    };
    *room = room.saturating_sub(head.len());
    out.push_str(head);
    let mut rows = 0;
    for release in told {
        let planned = if view.kind == "run" { format!(" ({})", release.action) } else { String::new() };
        let why = match (release.reasons.first(), release.chart.as_str()) {
            (Some(_), _) if view.kind == "validate" => cell(&release.reasons.join("; ")),
            (Some(why), _) => cell(why),
            (None, "") => String::new(),
            (None, chart) => cell(chart),
        };
        let key = cell(&release.key);
        let row = format!("| `{}` | {}{planned} | {key} | {why} |\n", release.grade.sign(), release.word);
        if row.len() > *room {
            break;
        }
        *room -= row.len();
        out.push_str(&row);
        rows += 1;
    }
    rows
}

fn quiet_line(view: &View<'_>, quiet: &[&Release<'_>]) -> String {
    if quiet.is_empty() || view.kind == "validate" {
        return String::new();
    }
    let names: Vec<String> = quiet.iter().map(|release| code(&release.key)).collect();
    format!("\nUnchanged ({}): {}\n", quiet.len(), names.join(", "))
}

fn shortened(quiet: &str) -> String {
    let head = quiet.split(": ").next().unwrap_or_default();
    format!("{head}\n")
}

fn details(release: &Release<'_>, with_diffs: bool) -> String {
    let open = if release.grade <= Grade::Destroys { " open" } else { "" };
    let key = html(&release.key);
    let chart = if release.chart.is_empty() { String::new() } else { format!(", {}", html(&release.chart)) };
    let mut out = format!(
        "\n<details{open}><summary><code>{} {key}</code> {}{chart}</summary>\n\n",
        release.grade.sign(),
        release.word
    );
    for reason in &release.reasons {
        out.extend([format!("- {}\n", code(reason))]);
    }
    for object in &release.objects {
        let (sign, name) = (object.grade.sign(), code(&object.name));
        out.extend([format!("- `{sign}` {} {name}\n", object.word)]);
        for reason in &object.reasons {
            out.extend([format!("  - {}\n", code(reason))]);
        }
        if with_diffs && !object.diff.is_empty() {
            let fence = "`".repeat(longest_run(object.diff).max(2) + 1);
            let body: Vec<String> = object.diff.lines().map(|line| format!("  {line}\n")).collect();
            out.extend([format!("\n  {fence}diff\n{}  {fence}\n\n", body.concat())]);
        }
    }
    out.push_str("\n</details>\n");
    out
}

/// How many backticks follow each other at most.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// A text as code in a line.
fn code(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        return text;
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A text as code in a cell of a table, where a bar would end the cell.
fn cell(text: &str) -> String {
    const MOST: usize = 300;
    let short: String = text.chars().take(MOST).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    code(&format!("{short}{more}")).replace('|', "\\|")
}

fn html(text: &str) -> String {
    super::html::escaped(text).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plan(releases: usize, lines: usize) -> Json {
        let release = |at: usize| {
            json!({
                "namespace": "shop", "name": format!("r{at}"), "action": if at == 3 { "uninstall" } else { "upgrade" },
                "reasons": [{"code": "values-changed", "message": "the values | changed @team <b>"}],
                "objects": [{"kind": "ConfigMap", "name": "a", "namespace": "shop", "action": "update", "reasons": [],
                    "diff": "+ ```` a\n- </details>\n".repeat(lines)}],
            })
        };
        json!({"format": "statectl.plan/v1", "context": "own--er", "cluster": {"server": "https://a", "context": "c d"},
            "releases": (0..releases).map(release).collect::<Vec<_>>()})
    }

    #[test]
    fn what_is_too_long_is_cut_at_whole_blocks_and_rows_come_before_differences() {
        let all = markdown(&plan(8, 40), usize::MAX);
        for most in [1024, 2000, 3000, 5000, 9000, 20_000] {
            let cut = markdown(&plan(8, 40), most);
            assert!(cut.len() <= most.max(1024), "{most}: {}", cut.len());
            assert_eq!(cut.matches("<details").count(), cut.matches("\n</details>\n").count(), "{cut}");
            let fences = cut.lines().filter(|line| line.trim_start().starts_with("`````")).count();
            assert_eq!(fences % 2, 0, "{cut}");
            assert_eq!(cut.contains("**Left out to stay within"), cut.len() < all.len(), "{most}");
        }
        // Rows stay where differences go, and what destroys comes first.
        let cut = markdown(&plan(8, 40), 3000);
        assert_eq!(cut.lines().filter(|line| line.starts_with("| `")).count(), 8, "{cut}");
        assert!(cut.find("| `-` | uninstall").unwrap() < cut.find("| `~` | upgrade").unwrap());
    }

    #[test]
    fn nothing_of_a_cluster_is_markup() {
        let text = markdown(&plan(1, 1), 65_000);
        assert!(text.contains("`the values \\| changed @team <b> [values-changed]`"), "{text}");
        assert!(text.starts_with("<!-- statectl:plan:own-er:c-d-https://a -->\n"), "{text}");
    }
}
