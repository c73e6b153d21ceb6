//! Generates lists of all prompts: a table in the README, and shell functions.

use std::fmt::Write as _;

use super::meta::PromptStatus;

/// A prompt in the generated lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRow {
    pub id: String,
    pub status: PromptStatus,
    pub version: String,
    pub summary: String,
    /// Shell aliases that run it.
    pub aliases: Vec<String>,
}

/// The reason that a file was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The markers around the list are missing.
    #[error("no line with {start} and a later one with {end}")]
    Markers { start: &'static str, end: &'static str },
}

const README: (&str, &str) = ("INDEX:START", "INDEX:END");
const ALIASES: (&str, &str) = ("AUTO:START", "AUTO:END");

/// Regenerates the tables of a README: ready, tested, draft.
pub fn rewrite_readme(readme: &str, rows: &[IndexRow]) -> Result<String, IndexError> {
    let mut tables = String::new();
    for status in [PromptStatus::Ready, PromptStatus::Tested, PromptStatus::Draft] {
        let of_status: Vec<&IndexRow> = rows.iter().filter(|row| row.status == status).collect();
        if !of_status.is_empty() {
            write_table(&mut tables, status, &of_status);
        }
    }
    between(readme, README, &tables)
}

fn write_table(out: &mut String, status: PromptStatus, rows: &[&IndexRow]) {
    let cell = |text: &str| text.replace('|', "\\|").replace(['\n', '\r'], " ");
    let gap = if out.is_empty() { "" } else { "\n" };
    write!(
        out,
        "{gap}### {status}\n\n| prompt | version | summary | aliases |\n|---|---|---|---|\n"
    )
    .expect("writing to a string succeeds");
    for IndexRow { id, version, summary, aliases, .. } in rows {
        let (version, summary, aliases) = (cell(version), cell(summary), aliases.join(", "));
        writeln!(out, "| [{id}](prompts/{id}/) | {version} | {summary} | {aliases} |")
            .expect("writing to a string succeeds");
    }
}

/// The shell functions, one for each alias.
pub fn alias_block(rows: &[IndexRow]) -> String {
    let of_row = |row: &IndexRow| {
        let function = |alias: &String| format!("{alias}() {{ kick {} \"$@\"; }}\n", row.id);
        row.aliases.iter().map(function).collect::<String>()
    };
    rows.iter().map(of_row).collect()
}

/// Regenerates the block in a file of shell functions, or a new file.
pub fn rewrite_aliases(file: Option<&str>, rows: &[IndexRow]) -> Result<String, IndexError> {
    let new = "# Sourced by a shell: prompts as commands. The block is made by `eva index`.\n# AUTO:START\n# AUTO:END\n";
    between(file.unwrap_or(new), ALIASES, &alias_block(rows))
}

/// Replaces the text between two marker lines.
fn between(
    text: &str,
    (start, end): (&'static str, &'static str),
    content: &str,
) -> Result<String, IndexError> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first = lines.iter().position(|line| line.contains(start));
    let last = first.and_then(|first| {
        lines[first + 1..].iter().position(|line| line.contains(end)).map(|at| first + 1 + at)
    });
    let (Some(first), Some(last)) = (first, last) else {
        return Err(IndexError::Markers { start, end });
    };
    Ok([&lines[..=first].concat(), content, &lines[last..].concat()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<IndexRow> {
        let row = |id: &str, status, aliases: &[&str]| IndexRow {
            id: id.to_owned(),
            status,
            version: "1.0.0".to_owned(),
            summary: "a|b".to_owned(),
            aliases: aliases.iter().map(|&alias| alias.to_owned()).collect(),
        };
        vec![row("a", PromptStatus::Draft, &["hi", "yo"]), row("b", PromptStatus::Ready, &[])]
    }

    #[test]
    fn tables_in_order_and_nothing_else_touched() {
        let text = "# Prompts\n<!-- INDEX:START -->\nold\n<!-- INDEX:END -->\ntail";
        let new = rewrite_readme(text, &rows()).unwrap();
        assert!(
            new.starts_with("# Prompts\n<!-- INDEX:START -->\n### ready\n")
                && new.ends_with("|\n<!-- INDEX:END -->\ntail")
        );
        assert!(new.find("[b]").unwrap() < new.find("### draft").unwrap());
        assert!(new.contains("a\\|b"));
        assert_eq!(rewrite_readme(&new, &rows()).unwrap(), new);
    }

    #[test]
    fn without_marks_nothing_is_written() {
        for text in ["", "INDEX:END\nINDEX:START\n", "INDEX:START\n"] {
            assert!(rewrite_readme(text, &rows()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_function_for_each_alias() {
        let file = rewrite_aliases(None, &rows()).unwrap();
        assert!(file.contains(
            "# AUTO:START\nhi() { kick a \"$@\"; }\nyo() { kick a \"$@\"; }\n# AUTO:END\n"
        ));
    }
}
