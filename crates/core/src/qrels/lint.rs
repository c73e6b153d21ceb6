//! Warnings about qrels that did not stop the reading.

use std::fmt;

/// A warning about qrels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QrelsWarning {
    /// The same judgement stood twice and was counted once.
    JudgedAgain { query: String, doc: String },
    /// Two queries ask the same.
    SameText { query: String, first: String },
    /// Queries without a relevant document: they score 0 with every ranking.
    NothingRelevant { queries: Vec<String> },
    /// Queries whose text is not in `queries.jsonl`.
    NoText { queries: Vec<String> },
    /// Listed as relevant and graded zero or less; the grade was taken.
    GradedAway { query: String, doc: String },
    /// Graded and not listed as relevant; the grade was taken.
    OnlyGraded { query: String, doc: String },
    /// The page that must come first is not among the relevant ones.
    TopNotRelevant { query: String, doc: String },
    /// A key that means nothing here.
    UnknownKey {
        /// Where: the file or a query.
        place: String,
        key: String,
    },
    /// A table without its header line.
    NoHeader,
}

impl QrelsWarning {
    /// A stable word for scripts.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::JudgedAgain { .. } => "judged_again",
            Self::SameText { .. } => "same_text",
            Self::NothingRelevant { .. } => "nothing_relevant",
            Self::NoText { .. } => "no_text",
            Self::GradedAway { .. } => "graded_away",
            Self::OnlyGraded { .. } => "only_graded",
            Self::TopNotRelevant { .. } => "top_not_relevant",
            Self::UnknownKey { .. } => "unknown_key",
            Self::NoHeader => "no_header",
        }
    }
}

impl fmt::Display for QrelsWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::JudgedAgain { query, doc } => {
                write!(f, "query `{query}` judges `{doc}` twice; it counts once")
            }
            Self::SameText { query, first } => {
                write!(f, "query `{query}` asks the same as `{first}`")
            }
            Self::NothingRelevant { queries } => {
                write!(
                    f,
                    "{} without a relevant document score 0: {}",
                    count(queries),
                    some(queries)
                )
            }
            Self::NoText { queries } => {
                write!(f, "{} have no text: {}", count(queries), some(queries))
            }
            Self::GradedAway { query, doc } => write!(
                f,
                "query `{query}` lists `{doc}` as relevant and grades it zero or less; the grade counts"
            ),
            Self::OnlyGraded { query, doc } => {
                write!(f, "query `{query}` grades `{doc}` without listing it; the grade counts")
            }
            Self::TopNotRelevant { query, doc } => {
                write!(f, "query `{query}` expects `{doc}` first and does not list it as relevant")
            }
            Self::UnknownKey { place, key } => write!(f, "{place}: key `{key}` means nothing here"),
            Self::NoHeader => f.write_str("the table has no header line; its first line counts"),
        }
    }
}

fn count(queries: &[String]) -> String {
    if queries.len() == 1 { "1 query".to_owned() } else { format!("{} queries", queries.len()) }
}

/// The first few, and how many more.
fn some(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(5).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(5);
    let tail = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{tail}", shown.join(", "))
}
