//! Prompts of the old layout: `prompts/{ready,tested,draft}/NAME.md`, with the status in the path.

use super::meta::PromptStatus;
use super::template::placeholders;
use super::yml;
use gbrain_core::yaml::quoted;

/// A prompt converted to the new layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertedPrompt {
    /// The name of the prompt and of its directory.
    pub id: String,
    /// The content of the new `meta.yml`.
    pub meta: String,
    /// The content of the new `prompt.md`: the old file without its frontmatter.
    pub template: String,
}

/// Converts one file. The title, summary, version and model of its frontmatter are kept. A prompt
/// in `ready` stays ready, although the old layout kept no evidence.
pub fn migrate(stem: &str, status: PromptStatus, text: &str, today: &str) -> ConvertedPrompt {
    let (front, template) = split(text);
    let front = front.and_then(|front| yml::flat(front).ok()).unwrap_or_default();
    let get = |key: &str| {
        front
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.trim().to_owned())
            .filter(|text| !text.is_empty())
    };
    let id = id_of(stem);
    let headings = template.lines().filter_map(|line| line.strip_prefix("# ")).map(str::trim);
    let heading = headings.into_iter().find(|text| !text.is_empty()).map(str::to_owned);
    let title = get("title").or(heading).unwrap_or_else(|| id.clone());
    let summary = get("summary").or_else(|| get("description")).unwrap_or_else(|| title.clone());
    let version = get("version").unwrap_or_else(|| "1.0.0".to_owned());
    let created = get("created").unwrap_or_else(|| today.to_owned());
    let mut meta = format!(
        "id: {id}\ntitle: {}\nsummary: {}\nstatus: {status}\nversion: {}\ncreated: {}\nupdated: {today}\n",
        quoted(&title),
        quoted(&summary),
        quoted(&version),
        quoted(&created),
    );
    if let Some(model) = get("model") {
        meta.push_str(&format!("model: {}\n", quoted(&model)));
    }
    let keys = placeholders(template);
    if !keys.is_empty() {
        meta.push_str("inputs:\n");
        keys.iter()
            .for_each(|key| meta.push_str(&format!("  - name: {key}\n    required: true\n")));
    }
    ConvertedPrompt { id, meta, template: template.to_owned() }
}

/// Splits off the frontmatter.
fn split(text: &str) -> (Option<&str>, &str) {
    let Some(rest) = text.strip_prefix("---\n") else { return (None, text) };
    match rest.find("\n---\n") {
        Some(end) => (Some(&rest[..=end]), rest[end + 5..].trim_start_matches('\n')),
        None => (None, text),
    }
}

/// A valid directory name: lower-case letters, digits, `-`, `_` and `.`.
fn id_of(stem: &str) -> String {
    let letter = |c: char| match c.to_ascii_lowercase() {
        c @ ('a'..='z' | '0'..='9' | '-' | '_' | '.') => c,
        _ => '-',
    };
    let id: String = stem.chars().map(letter).collect();
    id.trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::meta::Meta;
    use super::*;

    #[test]
    fn frontmatter_becomes_meta() {
        let text = "---\ntitle: \"Review: code\"\nmodel: opus\n---\n\n# Head\nLook at {{diff}} for {{who}}.\n";
        let legacy = migrate("Code Review", PromptStatus::Tested, text, "2026-05-05");
        assert_eq!(legacy.id, "code-review");
        assert_eq!(legacy.template, "# Head\nLook at {{diff}} for {{who}}.\n");
        let meta = Meta::parse(&legacy.meta).unwrap();
        assert_eq!(
            (meta.title.as_str(), meta.status, meta.model.as_deref()),
            ("Review: code", PromptStatus::Tested, Some("opus"))
        );
        assert_eq!(meta.inputs.len(), 2);
    }

    #[test]
    fn a_bare_file_is_enough() {
        let legacy = migrate("x", PromptStatus::Draft, "# My title\ntext", "2026-05-05");
        assert_eq!(Meta::parse(&legacy.meta).unwrap().title, "My title");
        assert_eq!(legacy.template, "# My title\ntext");
        let titled = |text: &str| {
            let legacy = migrate("x", PromptStatus::Draft, text, "2026-05-05");
            Meta::parse(&legacy.meta).unwrap().title
        };
        assert_eq!(titled("# "), "x");
        assert_eq!(titled("# \n# Second\n"), "Second");
        assert_eq!(titled("# Pr\u{7f}mpts"), "Pr\u{7f}mpts");
        assert_eq!(
            migrate("x", PromptStatus::Draft, "---\nnot closed", "2026-05-05").template,
            "---\nnot closed"
        );
    }
}
