//! Frontmatter: the author's explicit statements about a page.
//!
//! Keys that mean nothing to us are the author's own and pass in silence. A value that we should
//! understand and don't is a warning, with one exception: an unknown visibility is an error,
//! because guessing could show a private page to the world.

use std::ops::Range;

use jiff::civil::Date;

use super::date::{self, PeriodEdge};
use super::limit::quoted;
use super::{DateOrigin, PageError, Take, Visibility};
use crate::link::{self, Direction, LinkType};
use crate::unique::unique_by;
use crate::yaml::{self, Node, Value};

/// The longest frontmatter we read, in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// How many warnings about one page an author is shown. A page of nothing but mistakes would be outgrown by them.
const MOST_WARNINGS: usize = 100;

/// The position of the frontmatter in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FrontmatterSpan {
    /// The text does not start with frontmatter.
    Absent,
    /// The frontmatter starts with `---` and has no end.
    Open,
    /// The YAML, and where the body starts.
    Closed { yaml: Range<usize>, body: usize },
}

/// The parsed frontmatter of a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Frontmatter {
    pub(crate) title: Option<String>,
    pub(crate) page_type: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) aliases: Vec<String>,
    /// Valid dates in order of precedence.
    pub(crate) dates: Vec<(Date, DateOrigin)>,
    pub(crate) visibility: Visibility,
    pub(crate) takes: Vec<Take>,
    pub(crate) relations: Vec<Relation>,
    /// The first [`MOST_WARNINGS`]; see [`Frontmatter::into_warnings`].
    pub(crate) warnings: Vec<String>,
    /// Number of further warnings.
    pub(crate) more_warnings: usize,
}

/// A typed relation to another page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Relation {
    pub(crate) link_type: LinkType,
    pub(crate) direction: Direction,
    pub(crate) target: String,
    pub(crate) since: Option<Date>,
    pub(crate) until: Option<Date>,
    /// First and last line in the YAML, counted from 1.
    pub(crate) lines: (usize, usize),
}

/// Finds the frontmatter of a text that starts at `start` (after a byte order mark).
pub(crate) fn fence(text: &str, start: usize) -> FrontmatterSpan {
    let mut at = start;
    let mut yaml_start = None;
    for line in text[start..].split_inclusive('\n') {
        let next = at + line.len();
        let body = line.trim_end();
        match yaml_start {
            None if body == "---" => yaml_start = Some(next),
            None => return FrontmatterSpan::Absent,
            Some(first) if body == "---" || body == "..." => {
                return FrontmatterSpan::Closed { yaml: first..at, body: next };
            }
            Some(_) => {}
        }
        at = next;
    }
    if yaml_start.is_some() { FrontmatterSpan::Open } else { FrontmatterSpan::Absent }
}

/// Reads the YAML of a frontmatter. `None`: it is text between two rules and not a map.
///
/// `default_type` is what the page is when the frontmatter does not say: some keys mean one thing on
/// a person's page and another on a service's.
pub(crate) fn read(
    text: &str,
    default_type: Option<&str>,
) -> Result<Option<Frontmatter>, PageError> {
    if text.len() > MAX_BYTES {
        return Err(PageError::FrontmatterTooLarge { bytes: text.len(), limit: MAX_BYTES });
    }
    if text.trim().is_empty() {
        return Ok(Some(Frontmatter::default()));
    }
    // The YAML starts on the second line of the page.
    let node = yaml::parse(text)
        .map_err(|error| PageError::Frontmatter { line: error.line + 1, reason: error.reason })?;
    match &node.value {
        Value::Map(_) => interpret(&node, default_type).map(Some),
        Value::Null => Ok(Some(Frontmatter::default())),
        Value::Text(_) | Value::List(_) => Ok(None),
    }
}

/// Reads the keys of a map, from frontmatter or from the head of a chat.
pub(crate) fn interpret(map: &Node, default_type: Option<&str>) -> Result<Frontmatter, PageError> {
    let mut found = Frontmatter::default();
    let Value::Map(entries) = &map.value else { return Ok(found) };
    found.title = first_text(map, &["title"]);
    found.page_type = first_text(map, &["type"]).map(|name| name.to_lowercase());
    found.tags = tags(map.get(&["tags", "tag"]));
    found.aliases = names(map, &["aliases", "alias"]);
    found.visibility = visibility(map.get(&["visibility"]))?;
    let origins = [
        ("event_date", DateOrigin::EventDate),
        ("date", DateOrigin::Date),
        ("published", DateOrigin::Published),
    ];
    for (key, origin) in origins {
        found.date(map, key, origin);
    }
    if let Some(list) = map.get(&["takes"]) {
        for item in list.items() {
            found.take(item);
        }
    }
    let page_type = found.page_type.clone();
    let page_type = page_type.as_deref().or(default_type).unwrap_or_default();
    for (at, (key, value)) in entries.iter().enumerate() {
        let last = entries.get(at + 1).map_or(usize::MAX, |(next, _)| next.line.saturating_sub(1));
        let Some(name) = key.text() else { continue };
        if let Some((link_type, direction)) = link::relation_of_key(name, page_type) {
            found.relations(
                name,
                value,
                KeyRelation { link_type, direction, lines: (key.line, last) },
            );
        }
    }
    Ok(found)
}

impl Frontmatter {
    /// Adds a warning for the author.
    pub(crate) fn warn(&mut self, warning: impl Into<String>) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(warning.into());
        } else {
            self.more_warnings += 1;
        }
    }

    /// Warnings for the author, and the number of those left out.
    pub(crate) fn into_warnings(self) -> Vec<String> {
        let Self { mut warnings, more_warnings, .. } = self;
        if more_warnings > 0 {
            warnings.push(format!("and {more_warnings} more warnings"));
        }
        warnings
    }

    fn date(&mut self, map: &Node, key: &str, origin: DateOrigin) {
        let Some(text) = first_text(map, &[key]) else { return };
        match date::day(&text) {
            Some(day) if date::is_plausible(day) => self.dates.push((day, origin)),
            Some(day) => self.warn(format!("{key}: {day} is not between 1990 and 2100; ignored")),
            None => self.warn(format!(
                "{key}: {:?} is not a day such as 2021-06-15; ignored",
                quoted(&text)
            )),
        }
    }

    fn take(&mut self, item: &Node) {
        let claim = match &item.value {
            Value::Text(claim) => Some(claim.clone()),
            _ => first_text(item, &["claim", "take", "text"]),
        };
        let Some(claim) = claim.filter(|claim| !claim.trim().is_empty()) else {
            self.warn(format!("takes: the entry on line {} has no claim; ignored", item.line + 1));
            return;
        };
        let superseded = item.get(&["superseded_by"]).is_some_and(|by| by.value != Value::Null);
        let active = match first_text(item, &["active"]).as_deref() {
            Some("false" | "no" | "False") => false,
            _ => !superseded,
        };
        let take = Take {
            kind: first_text(item, &["kind", "type"]).unwrap_or_else(|| "take".to_owned()),
            holder: first_text(item, &["holder", "by"]),
            weight: self.weight(item),
            since: first_text(item, &["since", "since_date"])
                .and_then(|t| date::parse_coarse_date(&t, PeriodEdge::Start)),
            until: first_text(item, &["until", "until_date"])
                .and_then(|t| date::parse_coarse_date(&t, PeriodEdge::End)),
            active,
            claim,
        };
        self.takes.push(take);
    }

    fn weight(&mut self, item: &Node) -> f64 {
        const UNSAID: f64 = 0.5;
        let Some(text) = first_text(item, &["weight"]) else { return UNSAID };
        match text.parse::<f64>() {
            Ok(weight) if (0.0..=1.0).contains(&weight) => weight,
            _ => {
                self.warn(format!(
                    "takes: weight {:?} is not between 0 and 1; read as {UNSAID}",
                    quoted(&text)
                ));
                UNSAID
            }
        }
    }

    fn relations(&mut self, name: &str, value: &Node, stated: KeyRelation) {
        for item in value.items() {
            match relation(item, stated) {
                Some(relation) => self.relations.push(relation),
                None => self.warn(format!(
                    "{name}: the value on line {} is not a page, a link or a map with `to`; ignored",
                    item.line + 1
                )),
            }
        }
    }
}

/// The relation that a key states about each of its values.
#[derive(Clone, Copy)]
struct KeyRelation {
    link_type: LinkType,
    direction: Direction,
    lines: (usize, usize),
}

fn relation(item: &Node, stated: KeyRelation) -> Option<Relation> {
    let KeyRelation { link_type, direction, lines } = stated;
    let target = match &item.value {
        Value::Map(_) => unwrapped(item.get(&["to", "target", "page"])?)?,
        _ => unwrapped(item)?,
    };
    let target = link::target_of_value(target)?;
    let edge = |keys: &[&str], edge| {
        first_text(item, keys).and_then(|text| date::parse_coarse_date(&text, edge))
    };
    let (since, until) = (edge(&["since"], PeriodEdge::Start), edge(&["until"], PeriodEdge::End));
    Some(Relation { link_type, direction, target, since, until, lines })
}

/// An unquoted `[[wikilink]]` is a list in a list to YAML.
fn unwrapped(node: &Node) -> Option<&str> {
    match &node.value {
        Value::List(items) if items.len() == 1 => unwrapped(&items[0]),
        _ => node.text(),
    }
}

fn first_text(map: &Node, keys: &[&str]) -> Option<String> {
    let text = map.get(keys)?.text()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn visibility(node: Option<&Node>) -> Result<Visibility, PageError> {
    let Some(node) = node else { return Ok(Visibility::default()) };
    match node.text().map(|text| text.trim().to_lowercase()).as_deref() {
        Some("private") => Ok(Visibility::Private),
        Some("world" | "public") => Ok(Visibility::World),
        other => Err(PageError::Visibility {
            line: node.line + 1,
            value: quoted(other.unwrap_or_default()).into_owned(),
        }),
    }
}

fn tags(node: Option<&Node>) -> Vec<String> {
    let Some(node) = node else { return Vec::new() };
    let texts = node.items().iter().filter_map(Node::text);
    let mut tags: Vec<String> = texts
        .flat_map(|text| text.split(','))
        .map(|tag| tag.trim().trim_start_matches('#').to_lowercase())
        .filter(|tag| !tag.is_empty())
        .collect();
    tags.sort();
    tags.dedup();
    tags
}

fn names(map: &Node, keys: &[&str]) -> Vec<String> {
    let nodes = keys.iter().filter_map(|key| map.get(&[key])).flat_map(Node::items);
    let names = nodes.filter_map(Node::text).map(str::trim).filter(|name| !name.is_empty());
    unique_by(names, |name| *name).into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_map(text: &str) -> Frontmatter {
        read(text, None).unwrap().expect("a map")
    }

    #[test]
    fn finds_its_fences() {
        assert_eq!(fence("---\na: 1\n---\nx", 0), FrontmatterSpan::Closed { yaml: 4..9, body: 13 });
        assert_eq!(
            fence("---\r\na: 1\r\n...\r\n", 0),
            FrontmatterSpan::Closed { yaml: 5..11, body: 16 }
        );
        assert_eq!(fence("---\na: 1\n", 0), FrontmatterSpan::Open);
        assert_eq!(fence("x\n---\n", 0), FrontmatterSpan::Absent);
    }

    #[test]
    fn lifts_what_it_knows() {
        let found = read_map(
            "title: 2024\ntype: Person\ntags: [B, a, '#b']\naliases: Ada\nalias: [AQ]\ndate: 2021-06-15\nx: {y: 1}\n",
        );
        assert_eq!(found.title.as_deref(), Some("2024"));
        assert_eq!(found.page_type.as_deref(), Some("person"));
        assert_eq!(found.tags, ["a", "b"]);
        assert_eq!(found.aliases, ["Ada", "AQ"]);
        assert_eq!(found.dates.len(), 1);
        assert_eq!(found.warnings, Vec::<String>::new());
        assert_eq!(read_map("tags: x, Y,x\n").tags, ["x", "y"]);
    }

    #[test]
    fn impossible_dates_are_reported() {
        let found =
            read_map("event_date: 1789-07-14\ndate: someday\npublished: 2020-01-02T03:04:05Z\n");
        assert_eq!(found.dates, [(jiff::civil::date(2020, 1, 2), DateOrigin::Published)]);
        assert_eq!(found.warnings.len(), 2);
    }

    #[test]
    fn visibility_is_never_guessed() {
        assert_eq!(read_map("visibility: Private\n").visibility, Visibility::Private);
        assert_eq!(read_map("visibility: public\n").visibility, Visibility::World);
        for bad in
            ["a: 1\nvisibility: secret\n", "a: 1\nvisibility:\n", "a: 1\nvisibility: [private]\n"]
        {
            let error = read(bad, None).unwrap_err();
            assert!(matches!(error, PageError::Visibility { line: 3, .. }), "{error:?}");
        }
    }

    #[test]
    fn relations_have_types_directions_and_dates() {
        let found = read_map(
            "attendees: [people/ada, \"[[Bo|B]]\", [[Cy]]]\nowner: Team X\nworks_at:\n  - to: companies/acme\n    since: 2019\n    until: 2020-03\nfounders: {x: 1}\n",
        );
        let seen: Vec<_> = found
            .relations
            .iter()
            .map(|r| (r.link_type, r.direction, r.target.as_str(), r.lines.0))
            .collect();
        use {Direction::*, LinkType::*};
        assert_eq!(
            seen,
            [
                (Attended, In, "people/ada", 1),
                (Attended, In, "Bo", 1),
                (Attended, In, "Cy", 1),
                (OwnedBy, Out, "Team X", 2),
                (WorksAt, Out, "companies/acme", 3),
            ]
        );
        let job = &found.relations[4];
        assert_eq!(job.since, Some(jiff::civil::date(2019, 1, 1)));
        assert_eq!(job.until, Some(jiff::civil::date(2020, 3, 31)));
        assert_eq!(job.lines, (3, 6));
        assert_eq!(found.warnings.len(), 1);
    }

    #[test]
    fn takes_are_claims() {
        let found = read_map(
            "takes:\n  - plain claim\n  - {claim: c, weight: 0.9, superseded_by: 1}\n  - {kind: bet}\n",
        );
        assert_eq!(found.takes.len(), 2);
        assert_eq!(found.takes[0].weight, 0.5);
        assert!(found.takes[0].active && !found.takes[1].active);
        assert_eq!(found.warnings.len(), 1);
    }

    #[test]
    fn text_between_rules_is_not_frontmatter() {
        assert_eq!(read("Just words\n", None).unwrap(), None);
        assert_eq!(read("# comment only\n", None).unwrap(), Some(Frontmatter::default()));
    }
}
