//! Adds a suite to a file by inserting text; existing text and comments stay unchanged.

use super::{FileError, SuiteEntry, SuiteFile};
use crate::yaml::json_as_yaml;

/// Why a suite cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SuiteEditError {
    /// The file is invalid, or would be afterwards.
    #[error(transparent)]
    File(#[from] FileError),
    /// The list of suites is in a form that nothing can be appended to.
    #[error(
        "the list `suites:` has a form that cannot be extended; write each suite as a block, as `- name: ...`"
    )]
    Shape,
}

/// The file with one more suite at the end of its list.
pub fn with_suite(text: &str, entry: &SuiteEntry) -> Result<String, SuiteEditError> {
    let before = SuiteFile::parse(text)?;
    let mut lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().position(|line| line.starts_with("suites:"));
    let (at, indent) = match head {
        None => {
            lines.push("suites:");
            (lines.len(), "  ".to_owned())
        }
        Some(head) => {
            if lines[head]["suites:".len()..].trim() == "[]" {
                lines[head] = "suites:";
            }
            place(&lines, head)
        }
    };
    let added = block(entry, &indent);
    let mut all: Vec<&str> = lines[..at].to_vec();
    all.extend(added.iter().map(String::as_str));
    all.extend(&lines[at..]);
    let text = all.join("\n") + "\n";
    let after = SuiteFile::parse(&text).map_err(|error| match error {
        FileError::Suite(_) => SuiteEditError::File(error),
        FileError::Form { .. } | FileError::Version(_) => SuiteEditError::Shape,
    })?;
    let mut expected = before;
    expected.suites.push(entry.clone());
    if after != expected {
        return Err(SuiteEditError::Shape);
    }
    after.suites()?;
    Ok(text)
}

/// The end of the list that begins at line `head`, and the indentation of its items.
fn place(lines: &[&str], head: usize) -> (usize, String) {
    let is_item = |line: &&&str| line.trim_start().starts_with("- ");
    let first = lines[head + 1..].iter().find(is_item);
    let indent = first.map_or("  ", |line| &line[..line.len() - line.trim_start().len()]);
    let is_outside = |line: &&str| {
        let is_text = !line.trim().is_empty() && !line.starts_with(['#', ' ']);
        is_text && !(indent.is_empty() && line.starts_with('-'))
    };
    let end = lines[head + 1..].iter().position(is_outside).map_or(lines.len(), |at| head + 1 + at);
    // Blank lines and comments before the next key belong to that key.
    let is_said = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let last = lines[head..end].iter().rposition(is_said).unwrap_or(0);
    (head + last + 1, indent.to_owned())
}

/// The lines of a suite: one key a line, values as JSON, which is YAML too.
fn block(entry: &SuiteEntry, indent: &str) -> Vec<String> {
    let value = serde_json::to_value(entry).expect("our values have text keys only");
    let keys = value.as_object().into_iter().flatten();
    let written =
        keys.filter(|(_, value)| !value.is_null()).enumerate().map(|(at, (key, value))| {
            let lead = if at == 0 { "- " } else { "  " };
            format!("{indent}{lead}{key}: {}", json_as_yaml(&value.to_string()))
        });
    written.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> SuiteEntry {
        let json = format!(
            r#"{{"name":"{name}","type":"smoke","owners":["@a"],"triggers":["manual",{{"cron":"0 2 * * 0"}}]}}"#
        );
        serde_json::from_str(&json).unwrap()
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(with_suite(text, &entry("new")).unwrap(), expected);
    }

    const NEW: &str = "  - name: \"new\"\n    type: \"smoke\"\n    triggers: [\"manual\",{\"cron\":\"0 2 * * 0\"}]\n    owners: [\"@a\"]\n";

    #[test]
    fn existing_suites_are_kept() {
        check("", &format!("suites:\n{NEW}"));
        check("suites: []\n", &format!("suites:\n{NEW}"));
        let old = "# ours\nsuites:\n  # the first\n  - name: old\n    type: smoke   # quick\n    owners: [x]\n";
        check(old, &format!("{old}{NEW}"));
        let behind = "\n# who is told\nchannels: {}\n";
        check(&format!("{old}{behind}"), &format!("{old}{NEW}{behind}"));
        let flush = "suites:\n- name: old\n  type: smoke\n  owners: [x]\n";
        let added = NEW.replace("\n  ", "\n").trim_start().to_owned();
        check(flush, &format!("{flush}{added}"));
    }

    #[test]
    fn invalid_suites_cannot_be_added() {
        let refused = |text: &str, says: &str| {
            let error = with_suite(text, &entry("new")).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        };
        refused("suites: [{ name: old, type: smoke, owners: [x] }]\n", "cannot be extended");
        refused("suites:\n  - name: new\n    type: smoke\n    owners: [x]\n", "two suites");
        refused("colour: red\n", "colour");
    }
}
