//! A report as one HTML file that needs nothing else: no network, no other file.
//!
//! Everything is readable without scripts; the script only hides what a filter leaves out. A content security policy
//! allows that one script and that one stylesheet, by their digests, and nothing besides.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::view::{Grade, Object, Release, View};
use super::{list, parts};

const STYLE: &str = include_str!("report.css");
const SCRIPT: &str = include_str!("report.js");

/// Returns the report as an HTML document.
pub fn html(document: &Json) -> String {
    let parts = parts(document);
    let mut body = String::new();
    let mut title = "Report";
    for part in &parts {
        match part.report {
            Some(report) => {
                let view = View::of(report);
                title = view.title();
                body.push_str(&section(&view, report));
            }
            None => {
                let (context, why) = (part.context.unwrap_or_default(), part.failure.unwrap_or_default());
                body.extend([format!(
                    "<section><h1>{}</h1><p class=\"bad\">{}</p></section>\n",
                    escaped(context),
                    escaped(why)
                )]);
            }
        }
    }
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    );
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>statectl: {title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n{CONTROLS}<main>\n{body}</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// The controls; those that need the script stay hidden without it. The two views are a matter of the stylesheet.
const CONTROLS: &str = "<header>\n<form id=\"controls\" hidden>\n\
    <label>Filter <input id=\"filter\" type=\"search\" autocomplete=\"off\" placeholder=\"text, or press /\"></label>\n\
    <label>What <select id=\"what\"><option value=\"\">all</option></select></label>\n\
    <button type=\"button\" id=\"expand\">Expand all</button>\n<button type=\"button\" id=\"collapse\">Collapse all</button>\n\
    <output id=\"shown\" aria-live=\"polite\"></output>\n</form>\n\
    <fieldset><legend>Differences</legend>\n\
    <label><input type=\"radio\" name=\"view\" id=\"unified\" checked> unified</label>\n\
    <label><input type=\"radio\" name=\"view\" id=\"sides\"> side by side</label>\n</fieldset>\n</header>\n";

fn digest(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text))
}

fn section(view: &View<'_>, report: &Json) -> String {
    let mut out = format!("<section>\n<h1>{}", view.title());
    if !view.context.is_empty() {
        out.extend([format!(" of {}", escaped(view.context))]);
    }
    out.push_str("</h1>\n");
    if !view.cluster.is_empty() {
        out.extend([format!("<p>Cluster <code>{}</code></p>\n", escaped(&view.cluster))]);
    }
    if let Some(effect) = view.effect {
        out.extend([format!("<p>Effect <code>{}</code></p>\n", escaped(effect))]);
    }
    if view.destroys() {
        out.push_str(
            "<p class=\"warning\" role=\"note\">Something is removed: look at what is marked −.</p>\n",
        );
    }
    out.push_str("<ul class=\"counts\">");
    for (grade, word, count) in view.counts() {
        out.extend([format!("<li class=\"{}\"><b>{count}</b> {}</li>", grade.name(), escaped(word))]);
    }
    out.push_str("</ul>\n");
    for note in &view.notes {
        out.extend([format!("<p class=\"note\">{}</p>\n", escaped(note))]);
    }
    out.push_str(&graph(view, report));
    for release in &view.releases {
        out.push_str(&block(release));
    }
    out.push_str("</section>\n");
    out
}

fn block(release: &Release<'_>) -> String {
    let open = if release.grade < Grade::Quiet { " open" } else { "" };
    let grade = release.grade.name();
    let mut out = format!(
        "<details class=\"release {grade}\" data-what=\"{}\"{open}>\n<summary><span class=\"sign\">{}</span> \
         <span class=\"word\">{}</span> <span class=\"key\">{}</span> <span class=\"chart\">{}</span></summary>\n",
        escaped(release.word),
        sign(release.grade),
        escaped(release.word),
        escaped(&release.key),
        escaped(&release.chart)
    );
    out.push_str(&reasons(&release.reasons));
    for object in &release.objects {
        out.push_str(&object_block(object));
    }
    out.push_str("</details>\n");
    out
}

fn sign(grade: Grade) -> &'static str {
    if grade == Grade::Destroys { "−" } else { grade.sign() }
}

fn reasons(reasons: &[String]) -> String {
    if reasons.is_empty() {
        return String::new();
    }
    let items: String = reasons.iter().map(|why| format!("<li>{}</li>", escaped(why))).collect();
    format!("<ul class=\"reasons\">{items}</ul>\n")
}

fn object_block(object: &Object<'_>) -> String {
    let head = format!(
        "<span class=\"sign\">{}</span> <span class=\"word\">{}</span> <span class=\"key\">{}</span>",
        sign(object.grade),
        escaped(object.word),
        escaped(&object.name)
    );
    let why = reasons(&object.reasons);
    let grade = object.grade.name();
    if object.diff.is_empty() {
        return format!("<div class=\"object {grade}\"><p>{head}</p>\n{why}</div>\n");
    }
    format!(
        "<details class=\"object {grade}\" open><summary>{head}</summary>\n{why}{}{}</details>\n",
        unified(object.diff),
        sides(object.diff)
    )
}

fn class(line: &str) -> &'static str {
    match line.as_bytes().first() {
        Some(b'+') => "added",
        Some(b'-') => "removed",
        _ => "same",
    }
}

fn unified(diff: &str) -> String {
    let lines: String = diff
        .lines()
        .map(|line| format!("<span class=\"{}\">{}\n</span>", class(line), escaped(line)))
        .collect();
    format!("<pre class=\"unified\" tabindex=\"0\">{lines}</pre>\n")
}

/// Lines that go stand left, lines that come right; a run of both is one beside the other.
fn sides(diff: &str) -> String {
    let (mut left, mut right, mut rows) = (Vec::new(), Vec::new(), String::new());
    for line in diff.lines() {
        match class(line) {
            "removed" => {
                if !right.is_empty() {
                    flush(&mut left, &mut right, &mut rows);
                }
                left.push(line);
            }
            "added" => right.push(line),
            _ => {
                flush(&mut left, &mut right, &mut rows);
                rows.extend([format!("<tr><td>{0}</td><td>{0}</td></tr>\n", escaped(line))]);
            }
        }
    }
    flush(&mut left, &mut right, &mut rows);
    format!(
        "<div class=\"sides\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">Before</th><th scope=\"col\">After</th></tr></thead>\n\
         <tbody>{rows}</tbody></table></div>\n"
    )
}

fn flush(left: &mut Vec<&str>, right: &mut Vec<&str>, rows: &mut String) {
    let cell = |line: Option<&&str>, class: &str| match line {
        Some(line) => format!("<td class=\"{class}\">{}</td>", escaped(line)),
        None => "<td class=\"nothing\"></td>".to_owned(),
    };
    for at in 0..left.len().max(right.len()) {
        rows.extend([format!(
            "<tr>{}{}</tr>\n",
            cell(left.get(at), "removed"),
            cell(right.get(at), "added")
        )]);
    }
    left.clear();
    right.clear();
}

const WIDE: usize = 200;
const HIGH: usize = 28;
const GAP: usize = 60;

/// Batches as columns, and lines from what is needed to what needs it.
fn graph(view: &View<'_>, report: &Json) -> String {
    let batches: Vec<Vec<&str>> = list(report, "batches")
        .iter()
        .map(|batch| batch.as_array().into_iter().flatten().filter_map(Json::as_str).collect())
        .collect();
    let places: Vec<(&str, usize, usize)> = batches
        .iter()
        .enumerate()
        .flat_map(|(column, batch)| batch.iter().enumerate().map(move |(row, key)| (*key, column, row)))
        .collect();
    if places.len() < 2 {
        return String::new();
    }
    let tallest = batches.iter().map(Vec::len).max().unwrap_or_default();
    let (width, height) = (batches.len() * (WIDE + GAP), tallest * (HIGH + 12) + 34);
    let at = |key: &str| places.iter().find(|(name, _, _)| *name == key);
    let corner = |column: usize, row: usize| (column * (WIDE + GAP) + 4, row * (HIGH + 12) + 28);
    let mut out = format!(
        "<details class=\"graph\" open><summary>Order: {} batches</summary>\n<div class=\"scroll\" tabindex=\"0\">\
         <svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"batches and needs\">\n",
        batches.len()
    );
    for column in 0..batches.len() {
        let (x, _) = corner(column, 0);
        out.extend([format!("<text x=\"{x}\" y=\"16\" class=\"batch\">batch {}</text>\n", column + 1)]);
    }
    for release in &view.releases {
        let Some((_, to, row)) = at(&release.key) else { continue };
        for need in &release.needs {
            let Some((_, from, other)) = at(need) else { continue };
            let ((x1, y1), (x2, y2)) = (corner(*from, *other), corner(*to, *row));
            let (x1, y1, y2) = (x1 + WIDE, y1 + HIGH / 2, y2 + HIGH / 2);
            let middle = (x1 + x2) / 2;
            out.extend([format!("<path d=\"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}\"/>\n")]);
        }
    }
    for (key, column, row) in &places {
        let (x, y) = corner(*column, *row);
        let grade =
            view.releases.iter().find(|release| release.key == **key).map_or("quiet", |one| one.grade.name());
        let short: String = key.chars().take(26).collect();
        let short = if short.len() < key.len() { format!("{short}…") } else { short };
        out.extend([format!(
            "<g class=\"{grade}\"><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{WIDE}\" height=\"{HIGH}\" rx=\"4\"/>\
             <text x=\"{}\" y=\"{}\">{}</text></g>\n",
            escaped(key),
            x + 8,
            y + 19,
            escaped(&short)
        )]);
    }
    out.push_str("</svg></div></details>\n");
    out
}

/// A text that neither HTML, nor XML, nor a runner of GitHub that sees the document in a log takes for anything else.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            ':' if out.ends_with(':') => out.push_str("&#58;"),
            '#' if out.ends_with('#') => out.push_str("&#35;"),
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_of_a_cluster_is_markup_and_nothing_is_loaded() {
        let evil = "</pre><script>alert(1)</script>\" onload='x' ::error::a";
        let report = json!({"format": "statectl.plan/v1", "context": evil, "cluster": {"server": evil},
        "batches": [["a/b"], [evil]], "releases": [
            {"namespace": "a", "name": "b", "action": evil, "reasons": [{"code": "c", "message": evil}]},
            {"namespace": evil, "name": evil, "action": "uninstall", "needs": ["a/b"], "objects": [
                {"kind": "K", "name": evil, "action": "delete", "reasons": [], "diff": format!("-{evil}\n+{evil}\n b\n")}]},
        ]});
        let text = html(&report);
        assert_eq!(text.matches("<script>").count(), 1, "{text}");
        assert!(!text.contains("::error") && !text.contains("onload='"), "{text}");
        for outside in ["http:", "https:", "src=", "href=", "@import", "url(", " style="] {
            assert!(!text.contains(outside), "{outside}");
        }
        assert!(!text.contains("##[") && !text.lines().any(|line| line.trim_start().starts_with("::")));
    }
}
