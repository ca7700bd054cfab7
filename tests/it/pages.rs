//! The pages of the documentation: all are listed, and every link leads somewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::repository;

/// All pages below a folder.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

/// The targets of links of a page, without those in code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = plain.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        found.extend(targets.map(str::to_owned));
    }
    found
}

/// The anchor of a heading, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let lower = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = lower.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

#[test]
fn every_page_is_listed_once_and_every_link_leads_somewhere() {
    let docs = repository("docs");
    let mut all = Vec::new();
    pages(&docs, &mut all);
    let summary = docs.join("SUMMARY.md");
    let listed = links(&std::fs::read_to_string(&summary).unwrap());
    let unique: BTreeSet<PathBuf> = listed.iter().map(|link| docs.join(link)).collect();
    assert_eq!(unique.len(), listed.len(), "a page is listed twice");
    let there: BTreeSet<PathBuf> = all.iter().filter(|path| **path != summary).cloned().collect();
    assert_eq!(unique, there);

    all.push(repository("README.md"));
    all.push(repository("CHANGELOG.md"));
    all.push(repository("CONTRIBUTING.md"));
    let mut broken = Vec::new();
    let mut count = 0;
    for page in &all {
        let text = std::fs::read_to_string(page).unwrap();
        for link in links(&text).iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:")) {
            count += 1;
            let (path, part) =
                link.split_once('#').map_or((link.as_str(), None), |(path, part)| (path, Some(part)));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let known = match part {
                None => target.exists(),
                Some(part) => std::fs::read_to_string(&target)
                    .is_ok_and(|text| text.lines().any(|line| line.starts_with('#') && anchor(line) == part)),
            };
            if !known {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(count > 60, "{count}");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// One row for each of the complaints that were collected, and for each rule of CI systems: an answer with its proof, or
/// the word that there is none.
#[test]
fn each_complaint_has_an_answer_or_says_that_there_is_none() {
    let text = std::fs::read_to_string(repository("docs/complaints.md")).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| #"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    let numbers: BTreeSet<&str> = rows.iter().map(|row| row[0]).collect();
    let expected: BTreeSet<String> = (1..=53)
        .map(|number| number.to_string())
        .chain((1..=14).map(|number| format!("C{number}")))
        .collect();
    assert_eq!(numbers, expected.iter().map(String::as_str).collect());
    assert_eq!(rows.len(), expected.len());
    for row in rows {
        let proof = row.last().unwrap().trim_end_matches('|').trim();
        let is_open = row.iter().any(|cell| cell.contains("not done") || cell.contains("not tested"));
        assert!(proof.contains("::") || is_open, "{row:?}");
    }
}
