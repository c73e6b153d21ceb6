//! Relational questions: which edges they ask for, from where, in which direction.
//!
//! A question is matched against phrases of general English, never against names. The names in it
//! are left as text here; the caller resolves them to pages.

use crate::link::{Direction, LinkType};
use crate::named;

named! {
    /// The family of a relational question, which limits the edges that may answer it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum RelationFamily {
        /// Work, founding, investing, advising, attending.
        People = "people",
        /// Ownership: `owned_by`, then `member_of`.
        Ownership = "ownership",
        /// Dependencies: which page needs, blocks or resolves which.
        Dependency = "dependency",
        /// Which work serves which goal.
        Alignment = "alignment",
        /// How two things are connected, by any edge.
        Connection = "connection",
    }
}

/// One step of a walk: which edges, and which way to follow them from the page at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkStep {
    /// The edges that may be followed.
    pub types: &'static [LinkType],
    /// [`Direction::Out`] follows `from → to`, [`Direction::In`] the other way.
    pub direction: Direction,
}

/// The relation that a question asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct RelationQuestion {
    pub family: RelationFamily,
    /// The names in the question, as written; two for a connection.
    pub seeds: Vec<String>,
    pub first: WalkStep,
    /// The second hop, where the answer may lie behind the first.
    pub second: Option<WalkStep>,
}

use Direction::{In, Out};
use LinkType::{
    Advises, AlignsWithGoal, Attended, BlockedBy, DependsOn, Founded, InvestedIn, MemberOf,
    Mentions, OwnedBy, Resolves, WorksAt,
};

/// A question pattern: the words before and after the seed, and the relation that they ask for.
struct QuestionPattern {
    before: &'static str,
    after: &'static str,
    family: RelationFamily,
    first: WalkStep,
    second: Option<WalkStep>,
}

const fn ask(
    before: &'static str,
    after: &'static str,
    family: RelationFamily,
    types: &'static [LinkType],
    direction: Direction,
) -> QuestionPattern {
    QuestionPattern { before, after, family, first: WalkStep { types, direction }, second: None }
}

const fn then(
    pattern: QuestionPattern,
    types: &'static [LinkType],
    direction: Direction,
) -> QuestionPattern {
    QuestionPattern { second: Some(WalkStep { types, direction }), ..pattern }
}

/// Alternatives are separated by `|`; the first pattern that matches wins, so the longer come first.
const PATTERNS: &[QuestionPattern] = &[
    ask(
        "who attended|who was at|who were at|who joined the meeting|attendees of|participants of|participants in|who participated in|who took part in",
        "",
        RelationFamily::People,
        &[Attended],
        In,
    ),
    ask(
        "what meetings did|which meetings did|what did|which events did",
        "attend|go to",
        RelationFamily::People,
        &[Attended],
        Out,
    ),
    ask(
        "who works at|who works for|who work at|who is employed at|who is employed by|employees of|staff of|who is at|people at|people who work at|people working at|who is working at|who worked at",
        "",
        RelationFamily::People,
        &[WorksAt, Founded],
        In,
    ),
    ask(
        "where does|where do|who does|where did|which company does|what company does",
        "work|work at|work for|work now",
        RelationFamily::People,
        &[WorksAt],
        Out,
    ),
    ask("who employs|employer of", "", RelationFamily::People, &[WorksAt], Out),
    ask(
        "who founded|who co-founded|who cofounded|who started|founders of|founder of|the founders of|who is the founder of|who are the founders of|who created",
        "",
        RelationFamily::People,
        &[Founded],
        In,
    ),
    ask(
        "what did|which company did|what company did|which companies did|what companies did|what has",
        "found|start|co-found|founded|started",
        RelationFamily::People,
        &[Founded],
        Out,
    ),
    ask(
        "who invested in|who has invested in|investors in|investors of|investor in|who backed|who funded|who backs|backers of|who are the investors in|which investors backed|which investors are in",
        "",
        RelationFamily::People,
        &[InvestedIn],
        In,
    ),
    ask(
        "what did|what has|which companies did|which companies has|what companies has|what companies did|what does",
        "invest in|invested in|back|backed|fund|funded",
        RelationFamily::People,
        &[InvestedIn],
        Out,
    ),
    ask(
        "portfolio of|investments of|investments by|what is the portfolio of",
        "",
        RelationFamily::People,
        &[InvestedIn],
        Out,
    ),
    ask(
        "who advises|who advised|who is advising|advisors of|advisers of|advisors to|advisers to|advisor to|adviser to|who are the advisors of|who are the advisers of",
        "",
        RelationFamily::People,
        &[Advises],
        In,
    ),
    ask(
        "who does|what does|which companies does|whom does|what companies does",
        "advise",
        RelationFamily::People,
        &[Advises],
        Out,
    ),
    then(
        ask(
            "who owns|who own|which team owns|what team owns|who is responsible for|who maintains|which team maintains|owner of|owners of|who is the owner of|who runs",
            "",
            RelationFamily::Ownership,
            &[OwnedBy],
            Out,
        ),
        &[MemberOf],
        In,
    ),
    ask(
        "what does|what do|which services does|what services does|which projects does|what is",
        "own|owned by|maintain|responsible for",
        RelationFamily::Ownership,
        &[OwnedBy],
        In,
    ),
    ask(
        "what is owned by|which services are owned by|which projects are owned by|services owned by|projects owned by",
        "",
        RelationFamily::Ownership,
        &[OwnedBy],
        In,
    ),
    ask(
        "who is in|who is on|members of|who are the members of|who belongs to|who is a member of",
        "",
        RelationFamily::Ownership,
        &[MemberOf],
        In,
    ),
    ask(
        "which team is|what team is|which team does|what team does|which teams is",
        "in|on|a member of|belong to|part of",
        RelationFamily::Ownership,
        &[MemberOf],
        Out,
    ),
    then(
        ask(
            "what depends on|which services depend on|what services depend on|who depends on|what relies on|what needs|dependants of|dependents of|what would break without|which projects depend on",
            "",
            RelationFamily::Dependency,
            &[DependsOn],
            In,
        ),
        &[DependsOn],
        In,
    ),
    then(
        ask(
            "what does|which services does|what services does|what do|on what does",
            "depend on|rely on|need|depend",
            RelationFamily::Dependency,
            &[DependsOn],
            Out,
        ),
        &[DependsOn],
        Out,
    ),
    then(
        ask(
            "dependencies of|what are the dependencies of",
            "",
            RelationFamily::Dependency,
            &[DependsOn],
            Out,
        ),
        &[DependsOn],
        Out,
    ),
    ask(
        "what is blocked by|what is blocked on|which tickets are blocked by|who is blocked by|what is waiting on|what waits for|which projects are blocked by",
        "",
        RelationFamily::Dependency,
        &[BlockedBy],
        In,
    ),
    ask("what does|which tickets does", "block", RelationFamily::Dependency, &[BlockedBy], In),
    ask(
        "what blocks|what is blocking|who blocks|who is blocking|which teams block|blockers of|what is holding up|which tickets block",
        "",
        RelationFamily::Dependency,
        &[BlockedBy],
        Out,
    ),
    ask(
        "what is",
        "blocked by|blocked on|waiting on|waiting for",
        RelationFamily::Dependency,
        &[BlockedBy],
        Out,
    ),
    ask(
        "what resolves|what resolved|what fixes|what fixed|what closes|what closed|which change resolves|which ticket resolves|who fixed|which pr resolves|which project resolves",
        "",
        RelationFamily::Dependency,
        &[Resolves],
        In,
    ),
    ask(
        "what does|what did|which issues does|which tickets does|which incidents does",
        "resolve|fix|close|solve",
        RelationFamily::Dependency,
        &[Resolves],
        Out,
    ),
    ask(
        "how does|how do|how is",
        "align with our goals|align with the goals|align with goals|aligned with our goals|support our goals|fit our goals|contribute to our goals",
        RelationFamily::Alignment,
        &[AlignsWithGoal],
        Out,
    ),
    ask(
        "which goals does|which goal does|what goal does|what goals does",
        "support|serve|align with|align to|contribute to|advance",
        RelationFamily::Alignment,
        &[AlignsWithGoal],
        Out,
    ),
    ask(
        "which projects align with|what aligns with|which work aligns with|which projects support|what supports the goal|which repos align with|which tickets align with|projects aligned with|what work supports|which projects serve|what serves",
        "",
        RelationFamily::Alignment,
        &[AlignsWithGoal],
        In,
    ),
];

const CONNECTIONS: &[(&str, &str)] = &[(
    "what connects|how are|what is the connection between|connection between|what links|how is",
    "and|with|to",
)];

/// Every typed edge except mentions.
const MENTION_FREE: &[LinkType] = match LinkType::ALL {
    [meaningful @ .., Mentions] => meaningful,
    _ => panic!("`Mentions` is the last type"),
};

/// Reads a relational question; none when it is not one.
pub fn parse(query: &str) -> Option<RelationQuestion> {
    let text = normalise(query);
    PATTERNS.iter().find_map(|pattern| match_pattern(&text, pattern)).or_else(|| connection(&text))
}

/// Any typed edge in both directions: the steps of a graph request without a relational question.
pub fn neighbourhood(seeds: Vec<String>) -> RelationQuestion {
    let step = WalkStep { types: LinkType::ALL, direction: Out };
    RelationQuestion { family: RelationFamily::Connection, seeds, first: step, second: None }
}

/// One space between words, no question mark at the end; letters keep their case for the seed.
fn normalise(query: &str) -> String {
    let words: Vec<&str> = query.split_whitespace().collect();
    words.join(" ").trim_end_matches(['?', '.', '!', ' ']).to_owned()
}

fn match_pattern(text: &str, pattern: &QuestionPattern) -> Option<RelationQuestion> {
    let rest = pattern
        .before
        .split('|')
        .filter_map(|lead| strip_lead(text, lead))
        .min_by_key(|r| r.len())?;
    let seed = if pattern.after.is_empty() { rest } else { strip_tail(rest, pattern.after)? };
    let seed = clean_seed(seed)?;
    Some(RelationQuestion {
        family: pattern.family,
        seeds: vec![seed],
        first: pattern.first,
        second: pattern.second,
    })
}

fn connection(text: &str) -> Option<RelationQuestion> {
    for (leads, joints) in CONNECTIONS {
        for rest in leads.split('|').filter_map(|lead| strip_lead(text, lead)) {
            let rest = ["related", "connected", "linked"]
                .iter()
                .find_map(|tail| strip_tail(rest, tail))
                .or((!text.to_lowercase().starts_with("how")).then_some(rest));
            let Some(rest) = rest else { continue };
            let pair = joints.split('|').find_map(|joint| rest.split_once(&format!(" {joint} ")));
            let Some((a, b)) = pair else { continue };
            let (Some(a), Some(b)) = (clean_seed(a), clean_seed(b)) else { continue };
            let step = WalkStep { types: MENTION_FREE, direction: Out };
            return Some(RelationQuestion {
                family: RelationFamily::Connection,
                seeds: vec![a, b],
                first: step,
                second: None,
            });
        }
    }
    None
}

/// The rest of the text if it starts with `lead` as whole words, ignoring case.
fn strip_lead<'t>(text: &'t str, lead: &str) -> Option<&'t str> {
    let head = text.get(..lead.len())?;
    let rest = text[lead.len()..].strip_prefix(' ')?;
    head.eq_ignore_ascii_case(lead).then_some(rest)
}

/// The text before one of `tails` if it ends with it as whole words; the longest wins.
fn strip_tail<'t>(text: &'t str, tails: &str) -> Option<&'t str> {
    let strip = |tail: &str| {
        let at = text.len().checked_sub(tail.len())?;
        let end = text.get(at..)?;
        let rest = text[..at].strip_suffix(' ')?;
        end.eq_ignore_ascii_case(tail).then_some(rest)
    };
    tails.split('|').filter_map(strip).min_by_key(|rest| rest.len())
}

/// A seed is a short name, not a pronoun or a clause.
fn clean_seed(seed: &str) -> Option<String> {
    const PRONOUNS: [&str; 14] = [
        "it", "him", "her", "them", "us", "me", "you", "this", "that", "these", "those", "i", "we",
        "they",
    ];
    let seed = seed.trim().trim_matches(['"', '\u{201c}', '\u{201d}', '\'']).trim();
    let lower = seed.to_lowercase();
    let fits = !seed.is_empty() && seed.chars().count() <= 120;
    (fits && !PRONOUNS.contains(&lower.as_str())).then(|| seed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, types: &[LinkType], direction: Direction, seed: &str) {
        let question = parse(query).unwrap_or_else(|| panic!("{query} is relational"));
        assert_eq!(question.first.types, types, "{query}");
        assert_eq!(question.first.direction, direction, "{query}");
        assert_eq!(question.seeds, [seed], "{query}");
    }

    #[test]
    fn questions_and_their_directions() {
        check(
            "Who attended Acme Board Meeting Q1 2025?",
            &[Attended],
            In,
            "Acme Board Meeting Q1 2025",
        );
        check("who works at Lanternworks", &[WorksAt, Founded], In, "Lanternworks");
        check("Where does Ada Quill work?", &[WorksAt], Out, "Ada Quill");
        check("What did Ada Quill invest in?", &[InvestedIn], Out, "Ada Quill");
        check("who owns the berth planner?", &[OwnedBy], Out, "the berth planner");
        check("What depends on tide-router?", &[DependsOn], In, "tide-router");
        check("What does tide-router depend on?", &[DependsOn], Out, "tide-router");
        check("what is blocked by HRB-112", &[BlockedBy], In, "HRB-112");
        check("What is HRB-112 blocked by?", &[BlockedBy], Out, "HRB-112");
        check("what does HRB-112 block", &[BlockedBy], In, "HRB-112");
        check("How does Night Ferry align with our goals?", &[AlignsWithGoal], Out, "Night Ferry");
        check("Which projects align with Zero Idle?", &[AlignsWithGoal], In, "Zero Idle");
    }

    #[test]
    fn two_seeds_are_connected() {
        let question = parse("How are Ada Quill and Lanternworks related?").unwrap();
        assert_eq!(question.family, RelationFamily::Connection);
        assert_eq!(question.seeds, ["Ada Quill", "Lanternworks"]);
    }

    #[test]
    fn other_questions_are_not_relational() {
        for query in
            ["who is Ada Quill", "who owns", "who owns it?", "works at", "", "How are you?"]
        {
            assert_eq!(parse(query), None, "{query}");
        }
    }

    #[test]
    fn non_ascii_text_does_not_split_a_character() {
        assert!(parse("who ownsé").is_none());
        check("who founded Éclair Où?", &[Founded], In, "Éclair Où");
    }
}
