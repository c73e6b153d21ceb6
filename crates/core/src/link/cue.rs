//! What the words round a link say it means.
//!
//! A cue is a short pattern of English words with the relation that it states when it stands before
//! or after a link. Which cues apply depends on what the page is about and what the link points to:
//! `founded by` on a company's page and `founder of` on a person's are the same edge, seen from its
//! two ends. No cue, no relation.

use std::ops::Range;

use jiff::civil::Date;

use super::Direction::{self, In, Out};
use super::LinkType::{self, *};
use super::when::when;
use crate::page::slug;

/// What a page is about, as far as relations go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Person,
    Company,
    Meeting,
    Team,
    /// A thing that is built, owned and depended on.
    Asset,
    /// A piece of work that blocks and resolves.
    Ticket,
    Goal,
    /// Something that takes part in no relation of ours.
    Other,
    /// The target is a title: it could be anything.
    Unknown,
}

impl Class {
    fn of_type(page_type: &str) -> Self {
        match page_type {
            "person" => Self::Person,
            "company" | "organization" | "organisation" | "fund" | "startup" => Self::Company,
            "meeting" | "event" => Self::Meeting,
            "team" => Self::Team,
            "service" | "component" | "repo" | "project" | "system" | "product" | "api"
            | "document" => Self::Asset,
            "ticket" | "issue" | "incident" | "change" | "task" | "bug" => Self::Ticket,
            "goal" | "objective" => Self::Goal,
            _ => Self::Other,
        }
    }

    pub(super) fn of_target(target: &str) -> Self {
        let path = target.rsplit("::").next().unwrap_or(target);
        match slug::type_of_slug(path) {
            Some(page_type) => Self::of_type(page_type),
            None if path.contains('/') => Self::Other,
            None => Self::Unknown,
        }
    }
}

/// What a sentence says about one link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Guess {
    pub(super) link_type: LinkType,
    pub(super) direction: Direction,
    pub(super) confidence: f64,
    pub(super) since: Option<Date>,
    pub(super) until: Option<Date>,
}

impl Guess {
    pub(super) fn mention() -> Self {
        Self { link_type: Mentions, direction: Out, confidence: 0.5, since: None, until: None }
    }
}

/// Where a cue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// A pattern and the relation it states.
///
/// Words of a pattern are separated by blanks. `a|b` is either, `invest*` any word that starts so,
/// and `~` up to four words of any kind.
struct Cue {
    side: Side,
    pattern: &'static str,
    link_type: LinkType,
    direction: Direction,
    confidence: f64,
}

const fn before(
    pattern: &'static str,
    link_type: LinkType,
    direction: Direction,
    confidence: f64,
) -> Cue {
    Cue { side: Side::Before, pattern, link_type, direction, confidence }
}

const fn after(
    pattern: &'static str,
    link_type: LinkType,
    direction: Direction,
    confidence: f64,
) -> Cue {
    Cue { side: Side::After, pattern, link_type, direction, confidence }
}

/// What a person's page says of a company.
const PERSON_COMPANY: &[Cue] = &[
    before("founder|cofounder|co-founder ~ of|at|behind", Founded, Out, 0.85),
    before("founder|cofounder|co-founder", Founded, Out, 0.75),
    before("founded|cofounded|co-founded|co-founds|founds", Founded, Out, 0.85),
    before("founding|starting|launching|incorporat*", Founded, Out, 0.75),
    before("started|launched|launches", Founded, Out, 0.7),
    before("invest*|reinvest* ~ in", InvestedIn, Out, 0.85),
    before("invest*", InvestedIn, Out, 0.72),
    before("backed|backs|backing|backer|backers", InvestedIn, Out, 0.8),
    before(
        "lead|leads|led|co-led|co-leads|leading ~ round|seed|series|investment|financing",
        InvestedIn,
        Out,
        0.85,
    ),
    before(
        "participat*|joined|joins ~ round|seed|series|extension|financing",
        InvestedIn,
        Out,
        0.82,
    ),
    before("check|cheque ~ into|in|to", InvestedIn, Out, 0.8),
    before("portfolio", InvestedIn, Out, 0.72),
    before("bet|bets|stake|position ~ on|in", InvestedIn, Out, 0.75),
    before("board ~ seat|seats|member|observer|director", InvestedIn, Out, 0.66),
    before("board|boards ~ of|at", InvestedIn, Out, 0.66),
    before("observer ~ at|of|on", InvestedIn, Out, 0.66),
    after("seed|series ~ round|investment", InvestedIn, Out, 0.66),
    after("series a|b|c|d|e", InvestedIn, Out, 0.64),
    before("advis*", Advises, Out, 0.85),
    before("counsel*|mentor*|consult*", Advises, Out, 0.72),
    after("as ~ advis*", Advises, Out, 0.86),
    after("advis*", Advises, Out, 0.72),
    before(
        "partner|engineer|developer|designer|manager|director|president|officer|analyst|associate|principal|scientist|researcher|lead|head|ceo|cto|cfo|coo|cmo|vp|chief|employee|operator|recruiter|marketer|member|architect|executive ~ at|of|for|with|in",
        WorksAt,
        Out,
        0.8,
    ),
    before("work|works|working|worked|employed ~ at|for|with", WorksAt, Out, 0.82),
    before("joined|joins|joining|rejoined|hired", WorksAt, Out, 0.76),
    before("role|position|job|tenure|career|time ~ at|with", WorksAt, Out, 0.7),
    before("leads|leading|runs|running|heads|heading ~ at|of", WorksAt, Out, 0.76),
    before("promot* ~ at", WorksAt, Out, 0.76),
    before("employer", WorksAt, Out, 0.8),
    before("at", WorksAt, Out, 0.62),
];

/// What a company's page says of a person.
const COMPANY_PERSON: &[Cue] = &[
    before("founded|cofounded|co-founded|started|launched|incorporated ~ by", Founded, In, 0.85),
    before("founder|founders|cofounder|cofounders|co-founder|co-founders", Founded, In, 0.82),
    after(
        "founded|cofounded|co-founded|founder|cofounder|co-founder|incorporat*",
        Founded,
        In,
        0.8,
    ),
    after("started ~ company|it|after|in", Founded, In, 0.72),
    before("invest* ~ from|by|include|includes|including", InvestedIn, In, 0.85),
    before("investor|investors|angel|angels|backer|backers", InvestedIn, In, 0.83),
    before("backed|funded|financed|seeded ~ by", InvestedIn, In, 0.85),
    before(
        "backing|funding|capital|checks|cheques|participation|money ~ from|by",
        InvestedIn,
        In,
        0.83,
    ),
    before("round|seed|series ~ led|with|from|by", InvestedIn, In, 0.83),
    before("led by", InvestedIn, In, 0.62),
    after("invest*|backed|backs", InvestedIn, In, 0.8),
    after(
        "led|leads|co-led|participat*|joined ~ round|seed|series|financing",
        InvestedIn,
        In,
        0.83,
    ),
    before("advis*", Advises, In, 0.83),
    after("advis*", Advises, In, 0.83),
    before("mentor*|counsel*|guidance", Advises, In, 0.72),
    before(
        "ceo|cto|cfo|coo|cmo|vp|president|engineer|engineers|developer|designer|manager|director|head|lead|chief|partner|partners|scientist|researcher|employee|employees|recruiter|hire|hires|operator|architect|executive|team",
        WorksAt,
        In,
        0.78,
    ),
    before(
        "hired|hires|hiring|recruited|employs|onboarded|promoted|appointed|appoints",
        WorksAt,
        In,
        0.8,
    ),
    before("led|run|headed|managed ~ by", WorksAt, In, 0.7),
    after(
        "as ~ ceo|cto|cfo|coo|cmo|vp|president|engineer|developer|designer|manager|director|head|lead|chief|partner|scientist|researcher|hire|employee|executive",
        WorksAt,
        In,
        0.82,
    ),
    after("joined|joins|works|working|leads|runs|heads|oversees|manages|serves", WorksAt, In, 0.74),
    after(
        "ceo|cto|cfo|coo|cmo|vp|engineer|director|head|lead|chief|partner|partners",
        WorksAt,
        In,
        0.74,
    ),
];

/// What a company's page says of another company.
const COMPANY_COMPANY: &[Cue] = &[
    before("invest* ~ in", InvestedIn, Out, 0.82),
    before("portfolio|backed|backs", InvestedIn, Out, 0.74),
    before("backed|funded ~ by", InvestedIn, In, 0.82),
    before("investor|investors|backer|backers", InvestedIn, In, 0.76),
    before("round|seed|series ~ led|from|by", InvestedIn, In, 0.8),
    before("led|leads|co-led ~ round|seed|series|investment", InvestedIn, Out, 0.8),
    before("depends|depend|relies|rely|built ~ on", DependsOn, Out, 0.76),
];

/// What a meeting's page says of a person.
const MEETING_PERSON: &[Cue] = &[];

/// What a person's page says of a meeting.
const PERSON_MEETING: &[Cue] = &[
    before(
        "attend*|joined|hosted|hosts|chaired|led|spoke|speaking|presented|participat*|facilitated|present",
        Attended,
        Out,
        0.82,
    ),
    after("attend*|attendee", Attended, Out, 0.7),
];

const PERSON_TEAM: &[Cue] = &[
    before("member ~ of", MemberOf, Out, 0.85),
    before(
        "on|in|joined|joins|leads|led|lead|head|manages|part|works ~ the|of|on|in|with",
        MemberOf,
        Out,
        0.78,
    ),
    before("joined|joins|leads|led|manages|on", MemberOf, Out, 0.76),
];

const TEAM_PERSON: &[Cue] = &[
    before(
        "member|members|led|lead|leads|manager|managed|engineer|engineers|includes|joined|run ~ by|are|is|include|includes",
        MemberOf,
        In,
        0.8,
    ),
    before(
        "member|members|lead|leads|manager|engineer|engineers|includes|consists",
        MemberOf,
        In,
        0.78,
    ),
    after(
        "leads|lead|joined|joins|manages|member|members|is|are ~ the|team|this|us|member|engineer",
        MemberOf,
        In,
        0.78,
    ),
    after("joined|joins|leads|manages", MemberOf, In, 0.76),
];

/// What a page about a thing says of a team or a person.
const ASSET_OWNER: &[Cue] = &[
    before("owned|maintained|operated|run|managed|developed|supported ~ by", OwnedBy, Out, 0.85),
    before(
        "owner|owners|maintainer|maintainers|owning|responsib*|accountable|dri",
        OwnedBy,
        Out,
        0.8,
    ),
    before("belongs ~ to", OwnedBy, Out, 0.82),
    before("on-call|contact|ask|escalate|ownership ~ to|is|with", OwnedBy, Out, 0.68),
    after(
        "owns|own|maintains|maintain|operates|runs|is|are ~ this|it|responsible|owner|accountable",
        OwnedBy,
        Out,
        0.8,
    ),
    after("owns|own|maintains|maintain|took|takes ~ ownership|over", OwnedBy, Out, 0.78),
];

const OWNER_ASSET: &[Cue] = &[
    before(
        "own|owns|owned|maintain|maintains|operate|operates|responsible ~ for|the|both",
        OwnedBy,
        In,
        0.82,
    ),
    before(
        "own|owns|maintain|maintains|operate|operates|owner|maintainer|owners|maintainers|responsible",
        OwnedBy,
        In,
        0.8,
    ),
    before("took|takes ~ ownership|over", OwnedBy, In, 0.78),
];

/// What a page about a thing or a piece of work says of another.
const WORK_WORK: &[Cue] = &[
    before(
        "depend|depends|depended|dependency|dependent|relies|rely|relying ~ on|upon",
        DependsOn,
        Out,
        0.85,
    ),
    before(
        "requires|require|needs|uses|using|consumes|calls|built on|reads from|writes to",
        DependsOn,
        Out,
        0.72,
    ),
    before("used|required|needed|consumed|called ~ by", DependsOn, In, 0.8),
    before("dependents|consumers|clients|downstream", DependsOn, In, 0.72),
    after("depends|depend|relies|rely ~ on|upon", DependsOn, In, 0.8),
    after("uses|calls|consumes|requires ~ this|it", DependsOn, In, 0.76),
    before("blocked|held|gated|stalled|delayed ~ by|on|behind|until", BlockedBy, Out, 0.85),
    before("waiting|waits|pending|wait ~ on|for", BlockedBy, Out, 0.8),
    before("blocks|blocking|gates|holds up", BlockedBy, In, 0.82),
    before("blocker|blockers", BlockedBy, Out, 0.74),
    after("blocks|is blocking|gates", BlockedBy, Out, 0.76),
    after("waits|waiting|blocked ~ on|for|by", BlockedBy, In, 0.76),
    before("fixes|fixed|closes|closed|resolves|resolved|solves|fix for|fix", Resolves, Out, 0.82),
    before("fixed|closed|resolved|solved|addressed|mitigated ~ by|in|with", Resolves, In, 0.84),
    after("fixes|fixed|closes|closed|resolves|resolved|solves", Resolves, In, 0.76),
];

const WORK_GOAL: &[Cue] = &[
    before("goal|goals|objective|objectives|okr", AlignsWithGoal, Out, 0.82),
    before(
        "supports|support|supporting|serves|serving|advances|aligned|aligns|align|contributes|contribute|towards|toward|service",
        AlignsWithGoal,
        Out,
        0.82,
    ),
    before("drives|enables|furthers|feeds", AlignsWithGoal, Out, 0.7),
];

const GOAL_WORK: &[Cue] = &[
    before(
        "supported|served|advanced|driven|achieved|delivered ~ by|through|via",
        AlignsWithGoal,
        In,
        0.82,
    ),
    before("contributors|projects|initiatives|aligned|contributing", AlignsWithGoal, In, 0.74),
    after("supports|serves|advances|contributes|aligns|is aligned", AlignsWithGoal, In, 0.8),
];

/// Words that say an edge is over.
const PAST: &[&str] =
    &["former", "formerly", "previously", "ex", "once", "left", "departed", "before", "previous"];

/// Words that say somebody was not there.
const ABSENT: &[&str] = &[
    "absent",
    "absence",
    "missed",
    "missing",
    "unable",
    "apologies",
    "declined",
    "skipped",
    "regrets",
    "couldn't",
];

/// What the page's own text says about how to read its links.
pub(super) struct Context {
    class: Class,
}

impl Context {
    pub(super) fn of(page_type: &str, _opening: &str) -> Self {
        Self { class: Class::of_type(page_type) }
    }

    /// Whether a link to such a page can be more than a mention here.
    pub(super) fn has_cues(&self, target: Class) -> bool {
        !self.cues(target).is_empty() || self.attends(target)
    }

    fn attends(&self, target: Class) -> bool {
        self.class == Class::Meeting && target == Class::Person
    }

    fn cues(&self, target: Class) -> &'static [&'static [Cue]] {
        use Class::*;
        match (self.class, target) {
            (Person, Company) => &[PERSON_COMPANY],
            (Person, Meeting) => &[PERSON_MEETING],
            (Person, Team) => &[PERSON_TEAM],
            (Person | Team, Asset) => &[OWNER_ASSET],
            (Company, Person) => &[COMPANY_PERSON],
            (Company, Company) => &[COMPANY_COMPANY],
            (Meeting, Person) => &[MEETING_PERSON],
            (Team, Person) => &[TEAM_PERSON],
            (Asset | Ticket, Team | Person) => &[ASSET_OWNER],
            (Asset | Ticket, Asset | Ticket) => &[WORK_WORK],
            (Asset | Ticket | Team, Goal) => &[WORK_GOAL],
            (Goal, Asset | Ticket | Team) => &[GOAL_WORK],
            (Asset | Ticket, Unknown) => &[ASSET_OWNER, WORK_WORK],
            (Team, Unknown) => &[TEAM_PERSON, OWNER_ASSET],
            _ => &[],
        }
    }
}

enum Token<'a> {
    Word(&'a str),
    /// A link, by its place in the sentence.
    Link,
    /// A mark that ends a clause.
    Mark,
}

/// A sentence as lower-case words, links and marks.
pub(super) struct Sentence {
    text: String,
    tokens: Vec<(TokenKind, Range<usize>)>,
    links: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Word,
    Link,
    Mark,
}

impl Sentence {
    /// Reads a range of `content`; `links` are the bytes of its links, in order.
    pub(super) fn new(content: &str, range: Range<usize>, links: &[Range<usize>]) -> Self {
        let mut sentence = Self { text: String::new(), tokens: Vec::new(), links: Vec::new() };
        let mut at = range.start;
        for link in links {
            sentence.words(&content[at..link.start.max(at)]);
            sentence.links.push(sentence.tokens.len());
            sentence.tokens.push((TokenKind::Link, 0..0));
            at = link.end;
        }
        sentence.words(&content[at.min(range.end)..range.end]);
        sentence
    }

    fn words(&mut self, text: &str) {
        let mut open = None;
        for char in text.chars().chain([' ']) {
            let inside = char.is_alphanumeric() || matches!(char, '-' | '\'' | '’');
            if inside {
                open.get_or_insert(self.text.len());
                self.text.extend(char.to_lowercase());
                continue;
            }
            if let Some(start) = open.take() {
                self.tokens.push((TokenKind::Word, start..self.text.len()));
            }
            if matches!(char, ';' | '—' | '–' | ':' | '(' | ')' | ',') {
                self.tokens.push((TokenKind::Mark, 0..0));
            }
        }
    }

    fn token(&self, at: usize) -> Token<'_> {
        let (kind, range) = &self.tokens[at];
        match kind {
            TokenKind::Word => Token::Word(&self.text[range.clone()]),
            TokenKind::Link => Token::Link,
            TokenKind::Mark => Token::Mark,
        }
    }

    /// What the sentence says of its link number `link`; nothing when it does not say.
    pub(super) fn guess(&self, context: &Context, link: usize, target: Class) -> Vec<Guess> {
        if context.attends(target) {
            return self.attendance(link);
        }
        let mut best: Option<(f64, &Cue)> = None;
        for cue in context.cues(target).iter().flat_map(|cues| cues.iter()) {
            let Some(distance) = self.distance(cue, link) else { continue };
            let score = cue.confidence - 0.012 * distance as f64;
            if best.is_none_or(|(known, _)| score > known) {
                best = Some((score, cue));
            }
        }
        let Some((score, cue)) = best.filter(|(score, _)| *score >= 0.55) else {
            return Vec::new();
        };
        let words = self.all_words();
        let dates = when(&words);
        let past = words.iter().any(|word| PAST.contains(word));
        let confidence = if past { score - 0.08 } else { score };
        let guess = Guess {
            link_type: cue.link_type,
            direction: cue.direction,
            confidence: confidence.max(0.5),
            since: dates.since,
            until: dates.until,
        };
        let mut guesses = vec![guess];
        if guess.link_type == Founded {
            // A founder works there until something says otherwise.
            guesses.push(Guess {
                link_type: WorksAt,
                confidence: guess.confidence - 0.05,
                ..guess
            });
        }
        guesses
    }

    fn attendance(&self, link: usize) -> Vec<Guess> {
        let place = self.links[link];
        let near = place.saturating_sub(6)..(place + 7).min(self.tokens.len());
        let absent = near
            .into_iter()
            .any(|at| matches!(self.token(at), Token::Word(word) if ABSENT.contains(&word)));
        if absent {
            return Vec::new();
        }
        vec![Guess {
            link_type: Attended,
            direction: In,
            confidence: 0.8,
            since: None,
            until: None,
        }]
    }

    fn all_words(&self) -> Vec<&str> {
        (0..self.tokens.len().min(400))
            .filter_map(|at| match self.token(at) {
                Token::Word(word) => Some(word),
                _ => None,
            })
            .collect()
    }

    /// How many words lie between a cue and a link; none when the cue is not there.
    fn distance(&self, cue: &Cue, link: usize) -> Option<usize> {
        const WINDOW: usize = 40;
        let place = self.links[link];
        match cue.side {
            Side::Before => (place.saturating_sub(WINDOW)..place).rev().find_map(|start| {
                let end = self.matches(cue.pattern, start, place)?;
                Some(self.words_between(end, place))
            }),
            Side::After => {
                let limit = (place + 1 + WINDOW).min(self.tokens.len());
                (place + 1..limit).find_map(|start| {
                    self.matches(cue.pattern, start, limit)?;
                    Some(self.words_between(place + 1, start))
                })
            }
        }
    }

    /// Words and marks between two places. Links and the glue of lists weigh nothing.
    fn words_between(&self, start: usize, end: usize) -> usize {
        (start..end)
            .map(|at| match self.token(at) {
                Token::Word("and" | "or" | "the" | "a" | "an") | Token::Link => 0,
                Token::Word(_) => 1,
                Token::Mark => 1,
            })
            .sum()
    }

    /// Where the pattern that starts at `start` ends, if it is there.
    fn matches(&self, pattern: &str, start: usize, limit: usize) -> Option<usize> {
        const GAP: usize = 4;
        let mut at = start;
        let mut gap = 0;
        for part in pattern.split(' ') {
            if part == "~" {
                gap = GAP;
                continue;
            }
            let found = (at..limit.min(at + gap + 1))
                .take_while(|&place| matches!(self.token(place), Token::Word(_)));
            let found = found.into_iter().find(|&place| self.is_word(place, part))?;
            at = found + 1;
            gap = 0;
        }
        Some(at)
    }

    fn is_word(&self, at: usize, part: &str) -> bool {
        let Token::Word(word) = self.token(at) else { return false };
        part.split('|').any(|wanted| match wanted.strip_suffix('*') {
            Some(stem) => word.starts_with(stem),
            None => word == wanted,
        })
    }
}
