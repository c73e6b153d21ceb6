//! Cues for the type of a link: the tables.
//!
//! A cue is a short pattern of English words with the relation that it states when it stands before
//! or after a link. Which cues apply depends on what the page is about and what the link points to:
//! `founded by` on a company's page and `founder of` on a person's are the same edge, seen from its
//! two ends. No cue, no relation. A cue for a mention says that the words only look like a relation.

use super::Direction::{self, In, Out};
use super::LinkType::{self, *};
use crate::page::slug;

/// The subject of a page, as far as relations go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageClass {
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

impl PageClass {
    fn of_type(page_type: &str) -> Self {
        match page_type {
            "person" => Self::Person,
            "company" | "organization" | "organisation" | "fund" | "startup" => Self::Company,
            "meeting" | "event" => Self::Meeting,
            "team" => Self::Team,
            "service" | "component" | "repo" | "project" | "system" | "product" | "api" => {
                Self::Asset
            }
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

impl Occupation {
    /// The first match counts: an investor may advise, and an advisor invest.
    fn of(opening: &str) -> Option<Self> {
        let opening = opening.to_lowercase();
        let mut words = opening.split(|c: char| !c.is_alphanumeric());
        words.find_map(|word| match word {
            "investor" | "investors" | "investing" | "venture" | "ventures" | "vc" | "angel"
            | "capital" | "fund" | "partner" => Some(Self::Investor),
            "advisor" | "adviser" | "advises" | "advisory" | "consultant" => Some(Self::Advisor),
            _ => None,
        })
    }
}

/// The position of a cue relative to its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CueSide {
    Before,
    After,
}

/// A pattern and the relation it states.
///
/// Words of a pattern are separated by blanks. `a|b` is either, `invest*` any word that starts so,
/// and `~` up to four words of any kind.
#[derive(Debug)]
pub(super) struct Cue {
    pub(super) side: CueSide,
    pub(super) pattern: &'static str,
    pub(super) link_type: LinkType,
    pub(super) direction: Direction,
    pub(super) confidence: f64,
    /// Only on the page of a person of this calling.
    pub(super) only: Option<Occupation>,
    /// How many words may stand between it and the link.
    pub(super) reach: usize,
}

/// How far from a link a cue may stand, in words.
pub(super) const WINDOW: usize = 40;

/// The occupation that the first sentence of a person's page states. It decides the meaning of
/// vaguer words further down: a board seat, or to work with a company.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occupation {
    Investor,
    Advisor,
}

const fn before(
    pattern: &'static str,
    link_type: LinkType,
    direction: Direction,
    confidence: f64,
) -> Cue {
    Cue {
        side: CueSide::Before,
        pattern,
        link_type,
        direction,
        confidence,
        only: None,
        reach: WINDOW,
    }
}

const fn after(
    pattern: &'static str,
    link_type: LinkType,
    direction: Direction,
    confidence: f64,
) -> Cue {
    Cue {
        side: CueSide::After,
        pattern,
        link_type,
        direction,
        confidence,
        only: None,
        reach: WINDOW,
    }
}

/// A verb whose meaning applies only to its own object.
const fn tight(cue: Cue) -> Cue {
    Cue { reach: 4, ..cue }
}

const fn investor(cue: Cue) -> Cue {
    Cue { only: Some(Occupation::Investor), ..cue }
}

const fn advisor(cue: Cue) -> Cue {
    Cue { only: Some(Occupation::Advisor), ..cue }
}

/// Cues on a person's page about a company.
const PERSON_COMPANY: &[Cue] = &[
    before("founder|cofounder|co-founder ~ of|at|behind", Founded, Out, 0.85),
    before("founder|cofounder|co-founder", Founded, Out, 0.75),
    tight(before("founded|cofounded|co-founded|co-founds|founds", Founded, Out, 0.85)),
    tight(before("founding|starting|launching|incorporat*", Founded, Out, 0.75)),
    tight(before("started|launched|launches", Founded, Out, 0.7)),
    before("invest*|reinvest* ~ in", InvestedIn, Out, 0.85),
    before("invest*", InvestedIn, Out, 0.72),
    tight(before("backed|backs|backing|backer|backers", InvestedIn, Out, 0.8)),
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
    before("bet|bets|stake|shareholder|shares ~ on|in", InvestedIn, Out, 0.75),
    investor(before("board|boards ~ seat|seats|member|observer|director", InvestedIn, Out, 0.72)),
    investor(before("board|boards ~ of|at|for", InvestedIn, Out, 0.78)),
    investor(before("observer ~ at|of|on|for", InvestedIn, Out, 0.74)),
    investor(after("board", InvestedIn, Out, 0.78)),
    investor(after("as ~ board|observer|director", InvestedIn, Out, 0.8)),
    investor(after("seed|series ~ round|investment", InvestedIn, Out, 0.66)),
    investor(after("series a|b|c|d|e", InvestedIn, Out, 0.64)),
    before("board|boards ~ of|at|for|observer|member", Mentions, Out, 0.7),
    after("board", Mentions, Out, 0.74),
    before("advis*", Advises, Out, 0.85),
    before("counsel*|mentor*|consult*", Advises, Out, 0.72),
    after("as ~ advis*", Advises, Out, 0.86),
    after("advisory", Advises, Out, 0.84),
    advisor(before("work|works|worked|working|engag*|involve* ~ with|at", Advises, Out, 0.8)),
    after("advis*", Advises, Out, 0.72),
    before(
        "partner|engineer|developer|designer|manager|director|president|officer|analyst|associate|principal|scientist|\
         researcher|lead|head|ceo|cto|cfo|coo|cmo|vp|chief|employee|operator|recruiter|marketer|member|architect|\
         executive|scout ~ at|of|for",
        WorksAt,
        Out,
        0.8,
    ),
    after(
        "as ~ engineer|developer|designer|manager|president|officer|analyst|associate|principal|scientist|researcher|\
         lead|head|ceo|cto|cfo|coo|cmo|vp|chief|employee|hire|recruiter|architect|executive",
        WorksAt,
        Out,
        0.84,
    ),
    before("work|works|working|worked|employed ~ at|for", WorksAt, Out, 0.82),
    tight(before("joined|joins|joining|rejoined", WorksAt, Out, 0.72)),
    before("hired ~ by|at", WorksAt, Out, 0.8),
    before("role|position|job|tenure|career ~ at", WorksAt, Out, 0.7),
    before("leads|leading|runs|running|heads|heading ~ at|of", WorksAt, Out, 0.76),
    before("promot* ~ at", WorksAt, Out, 0.76),
    tight(before("left|departed|leaving", WorksAt, Out, 0.72)),
    before("employer", WorksAt, Out, 0.8),
    before("recruit*|sourced|placed|introduc*|referred ~ at|for|to", Mentions, Out, 0.83),
    before("team|founders|people|folks|conference|dinner ~ at", Mentions, Out, 0.72),
];

/// Cues on a company's page about a person.
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
    after("invest*|backed|backs", InvestedIn, In, 0.8),
    after("as ~ investor|angel|backer", InvestedIn, In, 0.86),
    after(
        "led|leads|co-led|participat*|joined|joins ~ round|seed|series|financing",
        InvestedIn,
        In,
        0.84,
    ),
    before("advis*", Advises, In, 0.83),
    after("advis*", Advises, In, 0.83),
    after("as ~ advis*", Advises, In, 0.86),
    before("mentor*|counsel*|guidance", Advises, In, 0.72),
    before(
        "ceo|cto|cfo|coo|cmo|vp|president|engineer|engineers|developer|designer|manager|director|head|lead|chief|\
         partner|partners|scientist|researcher|employee|employees|recruiter|hire|hires|operator|architect|executive|\
         team",
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
    before("is|currently ~ led|run|headed|managed", WorksAt, In, 0.72),
    after(
        "as ~ ceo|cto|cfo|coo|cmo|vp|president|engineer|developer|designer|manager|director|head|lead|chief|partner|\
         scientist|researcher|hire|employee|executive",
        WorksAt,
        In,
        0.82,
    ),
    after("joined|joins|works|working|leads|runs|heads|oversees|manages|serves", WorksAt, In, 0.74),
    after("ceo|cto|cfo|coo|cmo|vp|engineer|director|head|lead|chief", WorksAt, In, 0.74),
    after("partner|principal|director ~ at", Mentions, Out, 0.72),
    after("board", Mentions, Out, 0.75),
];

/// Cues on a company's page about another company.
const COMPANY_COMPANY: &[Cue] = &[
    before("invest* ~ in", InvestedIn, Out, 0.82),
    before("portfolio|backed|backs", InvestedIn, Out, 0.74),
    before("stake|shareholder|shares ~ in", InvestedIn, Out, 0.78),
    before("backed|funded ~ by", InvestedIn, In, 0.82),
    before("investor|investors|backer|backers", InvestedIn, In, 0.76),
    before("round|seed|series ~ led|from|by", InvestedIn, In, 0.8),
    before("led|leads|co-led ~ round|seed|series|investment", InvestedIn, Out, 0.8),
    before("depends|depend|relies|rely|built ~ on", DependsOn, Out, 0.76),
];

/// Cues on a person's page about a meeting.
const PERSON_MEETING: &[Cue] = &[
    before(
        "attend*|joined|hosted|hosts|chaired|led|spoke|speaking|presented|participat*|facilitated|present",
        Attended,
        Out,
        0.82,
    ),
    after("attend*|attendee", Attended, Out, 0.7),
    before("missed|skipped|declined|absent", Mentions, Out, 0.85),
];

/// Cues on a meeting's page about a target that is only a title.
const MEETING_UNKNOWN: &[Cue] = &[
    before("attend*|present|participants", Attended, In, 0.82),
    after("attend*|dialed|joined|chaired|presented|facilitated|opened|hosted", Attended, In, 0.76),
    before("missed|skipped|declined|absent|apologies", Mentions, Out, 0.85),
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
        "member|members|led|lead|leads|manager|managed|run ~ by|are|is|include|includes",
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
    after("joined|joins|leads|manages|member|members", MemberOf, In, 0.76),
];

/// Cues on a page about a thing, for a team or a person.
const ASSET_OWNER: &[Cue] = &[
    before(
        "owned|maintained|operated|run|managed|developed|supported|led|looked ~ by",
        OwnedBy,
        Out,
        0.85,
    ),
    before(
        "owner|owners|maintainer|maintainers|owning|responsib*|accountable|dri",
        OwnedBy,
        Out,
        0.8,
    ),
    before("belongs ~ to", OwnedBy, Out, 0.82),
    before("on-call|escalate|ownership ~ to|is|with", OwnedBy, Out, 0.7),
    after("owns|maintains|operates", OwnedBy, Out, 0.82),
    tight(after("leads|runs|heads", OwnedBy, Out, 0.74)),
    after("is|are ~ responsible|owner|accountable", OwnedBy, Out, 0.8),
    after("own|maintain|took|takes ~ it|ownership|over", OwnedBy, Out, 0.78),
];

/// Cues on a team's or person's page about a thing.
const OWNER_ASSET: &[Cue] = &[
    before(
        "own|owns|maintain|maintains|operate|operates|owner|maintainer|owners|maintainers",
        OwnedBy,
        In,
        0.82,
    ),
    before("responsible|answer|answers|accountable ~ for", OwnedBy, In, 0.82),
    tight(before("run|runs|running|lead|leads|leading|led|heads", OwnedBy, In, 0.74)),
    before("took|takes ~ ownership|over", OwnedBy, In, 0.78),
];

/// Cues on a page about a thing or a piece of work, for another one.
const WORK_WORK: &[Cue] = &[
    before(
        "depend|depends|depended|dependency|dependent|relies|rely|relying ~ on|upon",
        DependsOn,
        Out,
        0.85,
    ),
    before("requires|require|needs|uses|using|consumes|calls|queries", DependsOn, Out, 0.72),
    before("built|reads|writes ~ on|from|to", DependsOn, Out, 0.72),
    before("used|required|needed|consumed|called ~ by", DependsOn, In, 0.8),
    before("dependents|consumers|clients|downstream", DependsOn, In, 0.72),
    after("depends|depend|relies|rely ~ on|upon", DependsOn, In, 0.8),
    after("uses|calls|consumes|requires ~ this|it", DependsOn, In, 0.76),
    before("blocked|held|gated|stalled|delayed ~ by|on|behind|until", BlockedBy, Out, 0.85),
    before("waiting|waits|pending|wait ~ on|for", BlockedBy, Out, 0.8),
    before("blocks|blocking|gates", BlockedBy, In, 0.82),
    before("blocker|blockers", BlockedBy, Out, 0.74),
    after("blocks|gates", BlockedBy, Out, 0.76),
    after("waits|waiting|blocked ~ on|for|by", BlockedBy, In, 0.76),
    after("cannot ~ without it", BlockedBy, In, 0.72),
    before("fix|fixes|closes|resolves|solves", Resolves, Out, 0.82),
    before("fixed|closed|resolved|solved", Resolves, Out, 0.76),
    before(
        "fixed|closed|resolved|solved|addressed|mitigated|mended|repaired ~ by|in|with",
        Resolves,
        In,
        0.84,
    ),
    after("fixes|fixed|closes|closed|resolves|resolved|solves", Resolves, In, 0.76),
];

/// Cues on a piece of work about a goal.
const WORK_GOAL: &[Cue] = &[
    before("goal|goals|objective|objectives|okr", AlignsWithGoal, Out, 0.82),
    before(
        "supports|support|supporting|serves|serving|advances|aligned|aligns|align|contributes|contribute|towards|\
         toward|service",
        AlignsWithGoal,
        Out,
        0.82,
    ),
    before("drives|enables|furthers|feeds", AlignsWithGoal, Out, 0.7),
];

/// Cues on a goal's page about a piece of work.
const GOAL_WORK: &[Cue] = &[
    before(
        "supported|served|advanced|driven|achieved|delivered ~ by|through|via",
        AlignsWithGoal,
        In,
        0.82,
    ),
    before("contributors|projects|initiatives|aligned|contributing", AlignsWithGoal, In, 0.74),
    after("supports|serves|advances|contributes|aligns|aligned", AlignsWithGoal, In, 0.8),
];

/// Statements of the page about how to read its links.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageContext {
    pub(super) class: PageClass,
    calling: Option<Occupation>,
    /// The page lists the attendees, so no other link is one unless the page says so.
    pub(super) lists_attendees: bool,
}

impl PageContext {
    /// `opening` is the first sentence of the page.
    pub(super) fn of(page_type: &str, opening: &str) -> Self {
        let class = PageClass::of_type(page_type);
        Self { class, calling: Occupation::of(opening), lists_attendees: false }
    }

    /// Whether a cue applies on this page.
    pub(super) fn admits(&self, cue: &Cue) -> bool {
        cue.only.is_none_or(|only| self.calling == Some(only))
    }

    /// Whether a link to such a page can be more than a mention here.
    pub(super) fn has_cues(&self, target: PageClass) -> bool {
        self.attends(target) || !self.cues(target).is_empty()
    }

    /// Whether a link means attendance unless the sentence says otherwise.
    pub(super) fn attends(&self, target: PageClass) -> bool {
        self.class == PageClass::Meeting && target == PageClass::Person
    }

    pub(super) fn cues(&self, target: PageClass) -> &'static [&'static [Cue]] {
        use PageClass::*;
        match (self.class, target) {
            (Person, Company) => &[PERSON_COMPANY],
            (Person, Meeting) => &[PERSON_MEETING],
            (Person, Team) => &[PERSON_TEAM],
            (Person | Team, Asset) => &[OWNER_ASSET],
            (Company, Person) => &[COMPANY_PERSON],
            (Company, Company) => &[COMPANY_COMPANY],
            (Team, Person) => &[TEAM_PERSON],
            (Asset | Ticket, Team | Person) => &[ASSET_OWNER],
            (Asset | Ticket, Asset | Ticket) => &[WORK_WORK],
            (Asset | Ticket | Team, Goal) => &[WORK_GOAL],
            (Goal, Asset | Ticket | Team) => &[GOAL_WORK],
            (Person, Unknown) => &[PERSON_COMPANY],
            (Company, Unknown) => &[COMPANY_PERSON],
            (Meeting, Unknown) => &[MEETING_UNKNOWN],
            (Asset | Ticket, Unknown) => &[ASSET_OWNER, WORK_WORK],
            (Team, Unknown) => &[TEAM_PERSON, OWNER_ASSET],
            _ => &[],
        }
    }
}
