//! Rubrics: fixed dimensions, five bands and anchors, with a version and a hash.
//!
//! Guarantees: rubrics with the same hash have the same text. The text of a released version never
//! changes: a change is a new version.

use crate::hash::Hash;

/// A range of scores with its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoreBand {
    pub low: u8,
    pub high: u8,
    pub means: &'static str,
}

/// The five bands of every rubric, best first.
pub(crate) const BANDS: [ScoreBand; 5] = [
    ScoreBand {
        low: 9,
        high: 10,
        means: "exceptional: an expert would change nothing of substance",
    },
    ScoreBand { low: 7, high: 8, means: "good: does what was asked, with small gaps" },
    ScoreBand { low: 5, high: 6, means: "partial: useful, with a gap that its reader must fill" },
    ScoreBand { low: 3, high: 4, means: "weak: misses most of what was asked" },
    ScoreBand { low: 1, high: 2, means: "failed: wrong, empty or beside the point" },
];

/// An example of a score in one dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreAnchor {
    pub score: u8,
    pub looks_like: String,
}

/// A dimension of a rubric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RubricDimension {
    /// The key in replies and receipts.
    pub key: String,
    pub asks: String,
    pub anchors: Vec<ScoreAnchor>,
}

/// A set of dimensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rubric {
    pub id: String,
    pub version: u32,
    pub dimensions: Vec<RubricDimension>,
}

/// Why a rubric is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RubricError {
    #[error("no dimensions; name some, such as \"depth,sourcing\"")]
    Empty,
    /// More dimensions than a judge can distinguish.
    #[error("{0} dimensions; the maximum is {MOST}")]
    TooMany(usize),
    #[error("{0:?} is not a valid dimension name; use letters, digits and blanks, at most 40")]
    Name(String),
    #[error("the dimension `{0}` is named twice")]
    Twice(String),
    /// Similar to an existing dimension, so probably a typo.
    #[error("`{name}` is not a dimension of this rubric; did you mean `{nearest}`?")]
    Slip { name: String, nearest: String },
}

const MOST: usize = 10;

impl Rubric {
    /// A built-in rubric by its name, such as `task-v1`.
    pub fn built_in(name: &str) -> Option<Self> {
        [Self::task(), Self::qa()].into_iter().find(|rubric| rubric.name() == name)
    }

    /// `task-v1`: how well an output does a task.
    pub fn task() -> Self {
        let dimensions = [
            dimension(
                "goal_achievement",
                "Does the output do what the task asks for, all of it?",
                "touches the task and leaves its main part undone",
                "does every part of the task; one minor part is thin",
            ),
            dimension(
                "depth",
                "Does it go beyond the obvious where the task needs it?",
                "restates the task or lists headings without content",
                "explains causes, limits and trade-offs that matter here",
            ),
            dimension(
                "sourcing",
                "Are its claims backed by sources, evidence or reasoning that can be checked?",
                "claims facts and says nowhere where they come from",
                "backs every claim that matters; a minor one stands alone",
            ),
            dimension(
                "specificity",
                "Does it name concrete things: names, numbers, dates, steps, examples?",
                "could have been written without reading the task",
                "names the things at hand; a reader could act on most of it",
            ),
            dimension(
                "usefulness",
                "Could the person who asked use it as it is?",
                "has to be done again by the reader",
                "can be used after a light edit",
            ),
        ];
        Self { id: "task".to_owned(), version: 1, dimensions: dimensions.into() }
    }

    /// `qa-v1`: how well an answer agrees with the expected one.
    pub fn qa() -> Self {
        let dimensions = [
            correctness(),
            dimension(
                "directness",
                "Does the output answer the question, without padding or evasion?",
                "buries the answer in text that was not asked for",
                "answers at once, with one sentence too many",
            ),
        ];
        Self { id: "qa".to_owned(), version: 1, dimensions: dimensions.into() }
    }

    /// The name with its version.
    pub fn name(&self) -> String {
        format!("{}-v{}", self.id, self.version)
    }

    /// Hash of the complete text.
    pub(crate) fn sha(&self) -> Hash {
        Hash::of(self.words().as_bytes())
    }

    /// Whether it needs an expected answer.
    pub(crate) fn needs_expected(&self) -> bool {
        self.dimensions.contains(&correctness())
    }

    /// The index of a dimension.
    pub fn dimension_index(&self, key: &str) -> Option<usize> {
        self.dimensions.iter().position(|dimension| dimension.key == key)
    }

    /// A rubric with other dimensions: names of this rubric's dimensions select them, other names
    /// define new ones. A definition may contain its question, as in `tone: is it polite?`. If the
    /// text contains a semicolon, items are separated by semicolons, so that a question may contain
    /// commas.
    pub(crate) fn with_dimensions(&self, text: &str) -> Result<Self, RubricError> {
        let divider = if text.contains(';') { ';' } else { ',' };
        let items = text.split(divider).map(str::trim).filter(|item| !item.is_empty());
        let mut dimensions: Vec<RubricDimension> = Vec::new();
        for item in items {
            let dimension = self.selected_or_defined(item)?;
            if dimensions.iter().any(|other| other.key == dimension.key) {
                return Err(RubricError::Twice(dimension.key));
            }
            dimensions.push(dimension);
        }
        match dimensions.len() {
            0 => Err(RubricError::Empty),
            1..=MOST if dimensions == self.dimensions => Ok(self.clone()),
            1..=MOST => Ok(Self { id: "custom".to_owned(), version: 1, dimensions }),
            more => Err(RubricError::TooMany(more)),
        }
    }

    fn selected_or_defined(&self, item: &str) -> Result<RubricDimension, RubricError> {
        let (name, asks) = match item.split_once(':') {
            Some((name, asks)) => (name.trim(), Some(asks.trim()).filter(|asks| !asks.is_empty())),
            None => (item, None),
        };
        let key = key(name)?;
        if let Some(asks) = asks {
            return Ok(RubricDimension { key, asks: asks.to_owned(), anchors: Vec::new() });
        }
        if let Some(at) = self.dimension_index(&key) {
            return Ok(self.dimensions[at].clone());
        }
        let near = |dimension: &&RubricDimension| distance(&dimension.key, &key) <= 2;
        match self.dimensions.iter().find(near) {
            Some(near) => {
                Err(RubricError::Slip { name: name.to_owned(), nearest: near.key.clone() })
            }
            None => Ok(RubricDimension { key, asks: name.to_owned(), anchors: Vec::new() }),
        }
    }

    /// The text of the rubric for the prompt.
    pub fn words(&self) -> String {
        let mut words = String::from("Bands:\n");
        for ScoreBand { low, high, means } in BANDS {
            words.push_str(&format!("- {low}-{high}: {means}\n"));
        }
        words.push_str("Dimensions:\n");
        for RubricDimension { key, asks, anchors } in &self.dimensions {
            words.push_str(&format!("- {key}: {asks}\n"));
            for ScoreAnchor { score, looks_like } in anchors {
                words.push_str(&format!("  - {score}: {looks_like}\n"));
            }
        }
        words
    }
}

/// The dimension that needs an expected answer.
fn correctness() -> RubricDimension {
    dimension(
        "correctness",
        "Does the output say what the expected answer says? The expected answer is right. Other words \
         for the same thing are as good. If it says that the question can't be answered, so must the \
         output.",
        "names something related and not the expected answer",
        "says the expected answer with a detail that is off and does not change it",
    )
}

fn dimension(key: &str, asks: &str, three: &str, eight: &str) -> RubricDimension {
    let anchor = |score, looks_like: &str| ScoreAnchor { score, looks_like: looks_like.to_owned() };
    RubricDimension {
        key: key.to_owned(),
        asks: asks.to_owned(),
        anchors: vec![anchor(3, three), anchor(8, eight)],
    }
}

/// The key of a name: lower case, with underscores between words.
fn key(name: &str) -> Result<String, RubricError> {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-');
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let key = parts.collect::<Vec<_>>().join("_").to_ascii_lowercase();
    if key.is_empty() || key.len() > 40 || !name.chars().all(is_fit) {
        return Err(RubricError::Name(name.to_owned()));
    }
    Ok(key)
}

/// The Levenshtein distance of two words.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let rubric = Rubric::task().with_dimensions(text).unwrap();
        let keys: Vec<&str> = rubric.dimensions.iter().map(|d| d.key.as_str()).collect();
        assert_eq!(keys, expected);
    }

    #[track_caller]
    fn refused(text: &str, message: &str) {
        let error = Rubric::task().with_dimensions(text).unwrap_err();
        assert_eq!(error.to_string(), message);
    }

    /// A change of a rubric's text must change its version, and this test.
    #[test]
    fn words_are_fixed_by_their_version() {
        let sha = |rubric: Rubric| (rubric.name(), rubric.sha().short());
        assert_eq!(sha(Rubric::task()), ("task-v1".to_owned(), "faf91ae557849109".to_owned()));
        assert_eq!(sha(Rubric::qa()), ("qa-v1".to_owned(), "a4c6b4b4b79cd8d0".to_owned()));
        assert_eq!(Rubric::built_in("qa-v1"), Some(Rubric::qa()));
        assert_eq!(Rubric::built_in("qa-v2"), None);
    }

    #[test]
    fn bands_cover_every_score_once() {
        let mut scores: Vec<u8> = BANDS.iter().flat_map(|band| band.low..=band.high).collect();
        scores.sort_unstable();
        assert_eq!(scores, (super::super::LOWEST..=super::super::HIGHEST).collect::<Vec<_>>());
    }

    #[test]
    fn names_select_and_define() {
        check("depth, Goal achievement", &["depth", "goal_achievement"]);
        check("tone", &["tone"]);
        check("tone: is it polite, and kind?; depth", &["tone", "depth"]);
        let depth = Rubric::task().with_dimensions("depth").unwrap();
        assert_eq!(depth.dimensions[0], Rubric::task().dimensions[1]);
        assert_eq!(depth.name(), "custom-v1");
        assert_ne!(depth.sha(), Rubric::task().sha());
        let all = "goal_achievement,depth,sourcing,specificity,usefulness";
        assert_eq!(Rubric::task().with_dimensions(all), Ok(Rubric::task()));
    }

    #[test]
    fn slips_are_not_new_dimensions() {
        refused("dept", "`dept` is not a dimension of this rubric; did you mean `depth`?");
        refused(
            "Source ing",
            "`Source ing` is not a dimension of this rubric; did you mean `sourcing`?",
        );
        refused("depth,depth", "the dimension `depth` is named twice");
        refused(" , ", "no dimensions; name some, such as \"depth,sourcing\"");
        refused(
            "a/b",
            "\"a/b\" is not a valid dimension name; use letters, digits and blanks, at most 40",
        );
        refused(
            "aaaa,bbbb,cccc,dddd,eeee,ffff,gggg,hhhh,iiii,jjjj,kkkk",
            "11 dimensions; the maximum is 10",
        );
    }
}
