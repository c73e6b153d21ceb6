//! Derives the type of a link from the words around it: the parser.

use std::ops::Range;

use jiff::civil::Date;

use super::cue::{Cue, CueSide, PageClass, PageContext, WINDOW};
use super::when::when;
use super::{Direction, LinkType};

/// The confidence lost for every word between a cue and its link.
const PER_WORD: f64 = 0.012;

/// The confidence lost for a target that is only a title, which could be anything.
const UNKNOWN_TARGET: f64 = 0.05;

/// The least confidence of a relation; below it a link is a mention.
const LEAST: f64 = 0.55;

/// Words that say a relation is over.
const PAST: &[&str] =
    &["former", "formerly", "previously", "ex", "once", "left", "departed", "previous"];

/// Words that date the end of a relation when a timeline says them.
const ENDING: &[&str] =
    &["left", "leaves", "leaving", "departed", "departs", "resigned", "resigns", "exited"];

/// Words that state an absence.
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
];

/// Words that together say so: could not come, didn't attend.
const NEGATIONS: &[&str] = &["not", "never", "cannot", "couldn", "didn", "wasn"];
const COMING: &[&str] = &["come", "attend", "join", "make", "present", "there"];

/// Words that state a presence.
const PRESENT: &[&str] = &[
    "attended",
    "attend",
    "attendees",
    "attendance",
    "present",
    "joined",
    "dialed",
    "led",
    "opened",
    "chaired",
    "hosted",
    "presented",
    "facilitated",
    "convened",
    "participated",
];

/// The type that a sentence gives a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LinkGuess {
    pub(super) link_type: LinkType,
    pub(super) direction: Direction,
    pub(super) confidence: f64,
    pub(super) since: Option<Date>,
    pub(super) until: Option<Date>,
}

impl LinkGuess {
    /// A relation without dates.
    pub(super) fn new(link_type: LinkType, direction: Direction, confidence: f64) -> Self {
        Self { link_type, direction, confidence, since: None, until: None }
    }

    /// A link that nothing explains.
    pub(super) fn mention() -> Self {
        Self::new(LinkType::Mentions, Direction::Out, 0.5)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SentenceToken {
    /// The bytes of a word in the sentence's lower-case text.
    Word(Range<usize>),
    Link,
    /// A mark that clauses and lists have inside them.
    Comma,
    /// A mark that parts what it stands between.
    Stop,
}

/// A sentence as lower-case words, links and marks.
pub(super) struct Sentence {
    text: String,
    tokens: Vec<SentenceToken>,
    links: Vec<usize>,
    day: Option<Date>,
}

/// The cues that a sentence has for one class of targets, with the tokens they take.
pub(super) struct MatchedCues {
    attends: bool,
    lists_attendees: bool,
    is_unknown: bool,
    hits: Vec<(&'static Cue, Vec<Range<usize>>)>,
}

impl Sentence {
    /// Reads a range of `content`; `links` are the bytes of its links, in order, and `day` is the
    /// date of the timeline's bullet that it is.
    pub(super) fn new(
        content: &str,
        range: Range<usize>,
        links: impl Iterator<Item = Range<usize>>,
        day: Option<Date>,
    ) -> Self {
        let mut sentence = Self { text: String::new(), tokens: Vec::new(), links: Vec::new(), day };
        let mut at = range.start;
        for link in links {
            sentence.read(&content[at..link.start.max(at)]);
            sentence.links.push(sentence.tokens.len());
            sentence.tokens.push(SentenceToken::Link);
            at = link.end;
        }
        sentence.read(&content[at.min(range.end)..range.end]);
        sentence
    }

    fn read(&mut self, text: &str) {
        let mut open = None;
        for char in text.chars().chain([' ']) {
            if char.is_alphanumeric() || char == '-' {
                open.get_or_insert(self.text.len());
                self.text.extend(char.to_lowercase());
                continue;
            }
            if let Some(start) = open.take() {
                self.tokens.push(SentenceToken::Word(start..self.text.len()));
            }
            match char {
                ',' | '(' | ')' => self.tokens.push(SentenceToken::Comma),
                ';' | '—' | '–' => self.tokens.push(SentenceToken::Stop),
                _ => {}
            }
        }
    }

    fn word(&self, at: usize) -> Option<&str> {
        match self.tokens.get(at)? {
            SentenceToken::Word(range) => Some(&self.text[range.clone()]),
            SentenceToken::Link | SentenceToken::Comma | SentenceToken::Stop => None,
        }
    }

    /// Finds the cues of a class of targets, once for all links of the sentence.
    pub(super) fn cues(&self, context: PageContext, target: PageClass) -> MatchedCues {
        let cues = context.cues(target).iter().copied().flatten().filter(|cue| context.admits(cue));
        let hits = cues.map(|cue| (cue, self.matches(cue.pattern)));
        let hits = hits.filter(|(_, places)| !places.is_empty()).collect();
        MatchedCues {
            attends: context.attends(target),
            lists_attendees: context.lists_attendees,
            is_unknown: target == PageClass::Unknown,
            hits,
        }
    }

    /// The type of link number `link` according to the sentence; none if it states no type.
    pub(super) fn guesses(&self, cues: &MatchedCues, link: usize) -> Vec<LinkGuess> {
        if cues.attends {
            return self.attendance(link, cues.lists_attendees).into_iter().collect();
        }
        let Some((score, cue)) = self.best_cue(cues, link) else { return Vec::new() };
        if cue.link_type == LinkType::Mentions {
            return Vec::new();
        }
        let place = self.links[link];
        let past = self.near(place).any(|word| PAST.contains(&word));
        // The truth says what is; the timeline, what was once.
        let lost = if past { 0.06 } else { 0.0 } + if self.day.is_some() { 0.05 } else { 0.0 };
        let guess = self.dated(LinkGuess::new(cue.link_type, cue.direction, score - lost), place);
        if guess.confidence < LEAST {
            return Vec::new();
        }
        if guess.link_type != LinkType::Founded {
            return vec![guess];
        }
        // A founder works there until something says otherwise.
        let works = LinkGuess {
            link_type: LinkType::WorksAt,
            confidence: guess.confidence - 0.05,
            ..guess
        };
        vec![guess, works]
    }

    /// The cue that speaks for a link: the most telling, less what its distance takes.
    fn best_cue(&self, cues: &MatchedCues, link: usize) -> Option<(f64, &'static Cue)> {
        let doubt = if cues.is_unknown { UNKNOWN_TARGET } else { 0.0 };
        let mut best: Option<(f64, &Cue)> = None;
        for (cue, hits) in &cues.hits {
            let distance =
                self.distance(cue.side, hits, link).filter(|distance| *distance <= cue.reach);
            let Some(distance) = distance else { continue };
            let score = cue.confidence - doubt - PER_WORD * distance as f64;
            if best.is_none_or(|(known, _)| score > known) {
                best = Some((score, cue));
            }
        }
        best.filter(|(score, _)| *score >= LEAST)
    }

    /// Adds what the sentence or its bullet says of time.
    fn dated(&self, guess: LinkGuess, place: usize) -> LinkGuess {
        let first = place.saturating_sub(WINDOW);
        let words: Vec<&str> = (first..place + WINDOW).filter_map(|at| self.word(at)).collect();
        let mut stated = when(&words);
        if guess.link_type == LinkType::Founded {
            stated.since = stated.since.or(stated.on);
        }
        let ends = self.near(place).any(|word| ENDING.contains(&word));
        LinkGuess {
            since: stated.since.or(self.day.filter(|_| !ends && stated.until.is_none())),
            until: stated.until.or(self.day.filter(|_| ends)),
            ..guess
        }
    }

    fn attendance(&self, link: usize, listed: bool) -> Option<LinkGuess> {
        let has = |words: &[&str]| self.near(self.links[link]).any(|word| words.contains(&word));
        let absent = has(ABSENT) || (has(NEGATIONS) && has(COMING));
        let confidence = match (self.day, has(PRESENT)) {
            _ if absent => return None,
            (_, true) if listed => 0.65,
            (_, false) if listed => return None,
            (None, true) => 0.85,
            (None, false) | (Some(_), true) => 0.78,
            (Some(_), false) => 0.7,
        };
        Some(LinkGuess::new(LinkType::Attended, Direction::In, confidence))
    }

    /// The words close to a place, up to a mark that parts them from it or to another link that is
    /// not its neighbour in a list.
    fn near(&self, place: usize) -> impl Iterator<Item = &str> {
        const REACH: usize = 6;
        let back = (place.saturating_sub(REACH)..place).rev();
        let ahead = place + 1..(place + 1 + REACH).min(self.tokens.len());
        self.reach(back).chain(self.reach(ahead))
    }

    fn reach(&self, places: impl Iterator<Item = usize>) -> impl Iterator<Item = &str> {
        let mut spoken = false;
        let inside = places.take_while(move |&at| {
            spoken |= self.word(at).is_some_and(|word| !is_glue(word));
            match self.tokens[at] {
                SentenceToken::Stop => false,
                SentenceToken::Link => !spoken,
                SentenceToken::Word(_) | SentenceToken::Comma => true,
            }
        });
        inside.filter_map(|at| self.word(at))
    }

    /// How far the nearest of a cue's hits is from a link, in words; none when it is too far.
    fn distance(&self, side: CueSide, hits: &[Range<usize>], link: usize) -> Option<usize> {
        let place = self.links[link];
        // A pattern never reaches over a link, so a hit is wholly before it or wholly after.
        let after = hits.partition_point(|hit| hit.start < place);
        match side {
            CueSide::Before => {
                let hit = hits[..after].last().filter(|hit| hit.start + WINDOW >= place)?;
                Some(self.weight(hit.end..place, 5))
            }
            CueSide::After => {
                let hit = hits.get(after).filter(|hit| hit.start <= place + WINDOW)?;
                Some(self.weight(place + 1..hit.start, 8))
            }
        }
    }

    /// The words between a cue and a link. The glue of lists weighs nothing, a parting mark as much
    /// as five words, and another link in between `per_link` words, unless it is all one list.
    fn weight(&self, places: Range<usize>, per_link: usize) -> usize {
        const STOP: usize = 5;
        let mut weight = 0;
        let mut links = 0;
        for at in places {
            match &self.tokens[at] {
                SentenceToken::Link => links += 1,
                SentenceToken::Comma => weight += usize::from(!self.is_beside_link(at)),
                SentenceToken::Stop => weight += STOP,
                SentenceToken::Word(range) => {
                    weight += usize::from(!is_glue(&self.text[range.clone()]))
                }
            }
        }
        if weight > 0 { weight + links * per_link } else { 0 }
    }

    fn is_beside_link(&self, at: usize) -> bool {
        let is_link = |at: usize| self.tokens.get(at) == Some(&SentenceToken::Link);
        is_link(at + 1) || at.checked_sub(1).is_some_and(is_link)
    }

    /// Where a pattern is, in order.
    fn matches(&self, pattern: &str) -> Vec<Range<usize>> {
        let starts = 0..self.tokens.len();
        starts.filter_map(|start| Some(start..self.match_end(pattern, start)?)).collect()
    }

    /// Where the pattern that starts at `start` ends, if it is there.
    fn match_end(&self, pattern: &str, start: usize) -> Option<usize> {
        const GAP: usize = 4;
        let mut at = start;
        let mut gap = 0;
        for part in pattern.split(' ') {
            if part == "~" {
                gap = GAP;
                continue;
            }
            let places = at..self.tokens.len().min(at + gap + 1);
            let mut places = places.take_while(|&place| {
                matches!(self.tokens[place], SentenceToken::Word(_) | SentenceToken::Comma)
            });
            at = 1 + places
                .find(|&place| self.word(place).is_some_and(|word| is_word(word, part)))?;
            gap = 0;
        }
        Some(at)
    }
}

fn is_word(word: &str, part: &str) -> bool {
    part.split('|').any(|wanted| match wanted.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => word == wanted,
    })
}

fn is_glue(word: &str) -> bool {
    matches!(word, "and" | "or" | "the" | "a" | "an" | "both" | "also")
}

#[cfg(test)]
mod tests {
    use super::super::Direction::*;
    use super::super::LinkType::*;
    use super::super::find;
    use super::*;

    /// Reads the first link of a sentence on a page of this type.
    fn check(page_type: &str, text: &str, expected: &[(LinkType, Direction)]) {
        let links = find::links(text, 0..text.len(), "x/y");
        let sentence =
            Sentence::new(text, 0..text.len(), links.iter().map(|l| l.range.clone()), None);
        let context = PageContext::of(page_type, "");
        let cues = sentence.cues(context, PageClass::of_target(&links[0].target));
        let guesses = sentence.guesses(&cues, 0);
        let found: Vec<_> =
            guesses.iter().map(|guess| (guess.link_type, guess.direction)).collect();
        assert_eq!(found, expected, "{page_type}: {text}");
    }

    #[test]
    fn people_and_companies() {
        check("company", "Founded by [M](people/m), who left.", &[(Founded, In), (WorksAt, In)]);
        check(
            "company",
            "Angel investors include [A](people/a) and [B](people/b).",
            &[(InvestedIn, In)],
        );
        check("company", "[X](people/x) joined as CTO last year.", &[(WorksAt, In)]);
        check("company", "The firm is advised by [X](people/x).", &[(Advises, In)]);
        check("company", "[X](people/x) spoke at a conference.", &[]);
        check(
            "person",
            "She is the founder of [F](companies/f).",
            &[(Founded, Out), (WorksAt, Out)],
        );
        check("person", "A software engineer at [F](companies/f).", &[(WorksAt, Out)]);
        check("person", "Led the seed round of [F](companies/f).", &[(InvestedIn, Out)]);
        check("person", "Joined [F](companies/f) as an advisor.", &[(Advises, Out)]);
        check("person", "He likes [F](companies/f).", &[]);
        check("person", "Founder of [[Forge]].", &[(Founded, Out), (WorksAt, Out)]);
        check("person", "Joined in May and is the contact for [F](companies/f).", &[]);
        check("person", "Recruited the VP of Sales at [F](companies/f).", &[]);
        check("note", "Ada works at [F](companies/f).", &[]);
    }

    #[test]
    fn meetings_have_those_who_were_there() {
        check("meeting", "[A](people/a) opened the session.", &[(Attended, In)]);
        check("meeting", "[A](people/a) was absent; [B](people/b) led.", &[]);
        check(
            "meeting",
            "[A](people/a) and [B](people/b) came; [C](people/c) was absent.",
            &[(Attended, In)],
        );
        check("meeting", "[A](people/a) could not come.", &[]);
        check("meeting", "They discussed [Acme](companies/acme).", &[]);
    }

    #[test]
    fn work_and_its_owners() {
        check("service", "Owned by [Core](teams/core).", &[(OwnedBy, Out)]);
        check("service", "It depends on [Auth](services/auth).", &[(DependsOn, Out)]);
        check("service", "[Web](services/web) depends on this service.", &[(DependsOn, In)]);
        check("team", "We own [Auth](services/auth) and [Web](services/web).", &[(OwnedBy, In)]);
        check("ticket", "Blocked by [T-2](tickets/t-2).", &[(BlockedBy, Out)]);
        check("change", "Fixes [T-2](tickets/t-2).", &[(Resolves, Out)]);
        check("ticket", "Fixed in [C-9](changes/c-9).", &[(Resolves, In)]);
        check("project", "In service of [Growth](goals/growth).", &[(AlignsWithGoal, Out)]);
        check("person", "She is a member of [Core](teams/core).", &[(MemberOf, Out)]);
    }

    #[test]
    fn time_is_read_from_the_sentence() {
        let text = "Engineer at [F](companies/f) from 2019 to 2022.";
        let links = find::links(text, 0..text.len(), "x/y");
        let ranges = links.iter().map(|link| link.range.clone());
        let sentence = Sentence::new(text, 0..text.len(), ranges, None);
        let cues = sentence.cues(PageContext::of("person", ""), PageClass::Company);
        let guess = sentence.guesses(&cues, 0)[0];
        assert_eq!(guess.since, Some(jiff::civil::date(2019, 1, 1)));
        assert_eq!(guess.until, Some(jiff::civil::date(2022, 12, 31)));
    }
}
