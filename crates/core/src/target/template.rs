//! Templates: JSON with placeholders for the fields of a question.
//!
//! A text that is one placeholder and nothing else becomes the value itself, with its type:
//! `"{{k}}"` is a number, `"{{sources}}"` a list. Placeholders inside a text become part of it. A
//! field that the question lacks is left out together with its key, and an object left empty is
//! omitted: servers refuse `"filter": {}` as often as they take it.

use serde_json::{Map, Value, json};

use crate::named;

use super::Question;

named! {
    /// A field that a template may contain.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Placeholder {
        Query = "query",
        K = "k",
        /// Number of results, at least 10: with fewer, ranks 6 to 10 are never seen.
        KAtLeast10 = "k_at_least_10",
        /// The id of the query.
        Id = "id",
        /// knowledge, graph or hybrid.
        Mode = "mode",
        /// auto, semantic or identifier.
        Kind = "query_kind",
        Workspace = "workspace",
        Sources = "sources",
        Types = "types",
        /// Only of these authors.
        Authors = "authors",
        /// Only in these states.
        States = "states",
        /// Only with these labels.
        Labels = "labels",
        /// Only from this day on.
        After = "after",
        /// Only up to this day.
        Before = "before",
        /// Whether to tell edges.
        Rationale = "rationale",
        /// Whether to tell passages.
        Highlights = "highlights",
        /// The time of asking.
        Now = "now",
        /// The question's vector by the built-in model.
        Vector = "vector",
    }
}

/// The values that a question provides for a template.
#[derive(Debug, Clone, Copy)]
pub struct TemplateValues<'a> {
    pub question: &'a Question,
    /// Its vector, for templates that want it.
    pub vector: Option<&'a [f32]>,
}

impl TemplateValues<'_> {
    /// The value of a slot; none if the question does not say.
    pub fn value(&self, slot: Placeholder) -> Option<Value> {
        let Question {
            id,
            text,
            k,
            mode,
            kind,
            filter,
            brain: _,
            workspace,
            rationale,
            highlights,
            passages: _,
            stages: _,
            now,
            within: _,
        } = self.question;
        let list = |names: &[String]| (!names.is_empty()).then(|| json!(names));
        match slot {
            Placeholder::Query => Some(json!(text)),
            Placeholder::K => Some(json!(k)),
            Placeholder::KAtLeast10 => Some(json!((*k).max(10))),
            Placeholder::Id => id.as_ref().map(|id| json!(id)),
            Placeholder::Mode => mode.map(|mode| json!(mode.name())),
            Placeholder::Kind => kind.map(|kind| json!(kind.name())),
            Placeholder::Workspace => workspace.as_ref().map(|workspace| json!(workspace)),
            Placeholder::Sources => list(&filter.sources),
            Placeholder::Types => list(&filter.types),
            Placeholder::Authors => list(&filter.authors),
            Placeholder::States => list(&filter.states),
            Placeholder::Labels => list(&filter.labels),
            Placeholder::After => filter.after.map(|date| json!(date.to_string())),
            Placeholder::Before => filter.before.map(|date| json!(date.to_string())),
            Placeholder::Rationale => Some(json!(rationale)),
            Placeholder::Highlights => Some(json!(highlights)),
            Placeholder::Now => now.map(|now| json!(now.to_string())),
            Placeholder::Vector => self.vector.map(|vector| json!(vector)),
        }
    }
}

/// The fields of a question that the template cannot pass on, given its slots.
pub(super) fn unsupported_fields(
    question: &Question,
    has: impl Fn(Placeholder) -> bool,
) -> Vec<&'static str> {
    let parts = [
        (Placeholder::Mode, "mode"),
        (Placeholder::Kind, "query_kind"),
        (Placeholder::Workspace, "workspace"),
        (Placeholder::Sources, "filter.sources"),
        (Placeholder::Types, "filter.types"),
        (Placeholder::Authors, "filter.authors"),
        (Placeholder::States, "filter.states"),
        (Placeholder::Labels, "filter.labels"),
        (Placeholder::After, "filter.after"),
        (Placeholder::Before, "filter.before"),
    ];
    let filling = TemplateValues { question, vector: None };
    let is_lost = |slot| filling.value(slot).is_some() && !has(slot);
    parts.into_iter().filter(|(slot, _)| is_lost(*slot)).map(|(_, name)| name).collect()
}

#[derive(Debug, Clone, PartialEq)]
enum TemplateNode {
    /// A literal value without placeholders.
    Fixed(Value),
    /// One placeholder, with its type.
    Slot(Placeholder),
    /// A text with placeholders in it.
    Text(Vec<TextPart>),
    List(Vec<TemplateNode>),
    Object(Vec<(String, TemplateNode)>),
}

#[derive(Debug, Clone, PartialEq)]
enum TextPart {
    Text(String),
    Slot(Placeholder),
}

/// A JSON template with placeholders.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestTemplate(TemplateNode);

/// Why a template can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The placeholder is unknown.
    #[error("there is no placeholder {{{{{name}}}}}; there are {known}")]
    Unknown { name: String, known: String },
    /// A placeholder has no end.
    #[error("{text:?} has `{{{{` without `}}}}`")]
    Open { text: String },
}

impl RequestTemplate {
    /// Parses a template from JSON.
    pub fn parse(value: &Value) -> Result<Self, TemplateError> {
        Ok(Self(node(value)?))
    }

    /// Whether it has a place for something.
    pub fn has(&self, slot: Placeholder) -> bool {
        holds(&self.0, slot)
    }

    /// Parts of a question that it has no place for.
    pub fn unsupported_fields(&self, question: &Question) -> Vec<&'static str> {
        unsupported_fields(question, |slot| self.has(slot))
    }

    /// The JSON of a question; none if nothing is left of it.
    pub fn fill(&self, filling: &TemplateValues<'_>) -> Option<Value> {
        fill(&self.0, filling)
    }

    /// Fills the template as one text; none if the question lacks a field of it.
    pub(crate) fn fill_text(&self, filling: &TemplateValues<'_>) -> Option<String> {
        Some(as_text(&self.fill(filling)?))
    }
}

fn node(value: &Value) -> Result<TemplateNode, TemplateError> {
    Ok(match value {
        Value::String(text) => {
            let mut pieces = pieces(text)?;
            match (pieces.len(), pieces.pop()) {
                (1, Some(TextPart::Slot(slot))) => TemplateNode::Slot(slot),
                (0 | 1, _) => TemplateNode::Fixed(value.clone()),
                (_, Some(last)) => {
                    pieces.push(last);
                    TemplateNode::Text(pieces)
                }
                (_, None) => TemplateNode::Fixed(value.clone()),
            }
        }
        Value::Array(items) => {
            TemplateNode::List(items.iter().map(node).collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| Ok((key.clone(), node(value)?));
            TemplateNode::Object(fields.iter().map(field).collect::<Result<_, _>>()?)
        }
        other => TemplateNode::Fixed(other.clone()),
    })
}

fn pieces(text: &str) -> Result<Vec<TextPart>, TemplateError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let open = || TemplateError::Open { text: text.to_owned() };
        let (name, after) = after.split_once("}}").ok_or_else(open)?;
        if !before.is_empty() {
            pieces.push(TextPart::Text(before.to_owned()));
        }
        pieces.push(TextPart::Slot(slot(name.trim())?));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(TextPart::Text(rest.to_owned()));
    }
    Ok(pieces)
}

fn slot(name: &str) -> Result<Placeholder, TemplateError> {
    Placeholder::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Placeholder::ALL.iter().map(|slot| slot.name()).collect();
        TemplateError::Unknown { name: name.to_owned(), known: names.join(", ") }
    })
}

fn holds(node: &TemplateNode, wanted: Placeholder) -> bool {
    match node {
        TemplateNode::Fixed(_) => false,
        TemplateNode::Slot(slot) => *slot == wanted,
        TemplateNode::Text(pieces) => pieces.contains(&TextPart::Slot(wanted)),
        TemplateNode::List(items) => items.iter().any(|item| holds(item, wanted)),
        TemplateNode::Object(fields) => fields.iter().any(|(_, field)| holds(field, wanted)),
    }
}

fn fill(node: &TemplateNode, filling: &TemplateValues<'_>) -> Option<Value> {
    match node {
        TemplateNode::Fixed(value) => Some(value.clone()),
        TemplateNode::Slot(slot) => filling.value(*slot),
        TemplateNode::Text(pieces) => {
            let text = |piece: &TextPart| match piece {
                TextPart::Text(text) => text.clone(),
                TextPart::Slot(slot) => {
                    filling.value(*slot).map(|value| as_text(&value)).unwrap_or_default()
                }
            };
            Some(Value::String(pieces.iter().map(text).collect()))
        }
        TemplateNode::List(items) => {
            let filled: Vec<Value> = items.iter().filter_map(|item| fill(item, filling)).collect();
            (items.is_empty() || !filled.is_empty()).then_some(Value::Array(filled))
        }
        TemplateNode::Object(fields) => {
            let field =
                |(key, node): &(String, TemplateNode)| Some((key.clone(), fill(node, filling)?));
            let filled: Map<String, Value> = fields.iter().filter_map(field).collect();
            (fields.is_empty() || !filled.is_empty()).then_some(Value::Object(filled))
        }
    }
}

/// A value inside a text: lists with commas, texts without quotes.
fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(as_text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::request::RetrievalMode;
    use crate::target::QuestionFilter;

    fn question() -> Question {
        Question {
            mode: Some(RetrievalMode::Graph),
            filter: QuestionFilter {
                sources: vec!["wiki".to_owned(), "chat".to_owned()],
                ..QuestionFilter::default()
            },
            ..Question::new("who \"owns\" x?", 7)
        }
    }

    fn filled(template: Value) -> Option<Value> {
        let question = question();
        let filling = TemplateValues { question: &question, vector: Some(&[0.5, -1.0]) };
        RequestTemplate::parse(&template).unwrap().fill(&filling)
    }

    #[test]
    fn placeholders_keep_their_types() {
        let check = |template: Value, expected: Value| assert_eq!(filled(template), Some(expected));
        check(
            json!({ "q": "{{query}}", "n": "{{k}}", "in": "{{ sources }}", "r": "{{rationale}}" }),
            json!({ "q": "who \"owns\" x?", "n": 7, "in": ["wiki", "chat"], "r": false }),
        );
        check(json!({ "v": ["{{vector}}"] }), json!({ "v": [[0.5, -1.0]] }));
        check(json!("k={{k}} of {{sources}}"), json!("k=7 of wiki,chat"));
        check(
            json!({ "a": null, "b": [1, true], "c": {} }),
            json!({ "a": null, "b": [1, true], "c": {} }),
        );
        check(json!("{{mode}}"), json!("graph"));
    }

    #[test]
    fn unset_fields_are_omitted_with_their_key() {
        assert_eq!(
            filled(json!({ "q": "{{query}}", "where": { "and": [{ "type": "{{types}}" }] } })),
            Some(json!({ "q": "who \"owns\" x?" }))
        );
        assert_eq!(filled(json!("{{types}}")), None);
        assert_eq!(filled(json!("type:{{types}}")), Some(json!("type:")));
    }

    #[test]
    fn templates_with_unknown_fields_are_refused() {
        let error = RequestTemplate::parse(&json!({ "a": [{ "b": "{{qurey}}" }] })).unwrap_err();
        assert!(error.to_string().starts_with("there is no placeholder {{qurey}}"), "{error}");
        let error = RequestTemplate::parse(&json!("{{query")).unwrap_err();
        assert_eq!(error.to_string(), "\"{{query\" has `{{` without `}}`");
    }

    #[test]
    fn a_template_knows_what_it_has_no_place_for() {
        let template =
            RequestTemplate::parse(&json!({ "q": "{{query}}", "s": "in {{sources}}" })).unwrap();
        assert_eq!(template.unsupported_fields(&question()), ["mode"]);
        assert_eq!(unsupported_fields(&Question::new("a", 1), |_| false), Vec::<&str>::new());
    }

    proptest! {
        #[test]
        fn every_text_survives(text in ".{0,40}") {
            let question = Question::new(text.clone(), 1);
            let filling = TemplateValues { question: &question, vector: None };
            let template = RequestTemplate::parse(&json!({ "q": "{{query}}", "p": "<{{query}}>" })).unwrap();
            let filled = template.fill(&filling).unwrap();
            prop_assert_eq!(&filled["q"], &json!(text));
            prop_assert_eq!(&filled["p"], &json!(format!("<{text}>")));
        }

        #[test]
        fn no_template_brings_it_down(text in "[{}a-z ]{0,20}") {
            let question = question();
            let filling = TemplateValues { question: &question, vector: None };
            if let Ok(template) = RequestTemplate::parse(&json!(text)) {
                let _ = template.fill(&filling);
            }
        }
    }
}
