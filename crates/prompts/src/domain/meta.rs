//! `meta.yml`: the metadata and status of a prompt.

use gbrain_core::named;
use gbrain_core::yaml::Node;
use jiff::Timestamp;
use serde::Serialize;

use super::lifecycle::Transition;
use super::yml::{self, FlatError, items, map, number, scalar, texts, truth};

named! {
    /// The status of a prompt.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum PromptStatus {
        Draft = "draft",
        /// It worked a few times.
        Tested = "tested",
        /// It worked often, was verified, and passed its evaluation.
        Ready = "ready",
    }
}

/// The parsed content of `meta.yml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// The name, which equals the directory name.
    pub id: String,
    /// The title for people.
    pub title: String,
    pub summary: String,
    pub status: PromptStatus,
    pub version: String,
    /// The day of creation.
    pub created: String,
    /// The day of the last edit or promotion.
    pub updated: String,
    /// Keywords for finding the prompt.
    pub tags: Vec<String>,
    /// The model that it is sent to, unless the caller names another.
    pub model: Option<String>,
    /// The variables it takes.
    pub inputs: Vec<PromptInput>,
    /// The description by which an agent chooses the prompt.
    pub description: Option<String>,
    /// Situations in which an agent should choose it.
    pub triggers: Vec<String>,
    pub not_for: Vec<String>,
    /// Notes on past problems.
    pub notes: Option<String>,
    pub promotion: Promotion,
}

/// A variable that a prompt takes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PromptInput {
    pub name: String,
    /// Whether it must have a value.
    pub required: bool,
    /// The value used if none is given.
    pub default: Option<String>,
}

/// A prompt's own settings for its gates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Promotion {
    /// The number of uses that each transition needs.
    pub min_uses: [Option<u64>; 2],
    /// Whether a green evaluation is needed.
    pub require_eval: Option<bool>,
    /// Whether only uses whose command exited with 0 count.
    pub require_exit_zero: Option<bool>,
    /// Rows before this time do not count.
    pub since: Option<Timestamp>,
}

/// All problems of a `meta.yml` at once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", problems.join("; "))]
pub struct MetaError {
    /// One message per problem.
    pub problems: Vec<String>,
}

const REQUIRED: [&str; 7] = ["id", "title", "summary", "status", "version", "created", "updated"];

impl Promotion {
    /// The number of uses that a transition needs, if the prompt sets it.
    pub fn min_uses(&self, transition: Transition) -> Option<u64> {
        match transition {
            Transition::DraftToTested => self.min_uses[0],
            Transition::TestedToReady => self.min_uses[1],
        }
    }
}

impl Meta {
    /// Parses a `meta.yml`. Unknown keys are ignored: they may belong to other tools.
    pub fn parse(text: &str) -> Result<Self, MetaError> {
        let one = |error: FlatError| MetaError { problems: vec![error.to_string()] };
        let node = yml::parse(text).map_err(one)?;
        map(&node, "meta.yml").map_err(one)?;
        let mut reader = MetaReader { node: &node, problems: Vec::new() };
        let [id, title, summary, status, version, created, updated] =
            REQUIRED.map(|key| reader.required(key));
        let meta = Self {
            id,
            title,
            summary,
            status: reader.status(&status),
            version,
            created,
            updated,
            tags: reader.list("tags"),
            model: reader.optional("model"),
            inputs: reader.read("inputs", inputs),
            description: reader.optional("description"),
            triggers: reader.list("triggers"),
            not_for: reader.list("not_for"),
            notes: reader.optional("notes"),
            promotion: reader.read("promotion", promotion),
        };
        match reader.problems.as_slice() {
            [] => Ok(meta),
            _ => Err(MetaError { problems: reader.problems }),
        }
    }

    /// The input with a name.
    pub fn input(&self, name: &str) -> Option<&PromptInput> {
        self.inputs.iter().find(|input| input.name == name)
    }
}

struct MetaReader<'n> {
    node: &'n Node,
    problems: Vec<String>,
}

impl MetaReader<'_> {
    fn required(&mut self, key: &str) -> String {
        let text = self.optional(key).unwrap_or_default();
        if text.trim().is_empty() {
            self.problems.push(format!("`{key}` is missing or blank"));
        }
        text
    }

    fn status(&mut self, text: &str) -> PromptStatus {
        let status = PromptStatus::from_name(text);
        if status.is_none() && !text.trim().is_empty() {
            self.problems.push(format!("`status` is draft, tested or ready, not `{text}`"));
        }
        status.unwrap_or(PromptStatus::Draft)
    }

    fn optional(&mut self, key: &str) -> Option<String> {
        self.read(key, |node, key| scalar(node, key).map(Some)).filter(|text| !text.is_empty())
    }

    fn list(&mut self, key: &str) -> Vec<String> {
        self.read(key, texts)
    }

    fn read<T: Default>(
        &mut self,
        key: &str,
        read: impl Fn(&Node, &str) -> Result<T, FlatError>,
    ) -> T {
        let Some(node) = self.node.get(&[key]) else { return T::default() };
        read(node, key).unwrap_or_else(|error| {
            self.problems.push(error.to_string());
            T::default()
        })
    }
}

fn inputs(node: &Node, key: &str) -> Result<Vec<PromptInput>, FlatError> {
    items(node, key)?.iter().map(|item| input(item, key)).collect()
}

fn input(node: &Node, key: &str) -> Result<PromptInput, FlatError> {
    // `inputs: [name]` is a common shorthand.
    if let Some(name) = node.text() {
        return Ok(PromptInput { name: name.to_owned(), ..PromptInput::default() });
    }
    let mut input = PromptInput::default();
    for (name, value) in map(node, key)? {
        match name.as_str() {
            "name" => input.name = scalar(value, "name")?,
            "required" => input.required = truth(value, "required")?,
            "default" => input.default = Some(scalar(value, "default")?),
            _ => (),
        }
    }
    match super::vars::is_key(&input.name) {
        true => Ok(input),
        false => {
            Err(FlatError::new(node.line, format!("`{}` is not a name of an input", input.name)))
        }
    }
}

fn promotion(node: &Node, key: &str) -> Result<Promotion, FlatError> {
    const KNOWN: [&str; 4] = ["min_uses", "require_eval", "require_exit_zero", "since"];
    let mut promotion = Promotion::default();
    for (name, value) in map(node, key)? {
        match name.as_str() {
            "min_uses" => promotion.min_uses = min_uses(value)?,
            "require_eval" => promotion.require_eval = Some(truth(value, "require_eval")?),
            "require_exit_zero" => {
                promotion.require_exit_zero = Some(truth(value, "require_exit_zero")?);
            }
            "since" => promotion.since = Some(moment(value, "since")?),
            _ => return Err(yml::unknown(value, &name, &KNOWN)),
        }
    }
    Ok(promotion)
}

/// A date, which means midnight UTC, or a timestamp.
fn moment(node: &Node, key: &str) -> Result<Timestamp, FlatError> {
    let text = scalar(node, key)?;
    let midnight = || format!("{text}T00:00:00Z").parse().ok();
    let moment = text.parse().ok().or_else(midnight);
    moment.ok_or_else(|| {
        FlatError::new(node.line, format!("`{key}` is a day or a moment, not `{text}`"))
    })
}

/// One number for both transitions, or one for each.
fn min_uses(node: &Node) -> Result<[Option<u64>; 2], FlatError> {
    if node.text().is_some() {
        return number(node, "min_uses").map(|number| [Some(number); 2]);
    }
    let mut both = [None; 2];
    for (name, value) in map(node, "min_uses")? {
        match Transition::from_name(&name) {
            Some(Transition::DraftToTested) => both[0] = Some(number(value, &name)?),
            Some(Transition::TestedToReady) => both[1] = Some(number(value, &name)?),
            None => {
                let known: Vec<_> = Transition::ALL.iter().map(|known| known.name()).collect();
                return Err(yml::unknown(value, &name, &known));
            }
        }
    }
    Ok(both)
}

/// The file with new values for top-level keys and every other byte unchanged. A key that is not on
/// a line of its own with its value is an error, because the edit could not be verified.
pub fn edited(text: &str, pairs: &[(&'static str, &str)]) -> Result<String, &'static str> {
    let mut text = text.to_owned();
    for (key, value) in pairs {
        text = with_value(&text, key, value).ok_or(*key)?;
    }
    let node = yml::parse(&text).ok();
    let says = |key: &str| node.as_ref()?.get(&[key])?.text();
    match pairs.iter().find(|(key, value)| says(key) != Some(*value)) {
        Some((key, _)) => Err(key),
        None => Ok(text),
    }
}

fn with_value(text: &str, key: &str, value: &str) -> Option<String> {
    let mut found = false;
    let lines = text.split_inclusive('\n').map(|line| {
        match line.strip_prefix(key).and_then(|rest| rest.strip_prefix(':')) {
            Some(rest) if !found && rest.starts_with([' ', '\t', '\n', '\r']) => {
                found = true;
                format!("{key}: {value}{}", after_value(rest))
            }
            _ => line.to_owned(),
        }
    });
    let edited: String = lines.collect();
    found.then_some(edited)
}

/// The comment and the line ending after a replaced value.
fn after_value(rest: &str) -> String {
    let content = rest.trim_end_matches(['\n', '\r']);
    let end = &rest[content.len()..];
    let value = content.trim_start();
    // A `#` between quotes is not a comment. Edited values contain no quotes.
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let rest = match quote.and_then(|quote| value[1..].split_once(quote)) {
        Some((_, rest)) => rest,
        None => content,
    };
    let comment = rest.find(" #").map_or("", |at| &rest[at..]);
    format!("{}{end}", comment.trim_end())
}

#[cfg(test)]
pub(super) fn tests_meta(status: PromptStatus) -> Meta {
    let text = format!(
        "id: x\ntitle: X\nsummary: S.\nstatus: {status}\nversion: 1.0.0\ncreated: 2026-05-01\nupdated: 2026-05-01\n"
    );
    Meta::parse(&text).expect("the sample is whole")
}

#[cfg(test)]
mod tests {
    use super::*;

    const META: &str = "# kept\nid: greet\ntitle: Greet\nsummary: Says hello.\nstatus: draft   # for now\n\
        version: 1.10\ncreated: 2026-05-01\nupdated: '2026-05-02'\ninputs:\n  - name: who\n    required: true\n  \
        - name: tone\n    default: warm\npromotion:\n  min_uses: 5\n";

    #[test]
    fn everything_is_read() {
        let meta = Meta::parse(META).unwrap();
        assert_eq!(
            (meta.id.as_str(), meta.status, meta.version.as_str()),
            ("greet", PromptStatus::Draft, "1.10")
        );
        assert!(meta.input("who").unwrap().required);
        assert_eq!(meta.input("tone").unwrap().default.as_deref(), Some("warm"));
        assert_eq!(meta.promotion.min_uses(Transition::TestedToReady), Some(5));
    }

    #[test]
    fn every_problem_at_once() {
        let error =
            Meta::parse("id: x\ntitle: ' '\nstatus: done\ninputs: who\npromotion:\n  min_use: 1\n")
                .unwrap_err();
        let text = error.to_string();
        for part in [
            "`title` is missing",
            "`summary` is",
            "not `done`",
            "unknown key `min_use`",
            "`inputs` is a list",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(Meta::parse("").is_err());
        assert!(Meta::parse("- a").is_err());
    }

    #[test]
    fn a_number_for_each_transition() {
        let text = META.replace("min_uses: 5", "min_uses: { tested_to_ready: 7 }");
        let promotion = Meta::parse(&text).unwrap().promotion;
        assert_eq!(promotion.min_uses(Transition::DraftToTested), None);
        assert_eq!(promotion.min_uses(Transition::TestedToReady), Some(7));
    }

    #[test]
    fn a_day_or_a_moment_to_count_from() {
        let since = |text: &str| {
            let text = META.replace("min_uses: 5", &format!("since: {text}"));
            Meta::parse(&text).map(|meta| meta.promotion.since.unwrap().to_string())
        };
        assert_eq!(since("2026-05-01").unwrap(), "2026-05-01T00:00:00Z");
        assert_eq!(since("2026-05-01T12:00:00+02:00").unwrap(), "2026-05-01T10:00:00Z");
        assert!(since("May").unwrap_err().to_string().contains("not `May`"));
    }

    #[test]
    fn an_edit_touches_one_line() {
        let one = |text: &str, key, value| edited(text, &[(key, value)]);
        let tested = one(META, "status", "tested").unwrap();
        assert_eq!(tested, META.replace("status: draft   #", "status: tested #"));
        assert_eq!(Meta::parse(&tested).unwrap().status, PromptStatus::Tested);
        let both = edited(META, &[("status", "tested"), ("updated", "2026-06-01")]).unwrap();
        assert!(both.contains("tested") && both.contains("\nupdated: 2026-06-01\ninputs:"));
        assert_eq!(one("a: 'x # y'  # z\n", "a", "b").unwrap(), "a: b # z\n");
        assert_eq!(one("a: \"x # y\"\n", "a", "b").unwrap(), "a: b\n");
        assert_eq!(one("a: 1\r\nb: 2", "b", "3").unwrap(), "a: 1\r\nb: 3");
        assert_eq!(one(META, "name", "x"), Err("name"));
        assert_eq!(one("{a: 1}", "a", "2"), Err("a"));
        assert_eq!(one("a: >\n  1\n", "a", "2"), Err("a"));
    }
}
