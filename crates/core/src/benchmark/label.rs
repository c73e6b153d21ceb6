//! What has to stand beside a number so that nobody can take it for another.

use super::{Abstention, Granularity, Summary};

/// What a run's numbers depend on.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    /// Which benchmark.
    pub benchmark: String,
    /// The dataset, by the name of its file or folder.
    pub dataset: String,
    /// SHA-256 of the file; of a folder, of its files in the order of their names.
    pub dataset_sha256: String,
    /// What the dataset is known as, where its hash is known.
    pub known_as: Option<String>,
    /// What counts as a document.
    pub granularity: Granularity,
    /// How many documents of a ranking are taken.
    pub k: usize,
    /// Which arms search: `hybrid` or `words`.
    pub retrieval: String,
    /// What is done with questions that nothing answers.
    pub abstention: Abstention,
    /// Whether a model answered.
    pub answered_by: Option<String>,
    /// The program.
    pub software: String,
    /// Names the source that rankings depend on.
    pub code: String,
    /// Names the numbers of the pipeline.
    pub settings: String,
    /// The model of the vectors.
    pub embedder: Option<String>,
    /// The seed of the random baseline.
    pub seed: u64,
}

/// A label in the words of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// What each number depends on, by name.
    pub facts: Vec<(&'static str, String)>,
    /// What a reader must know.
    pub warnings: Vec<String>,
}

/// Says what a summary's numbers are.
pub fn label(label: &Label, summary: &Summary) -> Labelled {
    let (least, middle, most) = summary.haystack.unwrap_or_default();
    let unit = match (label.benchmark.as_str(), label.granularity) {
        ("beir" | "trec", _) => "documents",
        (_, Granularity::Session) => "sessions",
        (_, Granularity::Turn) => "turns",
    };
    let sizes =
        if least == most { most.to_string() } else { format!("{least}-{most}, middle {middle}") };
    let known = label.known_as.as_ref().map_or(String::new(), |name| format!(" ({name})"));
    let mut facts = vec![
        ("dataset", format!("{}{known}", label.dataset)),
        ("sha256", label.dataset_sha256.clone()),
        ("questions", questions(summary)),
        ("k", format!("{} of {sizes} {unit} a question", label.k)),
        ("abstention", label.abstention.rule().to_owned()),
        ("retrieval", format!("{}, {} as documents", label.retrieval, unit)),
        ("software", format!("gbrain {} (code {})", label.software, label.code)),
        ("settings", label.settings.clone()),
        ("embedder", label.embedder.clone().unwrap_or_else(|| "none".to_owned())),
        ("seed", label.seed.to_string()),
    ];
    facts.push(match &label.answered_by {
        Some(model) => ("answers", format!("by {model}; not judged here")),
        None => ("answers", "none: retrieval only".to_owned()),
    });
    Labelled { facts, warnings: warnings(label, summary, least) }
}

fn questions(summary: &Summary) -> String {
    let left_out = summary.asked - summary.all.n;
    let mut text = format!("{} asked, {} in the means", summary.asked, summary.all.n);
    if left_out > 0 {
        text.push_str(&format!(", {left_out} left out"));
    }
    if summary.errors > 0 {
        text.push_str(&format!(", {} failed and count as not found", summary.errors));
    }
    text
}

fn warnings(label: &Label, summary: &Summary, least: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    if summary.asked > 0 && label.k >= least {
        warnings.push(format!(
            "k = {} reaches the smallest haystack ({least}): everything is retrieved, and recall there \
             says nothing",
            label.k
        ));
    }
    if summary.degraded > 0 {
        warnings.push(format!(
            "{} questions were answered with a stage missing: these are not the numbers of the whole \
             pipeline",
            summary.degraded
        ));
    }
    if summary.all.n > 0 && summary.all.n < 30 {
        warnings.push(format!("{} questions are few: look at the intervals", summary.all.n));
    }
    warnings
}

/// Words that a title of retrieval figures must not have.
const QA_WORDS: [&str; 7] =
    ["qa", "accuracy", "accurate", "score", "answers", "answered", "correctness"];

/// Why a title can't stand over figures.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{word}` in the title would call retrieval recall a score of answers, which nobody has judged"
)]
pub struct Mislabelled {
    /// The word.
    pub word: String,
}

/// Whether a title may stand over figures of retrieval.
pub fn check_title(title: &str) -> Result<(), Mislabelled> {
    let words = title.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    match words.into_iter().find(|word| QA_WORDS.contains(&word.as_str())) {
        Some(word) => Err(Mislabelled { word }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_is_never_called_a_score_of_answers() {
        for title in ["LongMemEval score", "QA accuracy 97%", "our QA-accuracy", "Correctness"] {
            assert!(check_title(title).is_err(), "{title}");
        }
        for title in ["retrieval on LongMemEval_S", "recall_all@5 by type", "Aqua"] {
            assert_eq!(check_title(title), Ok(()), "{title}");
        }
    }
}
