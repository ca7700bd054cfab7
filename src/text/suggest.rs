//! "Did you mean …?".

/// The longest word that is compared; the work grows with the square of it.
const LONGEST_WORD: usize = 64;

/// Returns the candidate that `word` most likely stands for, or nothing when none is near.
///
/// Near means: equal but for case, or at most one edit for every three characters, counting a swap of two
/// neighbours as one edit. The first of several equally near candidates wins.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters = lower(word);
    if letters.is_empty() || letters.len() > LONGEST_WORD {
        return None;
    }
    let limit = (letters.len() / 3).max(1);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let other = lower(candidate);
            // Dropping a whole one-letter word is no spelling mistake.
            if letters.len().min(other.len()) < 2 || letters.len().abs_diff(other.len()) > limit {
                return None;
            }
            let distance = distance(&letters, &other);
            (distance <= limit).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn lower(word: &str) -> Vec<char> {
    word.chars().flat_map(char::to_lowercase).collect()
}

/// The restricted Damerau–Levenshtein distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let substitute = above[j] + usize::from(x != y);
            let mut best = substitute.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && *x == b[j - 1] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_not() {
        let keys = ["chart", "version", "valuesFile", "valuesFiles", "priority"];
        for (word, expected) in [
            ("chrat", Some("chart")),
            ("Chart", Some("chart")),
            ("valueFile", Some("valuesFile")),
            ("valuesfiles", Some("valuesFiles")),
            ("prioritty", Some("priority")),
            ("bogus", None),
            ("", None),
            ("c", None),
        ] {
            assert_eq!(closest(word, keys), expected, "{word}");
        }
        assert_eq!(closest(&"x".repeat(5000), keys), None);
    }
}
