//! The reference page of the desired-state file, made from the key table.

use super::keys::{FORMS, Section, Status, keys_of};

const INTRODUCTION: &str = "\
# Keys of the desired-state file

This page is made from the table that the reader works with (`src/dsf/keys.rs`).

The same keys are written in TOML and in YAML. A key of Helmsman may be written in any case, as Helmsman
allows. An unknown key is an error.

| status | meaning |
|---|---|
| supported | it does what is said here |
| no effect | it is accepted, and a note says why it means nothing |
| not yet | an error unless its value is empty or false: it will be supported |
| rejected | an error that says why |

Several files are laid over each other from left to right: tables merge, lists append, other values replace, and
`null` removes. An explicit `false`, `0` or `\"\"` counts. Below `values`, lists replace and `null` stays, as in
Helm. What an app starts from is laid under it in the same way: `defaults`, then its templates in their order.

In texts and keys, `$NAME` and `${NAME}` are environment variables, `${NAME:-default}` has a default, `$$` is a
plain `$`, and `${vars.NAME}` is a variable of `vars`. The text of a variable is never parsed as TOML or YAML; below
`values` it stays text.

What counts for one key of an app, from the weakest: `defaults`, the templates that it `extends`, the app, the environment
of `--environment NAME`, `--set-app APP.KEY=VALUE`. A file comes after what it imports, a later file after earlier ones.
`statectl config FILE…` shows the result with the place of each key. Paths are relative to the file that names them, and stay
in its git repository (or its folder, where there is none) unless `--allow-outside-paths` is given; charts may be anywhere.

Editors know the keys by [dsf.schema.json](dsf.schema.json), which `statectl schema` prints: write
`#:schema PATH` at the head of a TOML file, `# yaml-language-server: $schema=PATH` at that of a YAML file.
";

/// Returns the page `docs/reference/dsf.md`.
pub fn reference_page() -> String {
    let mut out = INTRODUCTION.to_owned();
    for section in Section::ALL {
        out.push_str(&format_heading(section));
        out.push_str("| key | status | value | default | meaning |\n|---|---|---|---|---|\n");
        for key in keys_of(section) {
            let origin = if key.helmsman { "" } else { " *" };
            let cells = [
                format!("`{}`{origin}", key.name),
                status_word(key.status).to_owned(),
                key.kind.to_owned(),
                key.default.to_owned(),
                with_reason(key.summary, key.status),
            ];
            push_row(&mut out, &cells);
        }
    }
    out.push_str(
        "\n\\* not a key of Helmsman\n\n## Forms of values\n\n| form | status | meaning |\n|---|---|---|\n",
    );
    for form in FORMS {
        let place = format!("`{}`", form.place);
        push_row(
            &mut out,
            &[place, status_word(form.status).to_owned(), with_reason(form.summary, form.status)],
        );
    }
    out
}

fn format_heading(section: Section) -> String {
    match section {
        Section::File => "\n## The file\n\n".to_owned(),
        _ => format!("\n## `{}`\n\n", section.place()),
    }
}

fn push_row(out: &mut String, cells: &[String]) {
    out.push('|');
    for cell in cells {
        out.push_str(if cell.is_empty() { "" } else { " " });
        out.push_str(&cell.replace('|', "\\|"));
        out.push_str(" |");
    }
    out.push('\n');
}

fn status_word(status: Status) -> &'static str {
    match status {
        Status::Supported => "supported",
        Status::NoEffect(_) => "no effect",
        Status::NotYet => "not yet",
        Status::Rejected(_) => "rejected",
    }
}

fn with_reason(summary: &str, status: Status) -> String {
    match status {
        Status::Supported | Status::NotYet => summary.to_owned(),
        Status::NoEffect(why) | Status::Rejected(why) => {
            let mut why = why.to_owned();
            if let Some(first) = why.get_mut(..1) {
                first.make_ascii_uppercase();
            }
            format!("{summary} {why}.")
        }
    }
}
