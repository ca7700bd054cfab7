//! Columns of text.

use unicode_width::UnicodeWidthStr;

/// Lays out rows in columns as wide as their widest cell, two spaces apart. The last column is not padded,
/// and no line ends in spaces.
pub fn table<S: AsRef<str>>(rows: &[Vec<S>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.as_ref().width()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let cell = cell.as_ref();
            line.push_str(cell);
            line.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_by_display_width() {
        let rows = [vec!["a", "b"], vec!["日本", "c"], vec!["only"]];
        assert_eq!(table(&rows), "a     b\n日本  c\nonly\n");
        assert_eq!(table::<&str>(&[]), "");
    }
}
