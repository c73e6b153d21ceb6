//! Chats as collections whose documents are turns: LoCoMo and LongMemEval.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::read::GzDecoder;
use gbrain_core::qrels::Judgement;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::Value;

use super::collection::{Document, Query};

/// Documents and the questions about them.
pub(crate) struct Corpus {
    pub(crate) documents: Vec<Document>,
    pub(crate) queries: Vec<Query>,
}

#[derive(Deserialize)]
struct Conversation {
    qa: Vec<Asked>,
    conversation: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct Asked {
    question: String,
    #[serde(default)]
    evidence: Vec<String>,
}

/// LoCoMo: a corpus per conversation, a document per turn, said by its speaker. Questions whose
/// evidence names a turn that is there; adversarial ones too, whose evidence is what they twist.
pub(crate) fn locomo(data: &Path) -> Result<Vec<Corpus>> {
    let path = data.join("locomo/dev5.json");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let conversations: Vec<Conversation> = serde_json::from_str(&text)?;
    Ok(conversations.into_iter().map(of_conversation).collect())
}

fn of_conversation(conversation: Conversation) -> Corpus {
    let sessions = conversation.conversation.values().filter_map(Value::as_array);
    let documents: Vec<Document> = sessions
        .flatten()
        .filter_map(|turn| {
            let said = |key: &str| turn.get(key).and_then(Value::as_str).unwrap_or_default();
            let text = format!("{}: {} {}", said("speaker"), said("text"), said("blip_caption"));
            Some(Document {
                id: slug(turn.get("dia_id")?.as_str()?),
                title: String::new(),
                text: text.trim().to_owned(),
            })
        })
        .collect();
    let is_there = |id: &String| documents.iter().any(|document| document.id == *id);
    let queries = conversation.qa.into_iter().enumerate().filter_map(|(at, asked)| {
        let named = asked.evidence.iter().flat_map(|ids| ids.split([';', ' ', ',']));
        let relevant: BTreeSet<String> = named.map(slug).filter(is_there).collect();
        (!relevant.is_empty()).then(|| Query {
            id: at.to_string(),
            text: asked.question,
            judgements: judged(relevant),
        })
    });
    Corpus { queries: queries.collect(), documents }
}

#[derive(Deserialize)]
struct Haystack {
    question_id: String,
    question: String,
    haystack_sessions: Vec<Vec<Turn>>,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    content: String,
    #[serde(default)]
    has_answer: bool,
}

/// LongMemEval: what users say in all sessions of the file is one corpus; a question's answers are
/// the turns of its own sessions that are marked so. Questions without one are left out. Sessions
/// come again under other ids, so turns of equal text are one document; and gold ids tell that
/// they are gold, so documents are numbered.
pub(crate) fn longmemeval(data: &Path) -> Result<Vec<Corpus>> {
    let path = data.join("longmemeval/dev_oracle.json.gz");
    let file = fs::File::open(&path).with_context(|| path.display().to_string())?;
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text)?;
    let haystacks: Vec<Haystack> = serde_json::from_str(&text)?;
    let mut queries = Vec::new();
    let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
    for haystack in haystacks {
        let mut relevant = BTreeSet::new();
        let turns = haystack.haystack_sessions.into_iter().flatten();
        for turn in turns.filter(|turn| turn.role == "user") {
            let next = numbers.len();
            let number = *numbers.entry(turn.content).or_insert(next);
            if turn.has_answer {
                relevant.insert(format!("t{number}"));
            }
        }
        if !relevant.is_empty() {
            let (id, text) = (haystack.question_id, haystack.question);
            queries.push(Query { id, text, judgements: judged(relevant) });
        }
    }
    let document = |(text, number): (String, usize)| Document {
        id: format!("t{number}"),
        title: String::new(),
        text,
    };
    Ok(vec![Corpus { documents: numbers.into_iter().map(document).collect(), queries }])
}

/// An id that can be a slug.
fn slug(id: &str) -> String {
    id.trim().to_lowercase().replace([':', '_'], "-")
}

fn judged(relevant: BTreeSet<String>) -> Vec<Judgement> {
    relevant.into_iter().map(|doc| Judgement { doc, grade: 1.0 }).collect()
}
