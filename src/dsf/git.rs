//! Charts in git repositories: `git+https://HOST/REPOSITORY.git//FOLDER?ref=REF`.

/// What introduces one.
const PREFIX: &str = "git+";
/// The transports that are used: those that can run a program on the way are not among them.
const SCHEMES: [&str; 4] = ["https", "http", "ssh", "file"];

/// A chart in a git repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitChart {
    /// The address of the repository, as git takes it.
    pub url: String,
    /// The folder of the chart in it, without slashes at its ends; empty for the repository itself.
    pub folder: String,
    /// A branch, a tag or the full name of a commit.
    pub reference: String,
}

impl GitChart {
    /// Tells whether a text means one.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// Reads one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.strip_prefix(PREFIX).unwrap_or(text);
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let (scheme, rest) = place.split_once("://").ok_or("it is no address")?;
        if !SCHEMES.contains(&scheme) {
            return Err("git is asked by `git+https`, `git+http`, `git+ssh` or `git+file`");
        }
        let (repository, folder) = rest.split_once("//").unwrap_or((rest, ""));
        if repository.is_empty() || repository.starts_with('-') {
            return Err("it names no repository");
        }
        let folder = folder.trim_matches('/');
        if folder.split('/').any(|part| part == "..") {
            return Err("its folder leads out of the repository");
        }
        let reference = match query.strip_prefix("ref=") {
            Some(reference) if !reference.is_empty() => reference,
            _ => return Err("it does not say which branch, tag or commit is meant"),
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || "._/+-".contains(c);
        if reference.starts_with(['-', '/']) || reference.contains("..") || !reference.chars().all(fits) {
            return Err("its `ref` is no branch, tag or commit");
        }
        Ok(Self {
            url: format!("{scheme}://{repository}"),
            folder: folder.to_owned(),
            reference: reference.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_folder_and_reference_are_told_apart() {
        let check = |text: &str, expected: Result<(&str, &str, &str), &str>| {
            let read = GitChart::parse(text);
            let read =
                read.as_ref().map(|git| (&*git.url, &*git.folder, &*git.reference)).map_err(|why| *why);
            assert_eq!(read, expected, "{text}");
        };
        check("git+https://h/r.git//charts/web?ref=v1.2", Ok(("https://h/r.git", "charts/web", "v1.2")));
        check("git+ssh://git@h:22/r?ref=main", Ok(("ssh://git@h:22/r", "", "main")));
        check("git+file:///srv/r.git///web/?ref=feature/a", Ok(("file:///srv/r.git", "web", "feature/a")));
        for (text, why) in [
            ("git+https://h/r.git//web", "it does not say which branch, tag or commit is meant"),
            ("git+https://h/r.git//web?ref=", "it does not say which branch, tag or commit is meant"),
            ("git+https://h/r.git//../x?ref=a", "its folder leads out of the repository"),
            ("git+ext::sh -c x?ref=a", "it is no address"),
            ("git+ext://x?ref=a", "git is asked by `git+https`, `git+http`, `git+ssh` or `git+file`"),
            ("git+https://?ref=a", "it names no repository"),
            ("git+ssh://-oProxyCommand=x/r?ref=a", "it names no repository"),
            ("git+https://h/r?ref=--upload-pack=x", "its `ref` is no branch, tag or commit"),
            ("git+https://h/r?ref=a..b", "its `ref` is no branch, tag or commit"),
            ("git+https://h/r?ref=a&x", "its `ref` is no branch, tag or commit"),
        ] {
            check(text, Err(why));
        }
    }
}
