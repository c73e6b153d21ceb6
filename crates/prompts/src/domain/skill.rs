//! Exports a ready prompt as a skill that agents load: `SKILL.md`.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::meta::Meta;
use gbrain_core::yaml::quoted;

/// The reason that a prompt cannot be exported as a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    /// An agent could not tell when to use it.
    #[error("meta.yml has no description")]
    NoDescription,
}

/// The content of `SKILL.md`. The elements of a template become headed sections; a template that is
/// not well-formed is put in a code fence.
pub fn skill(meta: &Meta, template: &str, is_xml: bool) -> Result<String, SkillError> {
    let description = meta.description.as_deref().ok_or(SkillError::NoDescription)?;
    let head = format!(
        "---\nname: {}\ndescription: {}\nmetadata:\n  version: {}\n  source_model: {}\n  source: prompts/{}\n---\n\n# {}\n\n",
        quoted(&meta.id),
        quoted(description),
        quoted(&meta.version),
        quoted(meta.model.as_deref().unwrap_or("unspecified")),
        meta.id,
        meta.title,
    );
    let body = match is_xml.then(|| sections(template)) {
        None => format!("{}\n", template.trim_end()),
        Some(Some(sections)) => body(meta, &sections),
        Some(None) => fence(template),
    };
    Ok(head + &body)
}

fn fence(template: &str) -> String {
    let longest = template.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let ticks = "`".repeat(longest.max(2) + 1);
    format!("{ticks}xml\n{}\n{ticks}\n", template.trim_end())
}

/// The order of sections: role, inputs, rules, output format, then everything else.
fn body(meta: &Meta, sections: &[(String, String)]) -> String {
    let named = |names: &[&str]| {
        sections.iter().filter(|(name, _)| names.contains(&name.as_str())).collect::<Vec<_>>()
    };
    const FIRST: [&[&str]; 4] = [
        &["role"],
        &["inputs", "input"],
        &["rules", "constraints"],
        &["output_format", "output-format", "output"],
    ];
    let [role, inputs, rules, output] = FIRST.map(named);
    let mut text: String = role.iter().map(|(_, content)| format!("{content}\n\n")).collect();
    if inputs.is_empty() && !meta.inputs.is_empty() {
        text.push_str(&declared(meta));
    }
    let known: Vec<&str> = FIRST.concat();
    let others = sections.iter().filter(|(name, _)| !known.contains(&name.as_str()));
    for (name, content) in inputs.into_iter().chain(rules).chain(output).chain(others) {
        match name.as_str() {
            "" => text.push_str(&format!("{content}\n\n")),
            name => text.push_str(&format!("## {}\n\n{content}\n\n", heading(name))),
        }
    }
    text.trim_end().to_owned() + "\n"
}

fn declared(meta: &Meta) -> String {
    let line = |input: &super::PromptInput| {
        let need = match (&input.default, input.required) {
            (Some(default), _) => format!(" (default: {default})"),
            (None, true) => " (required)".to_owned(),
            (None, false) => String::new(),
        };
        format!("- `{}`{need}\n", input.name)
    };
    format!("## Inputs\n\n{}\n", meta.inputs.iter().map(line).collect::<String>())
}

fn heading(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The top-level elements of a template, inside its root if it has a single one, each with its
/// unparsed content. Text between them has no name. `None` if the tags do not match.
fn sections(template: &str) -> Option<Vec<(String, String)>> {
    let top = elements(template)?;
    let inner = match top.as_slice() {
        [(name, content)] if !name.is_empty() => elements(content)?,
        _ => return Some(top),
    };
    let has_tags = inner.iter().any(|(name, _)| !name.is_empty());
    Some(if has_tags { inner } else { top })
}

fn elements(text: &str) -> Option<Vec<(String, String)>> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut found: Vec<(String, String)> = Vec::new();
    let mut open: Vec<(String, usize)> = Vec::new();
    let mut loose = 0;
    loop {
        let before = usize::try_from(reader.buffer_position()).ok()?;
        let event = reader.read_event().ok()?;
        let after = usize::try_from(reader.buffer_position()).ok()?;
        match event {
            Event::Eof => break,
            Event::Start(tag) => {
                if open.is_empty() {
                    push_loose(&mut found, text.get(loose..before)?);
                }
                open.push((tag.name().as_ref().to_lowercase(), after));
            }
            Event::End(_) => {
                let (name, start) = open.pop()?;
                if open.is_empty() {
                    found.push((name, dedented(text.get(start..before)?)));
                    loose = after;
                }
            }
            _ => (),
        }
    }
    push_loose(&mut found, text.get(loose..)?);
    open.is_empty().then_some(found)
}

fn push_loose(found: &mut Vec<(String, String)>, text: &str) {
    let text = dedented(text);
    if !text.is_empty() && !text.starts_with("<?") {
        found.push((String::new(), text));
    }
}

/// A block without the common indentation of its lines.
fn dedented(text: &str) -> String {
    let lines: Vec<&str> = text.trim_matches(['\n', '\r']).lines().map(str::trim_end).collect();
    let indent = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let common = lines.iter().filter(|line| !line.is_empty()).map(indent).min().unwrap_or_default();
    let cut = lines.iter().map(|line| line.get(common..).unwrap_or_default());
    cut.collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::meta::{PromptInput, PromptStatus, tests_meta};
    use super::*;

    fn of(template: &str, is_xml: bool) -> String {
        let mut meta = tests_meta(PromptStatus::Ready);
        meta.description = Some("Greets: \"hi\". Use when somebody arrives.".to_owned());
        meta.inputs = vec![PromptInput { name: "who".to_owned(), required: true, default: None }];
        skill(&meta, template, is_xml).unwrap()
    }

    #[test]
    fn sections_in_order() {
        let text = of(
            "<prompt>\n  <output_format>\n    one line\n  </output_format>\n  <notes>n</notes>\n  <role>\n    You greet {{who}}.\n  </role>\n  \
             <rules>\n    - be kind\n      - very\n  </rules>\n</prompt>\n",
            true,
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn tags_that_do_not_match_stand_in_a_fence() {
        let text = of("<role>You ``` greet</rule>", true);
        assert!(text.ends_with("````xml\n<role>You ``` greet</rule>\n````\n"), "{text}");
    }

    #[test]
    fn markdown_stays_and_tags_without_a_root_are_sections() {
        assert!(of("Say *hi*.\n", false).ends_with("# X\n\nSay *hi*.\n"));
        assert!(
            of("<role>R</role>\n<rules>Q</rules>", true)
                .ends_with("R\n\n## Inputs\n\n- `who` (required)\n\n## Rules\n\nQ\n")
        );
        assert!(of("plain text", true).contains("plain text\n"));
    }

    #[test]
    fn without_a_description_there_is_no_skill() {
        assert_eq!(
            skill(&tests_meta(PromptStatus::Ready), "x", true),
            Err(SkillError::NoDescription)
        );
    }
}
