//! File names of receipts. They contain the output's name and content hash, so that the receipt of
//! an older output is not mistaken for the current one.

use crate::hash::Hash;

/// A text that is not a valid slug.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a slug; use letters, digits, dashes and underscores, at most {LONGEST}")]
pub struct SlugError(String);

const LONGEST: usize = 100;

/// The name of an output: as given, else the name of its skill (`skills/NAME/SKILL.md`), else the
/// hash of its content.
pub fn slug(given: Option<&str>, path: &str, content: Hash) -> Result<String, SlugError> {
    if let Some(given) = given {
        return if is_slug(given) {
            Ok(given.to_owned())
        } else {
            Err(SlugError(given.to_owned()))
        };
    }
    let skill = of_skill(path).filter(|skill| is_slug(skill));
    Ok(skill.map_or_else(|| sha8(content), str::to_owned))
}

/// The first eight digits of a hash, as used in receipt names.
pub fn sha8(sha: Hash) -> String {
    let mut hex = sha.to_hex();
    hex.truncate(8);
    hex
}

/// The file name of a receipt.
pub fn receipt_file_name(slug: &str, content: Hash) -> String {
    format!("{slug}-{}.json", sha8(content))
}

/// The file name of a batch summary, by the content of its rows.
pub fn summary_file(rows: Hash) -> String {
    format!("cross-modal-batch-{}.json", sha8(rows))
}

fn is_slug(text: &str) -> bool {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !text.is_empty() && text.len() <= LONGEST && text.bytes().all(is_fit)
}

fn of_skill(path: &str) -> Option<&str> {
    let mut parts = path.rsplit('/');
    let (file, skill, folder) = (parts.next()?, parts.next()?, parts.next()?);
    (file == "SKILL.md" && folder == "skills").then_some(skill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: Option<&str>, path: &str, expected: Result<&str, &str>) {
        let found = slug(given, path, Hash::of(b"text")).map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{path}");
    }

    #[test]
    fn a_name_is_given_or_a_skill_s_or_of_the_content() {
        check(Some("my_Report-1"), "skills/brief/SKILL.md", Ok("my_Report-1"));
        check(None, "/home/ada/skills/brief/SKILL.md", Ok("brief"));
        check(None, "skills/brief/SKILL.md", Ok("brief"));
        check(None, "skills/a brief/SKILL.md", Ok("982d9e3e"));
        check(None, "skills/brief/notes.md", Ok("982d9e3e"));
        check(None, "brief/SKILL.md", Ok("982d9e3e"));
        check(None, "-", Ok("982d9e3e"));
    }

    #[test]
    fn no_name_leaves_its_folder() {
        for bad in ["", "../x", "a/b", "a.b", "a b", "é", &"x".repeat(101)] {
            let error = slug(Some(bad), "x", Hash::default()).unwrap_err();
            assert_eq!(error, SlugError(bad.to_owned()));
        }
        assert_eq!(receipt_file_name("brief", Hash::of(b"text")), "brief-982d9e3e.json");
    }
}
