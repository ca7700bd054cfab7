//! Small words of sentences.

/// Returns the count and the noun: `1 release`, `2 releases`. The plural is the noun with an `s`.
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Joins names as a sentence does: `a`, `a or b`, `a, b or c`.
pub fn list_of<S: AsRef<str>>(names: &[S], last: &str) -> String {
    match names {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., end] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} {last} {}", first.join(", "), end.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_read_naturally() {
        assert_eq!(plural(1, "release"), "1 release");
        assert_eq!(plural(0, "release"), "0 releases");
        assert_eq!(list_of::<&str>(&[], "or"), "");
        assert_eq!(list_of(&["a"], "or"), "a");
        assert_eq!(list_of(&["a", "b", "c"], "or"), "a, b or c");
    }
}
