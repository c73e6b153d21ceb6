//! Suggested resolutions of findings: text and commands to paste, never run automatically.
//!
//! Only existing commands are used: a page is read, edited and put back. Page names are quoted and
//! start with their source, so that a slug cannot be a flag, end the command or start another.
//! Commands never contain text of statements. Not here: commands for takes and timelines, which are
//! edited within their page.

use crate::page::slug::type_of_slug;

use super::pair::{Pair, PairKind, Statement, StatementLocation};
use super::verdict::{Judgement, ResolutionKind, StatementRelation};

/// A suggested resolution of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolutionSuggestion {
    pub kind: ResolutionKind,
    pub advice: String,
    pub command: String,
}

impl ResolutionSuggestion {
    /// The resolution for a judged pair; none if there is nothing to resolve.
    pub fn of(pair: &Pair, judgement: &Judgement) -> Option<Self> {
        let kind = kind_of(pair, judgement)?;
        Some(match kind {
            ResolutionKind::TemporalSupersede => superseded(pair),
            ResolutionKind::TakesSupersede => take_superseded(pair),
            ResolutionKind::DreamSynthesize => {
                let advice = "decide which page is right and correct the other".to_owned();
                Self { kind, advice, command: review(pair) }
            }
            ResolutionKind::LogTimelineChange => {
                let advice = "write the change into the timeline of the page it belongs to";
                Self { kind, advice: advice.to_owned(), command: review(pair) }
            }
            ResolutionKind::FlagForReview => {
                let advice = "review both: the newer may be a mistake".to_owned();
                Self { kind, advice, command: review(pair) }
            }
            ResolutionKind::TakesMarkDebate | ResolutionKind::ManualReview => {
                let advice = "review both and correct the one that is wrong".to_owned();
                Self { kind, advice, command: review(pair) }
            }
        })
    }
}

fn kind_of(pair: &Pair, judgement: &Judgement) -> Option<ResolutionKind> {
    Some(match judgement.verdict {
        StatementRelation::No => return None,
        StatementRelation::Supersession => ResolutionKind::TemporalSupersede,
        StatementRelation::Regression | StatementRelation::NegationArtifact => {
            ResolutionKind::FlagForReview
        }
        StatementRelation::Evolution => ResolutionKind::LogTimelineChange,
        StatementRelation::Contradiction => match (pair.kind, judgement.resolution) {
            (PairKind::PassageTake, _) => ResolutionKind::TakesSupersede,
            (PairKind::CrossPage, Some(ResolutionKind::TakesMarkDebate)) => {
                ResolutionKind::ManualReview
            }
            // Such a pair has no take.
            (PairKind::CrossPage, Some(ResolutionKind::TakesSupersede)) => {
                ResolutionKind::ManualReview
            }
            (PairKind::CrossPage, Some(kind)) => kind,
            (PairKind::CrossPage, None) if is_entity(&pair.a) || is_entity(&pair.b) => {
                ResolutionKind::DreamSynthesize
            }
            (PairKind::CrossPage, None) => ResolutionKind::ManualReview,
        },
    })
}

/// Whether a page describes an entity such as a person or a company.
fn is_entity(statement: &Statement) -> bool {
    let kind = type_of_slug(statement.key.slug.as_str());
    matches!(kind, Some("person" | "company" | "deal" | "project"))
}

/// The older and the newer statement, if both are dated and the dates differ.
fn by_age(pair: &Pair) -> Option<(&Statement, &Statement)> {
    let (a, b) = (pair.a.date?.day, pair.b.date?.day);
    match a.cmp(&b) {
        std::cmp::Ordering::Less => Some((&pair.a, &pair.b)),
        std::cmp::Ordering::Greater => Some((&pair.b, &pair.a)),
        std::cmp::Ordering::Equal => None,
    }
}

fn superseded(pair: &Pair) -> ResolutionSuggestion {
    let kind = ResolutionKind::TemporalSupersede;
    let Some((older, newer)) = by_age(pair) else {
        let advice = "find out which is newer and mark the other as replaced".to_owned();
        return ResolutionSuggestion { kind, advice, command: review(pair) };
    };
    let day = newer.date.map(|dated| dated.day.to_string()).unwrap_or_default();
    let advice = match older.place {
        StatementLocation::Take { row } => retire(row, &format!("until: {day}")),
        StatementLocation::Passage { .. } => {
            format!("note in the older page that it was valid until {day}")
        }
    };
    let command = match older.place {
        StatementLocation::Take { .. } => edit(older),
        StatementLocation::Passage { .. } => review(pair),
    };
    ResolutionSuggestion { kind, advice, command }
}

fn take_superseded(pair: &Pair) -> ResolutionSuggestion {
    let kind = ResolutionKind::TakesSupersede;
    let take = [&pair.a, &pair.b].into_iter().find_map(|one| match one.place {
        StatementLocation::Take { row } => Some((one, row)),
        StatementLocation::Passage { .. } => None,
    });
    match take {
        Some((take, row)) => {
            let advice = format!("if the passage is right, {}", retire(row, "a new take"));
            ResolutionSuggestion { kind, advice, command: edit(take) }
        }
        None => ResolutionSuggestion {
            kind,
            advice: "review both and correct the one that is wrong".to_owned(),
            command: review(pair),
        },
    }
}

fn retire(row: u32, with: &str) -> String {
    format!("in the frontmatter, set take {row} to active: false with {with}")
}

/// A command that prints both pages, or the only one.
fn review(pair: &Pair) -> String {
    let (a, b) = (quoted(&pair.a), quoted(&pair.b));
    if a == b { format!("gbrain get {a}") } else { format!("gbrain get {a}; gbrain get {b}") }
}

/// A command that edits a page.
fn edit(statement: &Statement) -> String {
    let key = quoted(statement);
    format!(
        "f=$(mktemp) && gbrain get {key} > \"$f\" && ${{EDITOR:-vi}} \"$f\" && gbrain put {key} \"$f\""
    )
}

/// A page key as one quoted shell word. It starts with its source, so it cannot be a flag.
fn quoted(statement: &Statement) -> String {
    format!("'{}'", statement.key.to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;

    use super::super::pair::tests::passage;
    use super::super::pair::{StatementDate, StatementDateOrigin};
    use super::super::verdict::Severity;
    use super::*;

    fn judged(verdict: StatementRelation) -> Judgement {
        Judgement::new(verdict, Severity::Medium, "", 0.9)
    }

    fn cross(a: &str, b: &str) -> Pair {
        Pair::new(PairKind::CrossPage, passage(a, 0, "x"), passage(b, 0, "y"), 1.0)
    }

    fn on(statement: Statement, year: i16) -> Statement {
        let day = date(year, 5, 1);
        Statement {
            date: Some(StatementDate { day, from: StatementDateOrigin::Page }),
            ..statement
        }
    }

    #[track_caller]
    fn check(pair: &Pair, judgement: &Judgement, kind: ResolutionKind, command: &str) {
        let found = ResolutionSuggestion::of(pair, judgement).unwrap();
        assert_eq!((found.kind, found.command.as_str()), (kind, command));
    }

    #[test]
    fn by_verdict() {
        use ResolutionKind as R;
        use StatementRelation as C;
        let notes = cross("notes/a", "notes/b");
        let both = "gbrain get 'default::notes/a'; gbrain get 'default::notes/b'";
        assert_eq!(ResolutionSuggestion::of(&notes, &judged(C::No)), None);
        check(&notes, &judged(C::Contradiction), R::ManualReview, both);
        check(&notes, &judged(C::Regression), R::FlagForReview, both);
        check(&notes, &judged(C::NegationArtifact), R::FlagForReview, both);
        check(&notes, &judged(C::Evolution), R::LogTimelineChange, both);
        check(&notes, &judged(C::Supersession), R::TemporalSupersede, both);
        for hint in [R::TakesMarkDebate, R::TakesSupersede] {
            let hinted = judged(C::Contradiction).with_resolution(Some(hint));
            check(&notes, &hinted, R::ManualReview, both);
        }
        let hinted = judged(C::Contradiction).with_resolution(Some(R::FlagForReview));
        check(&notes, &hinted, R::FlagForReview, both);
        check(
            &cross("notes/a", "people/ada"),
            &judged(C::Contradiction),
            R::DreamSynthesize,
            "gbrain get 'default::notes/a'; gbrain get 'default::people/ada'",
        );
    }

    #[test]
    fn a_take_is_edited_in_its_page() {
        let take = Statement {
            place: StatementLocation::Take { row: 2 },
            ..passage("people/ada", 0, "x")
        };
        let pair =
            |take: Statement, page: Statement| Pair::new(PairKind::PassageTake, take, page, 1.0);
        let page = passage("people/ada", 0, "y");
        let edit = "f=$(mktemp) && gbrain get 'default::people/ada' > \"$f\" && ${EDITOR:-vi} \"$f\" && \
            gbrain put 'default::people/ada' \"$f\"";
        let undated = pair(take.clone(), page.clone());
        check(
            &undated,
            &judged(StatementRelation::Contradiction),
            ResolutionKind::TakesSupersede,
            edit,
        );
        let older_take = pair(on(take.clone(), 2020), on(page.clone(), 2024));
        let found = ResolutionSuggestion::of(&older_take, &judged(StatementRelation::Supersession))
            .unwrap();
        assert_eq!(found.command, edit);
        assert!(found.advice.contains("take 2") && found.advice.contains("until: 2024-05-01"));
        let older_page = pair(on(take, 2024), on(page, 2020));
        let found = ResolutionSuggestion::of(&older_page, &judged(StatementRelation::Supersession))
            .unwrap();
        assert_eq!(found.command, "gbrain get 'default::people/ada'");
    }

    #[test]
    fn hostile_slugs_stay_words() {
        let pair = cross("--force", "a'; rm -rf ~; '");
        let found =
            ResolutionSuggestion::of(&pair, &judged(StatementRelation::Contradiction)).unwrap();
        assert_eq!(
            found.command,
            r"gbrain get 'default::--force'; gbrain get 'default::a'\''; rm -rf ~; '\'''"
        );
    }

    /// The words of a line of shell that has single quotes only.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
        let mut chars = line.chars();
        while let Some(c) = chars.next() {
            match (c, is_quoted) {
                ('\'', _) => is_quoted = !is_quoted,
                ('\\', false) => word.extend(chars.next()),
                (' ', false) => words.push(std::mem::take(&mut word)),
                (c, _) => word.push(c),
            }
        }
        assert!(!is_quoted, "a quote is open");
        words.push(word);
        words
    }

    proptest! {
        #[test]
        fn a_slug_is_one_word(slug in "[-a-z'\"$`;&|<>() \\\\]{1,20}") {
            let statement = passage(&format!("x{slug}"), 0, "t");
            let line = format!("gbrain get {}", quoted(&statement));
            prop_assert_eq!(words(&line), ["gbrain".to_owned(), "get".to_owned(), statement.key.to_string()]);
        }
    }
}
