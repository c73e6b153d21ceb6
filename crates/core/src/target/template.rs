//! Templates: JSON with places for what is asked.
//!
//! A text that is one placeholder and nothing else becomes the value itself, with its type: `"{{k}}"` is a
//! number, `"{{sources}}"` a list. Placeholders inside a text become part of it. What the question does not
//! say is left out together with its key, and an object of which nothing is left goes too: servers
//! refuse `"filter": {}` as often as they take it.

use serde_json::{Map, Value, json};

use crate::named;

use super::Question;

/// What a template may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    Query,
    K,
    /// How many results, at least 10: with fewer, ranks 6 to 10 are never seen.
    KAtLeast10,
    /// The id of the query.
    Id,
    /// knowledge, graph or hybrid.
    Mode,
    /// auto, semantic or identifier.
    Kind,
    Workspace,
    Sources,
    Types,
    /// Only of these authors.
    Authors,
    /// Only in these states.
    States,
    /// Only with these labels.
    Labels,
    /// Only from this day on.
    After,
    /// Only up to this day.
    Before,
    /// Whether to tell edges.
    Rationale,
    /// Whether to tell passages.
    Highlights,
    /// The time of asking.
    Now,
    /// The question's vector by the built-in model.
    Vector,
}

named! {
    Slot {
        Query = "query",
        K = "k",
        KAtLeast10 = "k_at_least_10",
        Id = "id",
        Mode = "mode",
        Kind = "query_kind",
        Workspace = "workspace",
        Sources = "sources",
        Types = "types",
        Authors = "authors",
        States = "states",
        Labels = "labels",
        After = "after",
        Before = "before",
        Rationale = "rationale",
        Highlights = "highlights",
        Now = "now",
        Vector = "vector",
    }
}

/// What a question gives a template.
#[derive(Debug, Clone, Copy)]
pub struct Filling<'a> {
    pub question: &'a Question,
    /// Its vector, for templates that want it.
    pub vector: Option<&'a [f32]>,
}

impl Filling<'_> {
    /// The value of a slot; none if the question does not say.
    pub fn value(&self, slot: Slot) -> Option<Value> {
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
            Slot::Query => Some(json!(text)),
            Slot::K => Some(json!(k)),
            Slot::KAtLeast10 => Some(json!((*k).max(10))),
            Slot::Id => id.as_ref().map(|id| json!(id)),
            Slot::Mode => mode.map(|mode| json!(mode.name())),
            Slot::Kind => kind.map(|kind| json!(kind.name())),
            Slot::Workspace => workspace.as_ref().map(|workspace| json!(workspace)),
            Slot::Sources => list(&filter.sources),
            Slot::Types => list(&filter.types),
            Slot::Authors => list(&filter.authors),
            Slot::States => list(&filter.states),
            Slot::Labels => list(&filter.labels),
            Slot::After => filter.after.map(|date| json!(date.to_string())),
            Slot::Before => filter.before.map(|date| json!(date.to_string())),
            Slot::Rationale => Some(json!(rationale)),
            Slot::Highlights => Some(json!(highlights)),
            Slot::Now => now.map(|now| json!(now.to_string())),
            Slot::Vector => self.vector.map(|vector| json!(vector)),
        }
    }
}

/// What of a question a target has no place for, given the slots it has.
pub(super) fn not_asked(question: &Question, has: impl Fn(Slot) -> bool) -> Vec<&'static str> {
    let parts = [
        (Slot::Mode, "mode"),
        (Slot::Kind, "query_kind"),
        (Slot::Workspace, "workspace"),
        (Slot::Sources, "filter.sources"),
        (Slot::Types, "filter.types"),
        (Slot::Authors, "filter.authors"),
        (Slot::States, "filter.states"),
        (Slot::Labels, "filter.labels"),
        (Slot::After, "filter.after"),
        (Slot::Before, "filter.before"),
    ];
    let filling = Filling { question, vector: None };
    let is_lost = |slot| filling.value(slot).is_some() && !has(slot);
    parts.into_iter().filter(|(slot, _)| is_lost(*slot)).map(|(_, name)| name).collect()
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    /// As it is written.
    Fixed(Value),
    /// One placeholder, with its type.
    Slot(Slot),
    /// A text with placeholders in it.
    Text(Vec<Piece>),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Slot(Slot),
}

/// JSON with places for what is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Node);

/// Why a template can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// Nothing of this name can be asked for.
    #[error("there is no placeholder {{{{{name}}}}}; there are {known}")]
    Unknown { name: String, known: String },
    /// A placeholder has no end.
    #[error("{text:?} has `{{{{` without `}}}}`")]
    Open { text: String },
}

impl Template {
    /// Reads a template.
    pub fn parse(value: &Value) -> Result<Self, TemplateError> {
        Ok(Self(node(value)?))
    }

    /// Whether it has a place for something.
    pub fn has(&self, slot: Slot) -> bool {
        holds(&self.0, slot)
    }

    /// Parts of a question that it has no place for.
    pub fn not_asked(&self, question: &Question) -> Vec<&'static str> {
        not_asked(question, |slot| self.has(slot))
    }

    /// The JSON of a question; none if nothing is left of it.
    pub fn fill(&self, filling: &Filling<'_>) -> Option<Value> {
        fill(&self.0, filling)
    }

    /// The same as one text; none if the question does not say what it is made of.
    pub(crate) fn fill_text(&self, filling: &Filling<'_>) -> Option<String> {
        Some(as_text(&self.fill(filling)?))
    }
}

fn node(value: &Value) -> Result<Node, TemplateError> {
    Ok(match value {
        Value::String(text) => {
            let mut pieces = pieces(text)?;
            match (pieces.len(), pieces.pop()) {
                (1, Some(Piece::Slot(slot))) => Node::Slot(slot),
                (0 | 1, _) => Node::Fixed(value.clone()),
                (_, Some(last)) => {
                    pieces.push(last);
                    Node::Text(pieces)
                }
                (_, None) => Node::Fixed(value.clone()),
            }
        }
        Value::Array(items) => Node::List(items.iter().map(node).collect::<Result<_, _>>()?),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| Ok((key.clone(), node(value)?));
            Node::Object(fields.iter().map(field).collect::<Result<_, _>>()?)
        }
        other => Node::Fixed(other.clone()),
    })
}

fn pieces(text: &str) -> Result<Vec<Piece>, TemplateError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let open = || TemplateError::Open { text: text.to_owned() };
        let (name, after) = after.split_once("}}").ok_or_else(open)?;
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        pieces.push(Piece::Slot(slot(name.trim())?));
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

fn slot(name: &str) -> Result<Slot, TemplateError> {
    Slot::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Slot::ALL.iter().map(|slot| slot.name()).collect();
        TemplateError::Unknown { name: name.to_owned(), known: names.join(", ") }
    })
}

fn holds(node: &Node, wanted: Slot) -> bool {
    match node {
        Node::Fixed(_) => false,
        Node::Slot(slot) => *slot == wanted,
        Node::Text(pieces) => pieces.contains(&Piece::Slot(wanted)),
        Node::List(items) => items.iter().any(|item| holds(item, wanted)),
        Node::Object(fields) => fields.iter().any(|(_, field)| holds(field, wanted)),
    }
}

fn fill(node: &Node, filling: &Filling<'_>) -> Option<Value> {
    match node {
        Node::Fixed(value) => Some(value.clone()),
        Node::Slot(slot) => filling.value(*slot),
        Node::Text(pieces) => {
            let text = |piece: &Piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Slot(slot) => {
                    filling.value(*slot).map(|value| as_text(&value)).unwrap_or_default()
                }
            };
            Some(Value::String(pieces.iter().map(text).collect()))
        }
        Node::List(items) => {
            let filled: Vec<Value> = items.iter().filter_map(|item| fill(item, filling)).collect();
            (items.is_empty() || !filled.is_empty()).then_some(Value::Array(filled))
        }
        Node::Object(fields) => {
            let field = |(key, node): &(String, Node)| Some((key.clone(), fill(node, filling)?));
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
        let filling = Filling { question: &question, vector: Some(&[0.5, -1.0]) };
        Template::parse(&template).unwrap().fill(&filling)
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
    fn what_is_not_said_is_left_out_with_its_key() {
        assert_eq!(
            filled(json!({ "q": "{{query}}", "where": { "and": [{ "type": "{{types}}" }] } })),
            Some(json!({ "q": "who \"owns\" x?" }))
        );
        assert_eq!(filled(json!("{{types}}")), None);
        assert_eq!(filled(json!("type:{{types}}")), Some(json!("type:")));
    }

    #[test]
    fn what_can_not_be_filled_is_refused() {
        let error = Template::parse(&json!({ "a": [{ "b": "{{qurey}}" }] })).unwrap_err();
        assert!(error.to_string().starts_with("there is no placeholder {{qurey}}"), "{error}");
        let error = Template::parse(&json!("{{query")).unwrap_err();
        assert_eq!(error.to_string(), "\"{{query\" has `{{` without `}}`");
    }

    #[test]
    fn a_template_knows_what_it_has_no_place_for() {
        let template =
            Template::parse(&json!({ "q": "{{query}}", "s": "in {{sources}}" })).unwrap();
        assert_eq!(template.not_asked(&question()), ["mode"]);
        assert_eq!(not_asked(&Question::new("a", 1), |_| false), Vec::<&str>::new());
    }

    proptest! {
        #[test]
        fn every_text_survives(text in ".{0,40}") {
            let question = Question::new(text.clone(), 1);
            let filling = Filling { question: &question, vector: None };
            let template = Template::parse(&json!({ "q": "{{query}}", "p": "<{{query}}>" })).unwrap();
            let filled = template.fill(&filling).unwrap();
            prop_assert_eq!(&filled["q"], &json!(text));
            prop_assert_eq!(&filled["p"], &json!(format!("<{text}>")));
        }

        #[test]
        fn no_template_brings_it_down(text in "[{}a-z ]{0,20}") {
            let question = question();
            let filling = Filling { question: &question, vector: None };
            if let Ok(template) = Template::parse(&json!(text)) {
                let _ = template.fill(&filling);
            }
        }
    }
}
