//! What must hold for any input.

use std::path::{Path, PathBuf};

use fastrand::Rng;
use gbrain_brain::import::{ImportOptions, StoredTexts, import};
use gbrain_brain::{Brain, BrainError, BrainOptions, IndexKind};
use gbrain_core::chunk::{self, MAX_CHARS};
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, Slug, SourceId, WorkspaceId};
use gbrain_core::page::{Page, PageFormat, PageInput, parse, slug_of_path};
use gbrain_core::request::Viewer;
use gbrain_core::scrub::{MARKER, Scrubber};
use gbrain_core::search::{intent, relation, snippet};
use gbrain_core::text::{self, QueryTerms};
use gbrain_store::{Location, OpenMode};
use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;

use super::input::Input;
use super::parser::Parser;
use super::peer::Peer;
use super::program::Site;
use super::{
    baselines, datasets, files, flags, index_files, judgements, models, prompts, remote, reports,
    settings, targets,
};
use crate::campaign::identity::{Question, ask, demo};

/// What is broken, in words.
pub(super) type Broken = String;

/// The password that inputs hold where passwords stand. It is in no error, and shown nowhere.
pub(super) const SECRET: &str = "hunter2x-secret";

/// What checks work with.
pub(super) struct Tools {
    pub(super) brains: Brains,
    /// A server that says what a case wants.
    pub(super) peer: Peer,
    /// A directory for the files of a case.
    pub(super) dir: TempDir,
    /// The program, where it is tried.
    site: Option<Site>,
}

impl Tools {
    pub(super) fn new(program: Option<&Path>) -> anyhow::Result<Self> {
        Ok(Self {
            brains: Brains::new()?,
            peer: Peer::start()?,
            dir: tempfile::Builder::new().prefix("gbrain-fuzz-case-").tempdir()?,
            site: program.map(Site::start).transpose()?,
        })
    }
}

/// The demo brain behind both indexes.
pub(super) struct Brains {
    disk: Brain,
    memory: Brain,
    home: TempDir,
}

impl Brains {
    fn new() -> anyhow::Result<Self> {
        let home = tempfile::Builder::new().prefix("gbrain-home-").tempdir()?;
        let now = Timestamp::now();
        let open = |index| open(home.path(), index, home.path().join("index"));
        let (disk, memory) = (open(IndexKind::Disk)?, open(IndexKind::Memory)?);
        for source in demo()?.sources() {
            let source = SourceId::new(source)?;
            disk.ensure_source(&source, now)?;
            let dir =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/demo").join(source.as_str());
            let options = ImportOptions {
                source,
                threads: Some(1),
                allow_empty: false,
                halt: None,
                stored: StoredTexts::Check,
            };
            import(&disk, &[dir], &options, now, &|_| ())?;
        }
        Ok(Self { disk, memory, home })
    }

    pub(super) fn index_dir(&self) -> PathBuf {
        self.home.path().join("index")
    }

    /// The same brain with an index elsewhere.
    pub(super) fn open_at(&self, index_dir: PathBuf) -> Result<Brain, BrainError> {
        open(self.home.path(), IndexKind::Disk, index_dir)
    }

    pub(super) fn disk(&self) -> &Brain {
        &self.disk
    }

    pub(super) fn memory(&self) -> &Brain {
        &self.memory
    }
}

fn open(home: &Path, index: IndexKind, index_dir: PathBuf) -> Result<Brain, BrainError> {
    let options = BrainOptions {
        location: Location::Sqlite(home.join("brain.db")),
        mode: OpenMode::Use,
        index,
        index_dir,
        workspace: WorkspaceId::default(),
        models: gbrain_brain::built_in_models(),
    };
    Brain::open(options, Timestamp::now())
}

/// Checks every promise about an input.
pub(super) fn check(input: &Input, tools: &Tools) -> Result<(), Broken> {
    check_scrubbed(&String::from_utf8_lossy(input.bytes()))?;
    match input {
        Input::Page { text, format } => check_page(text, *format),
        Input::Query(question) => check_query(question, &tools.brains),
        Input::File { parser, bytes, seed } => {
            check_file(*parser, bytes, tools, &mut Rng::with_seed(*seed))
        }
    }
}

fn check_file(parser: Parser, bytes: &[u8], tools: &Tools, rng: &mut Rng) -> Result<(), Broken> {
    match parser {
        Parser::Captures => baselines::check_captures(bytes),
        Parser::Publish => baselines::check_publish(bytes, rng),
        Parser::Replay => baselines::check_replay(bytes, &tools.brains, rng),
        Parser::Qrels => judgements::check_qrels(bytes, rng),
        Parser::Beir => judgements::check_beir(bytes),
        Parser::Run => judgements::check_run(bytes, rng),
        Parser::Measures => judgements::check_names(bytes),
        Parser::Audit => baselines::check_audit(bytes),
        Parser::Report => reports::check_report(bytes, rng),
        Parser::Signed => baselines::check_signed(bytes, rng),
        Parser::Settings => settings::check_settings(bytes),
        Parser::Prices => models::check_prices(bytes),
        Parser::Suites => settings::check_suites(bytes),
        Parser::Queries => files::check_queries(bytes),
        Parser::Rows => files::check_rows(bytes, tools),
        Parser::Flags => flags::check_flags(bytes),
        Parser::Location => flags::check_location(bytes),
        Parser::Cassette => models::check_cassette(bytes, tools),
        Parser::Provider => models::check_provider(bytes, rng),
        Parser::Reply => models::check_reply(bytes),
        Parser::Answer => targets::check_answer(bytes, rng),
        Parser::Saved => targets::check_saved(bytes),
        Parser::Remote => remote::check_remote(bytes, tools, rng),
        Parser::Mail => remote::check_mail(bytes, tools, rng),
        Parser::Dataset => datasets::check_dataset(bytes, tools, rng),
        Parser::Result => datasets::check_result(bytes),
        Parser::Prompt => prompts::check_prompt(bytes, tools, rng),
        Parser::Usage => prompts::check_usage(bytes, rng),
        Parser::Index => index_files::check_index(bytes, tools, rng),
        Parser::Http | Parser::Mcp | Parser::Config => {
            let site = tools.site.as_ref().ok_or("there is no program")?;
            match parser {
                Parser::Http => site.check_http(bytes),
                Parser::Mcp => site.check_mcp(bytes),
                _ => site.check_config(bytes),
            }
        }
    }
}

/// A refusal says something, in a bounded number of words, and holds no password.
pub(super) fn check_words(words: &str) -> Result<(), Broken> {
    require(words.trim().len() > 3, || format!("refused with {words:?}"))?;
    require(!shows_password(words), || format!("a password is told: {words}"))
}

/// Whether a text has the password where a password stands: in an address or behind its keyword.
pub(super) fn shows_password(text: &str) -> bool {
    [format!(":{SECRET}@"), format!("password={SECRET}")].iter().any(|form| text.contains(form))
}

pub(super) fn require(holds: bool, what: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(what()) }
}

fn check_page(content: &str, format: PageFormat) -> Result<(), Broken> {
    // Any text may be a file's name too.
    let name: String = content.chars().take(80).collect();
    if let Ok(slug) = slug_of_path(&name) {
        require(Slug::new(slug.as_str()).is_ok(), || {
            format!("{name:?} becomes a slug that is refused: {slug}")
        })?;
    }
    check_text(content)?;
    let key =
        PageKey::new(SourceId::default(), Slug::new("notes/x").map_err(|error| error.to_string())?);
    let input = PageInput { key, file_name: Some("2026-05-01 x.md"), content, format };
    let page = match parse(input.clone()) {
        Ok(page) => page,
        Err(error) => {
            return require(!error.to_string().is_empty(), || "an error without words".to_owned());
        }
    };
    require(parse(input).as_ref() == Ok(&page), || "parsed twice, it is two pages".to_owned())?;
    require(!page.title.trim().is_empty(), || "no title".to_owned())?;
    check_chunks(&page)?;
    check_links(&page)
}

fn check_chunks(page: &Page) -> Result<(), Broken> {
    let texts = chunk::texts(&page.content, &page.chunks);
    let length = page.content.chars().count();
    for (at, (chunk, text)) in page.chunks.iter().zip(&texts).enumerate() {
        require(chunk.ordinal as usize == at, || {
            format!("chunk {at} has ordinal {}", chunk.ordinal)
        })?;
        let fits = chunk.start < chunk.end && chunk.end as usize <= length;
        require(fits, || format!("chunk {at} is {}..{} of {length}", chunk.start, chunk.end))?;
        require(chunk.hash == Hash::of(text.as_bytes()), || {
            format!("chunk {at} has another hash")
        })?;
        require(text.chars().count() <= MAX_CHARS, || format!("chunk {at} is too long"))?;
    }
    for pair in page.chunks.windows(2) {
        let ascend = pair[0].start < pair[1].start && pair[0].end < pair[1].end;
        require(ascend, || format!("chunk {} is not before the next", pair[0].ordinal))?;
    }
    Ok(())
}

fn check_links(page: &Page) -> Result<(), Broken> {
    let length = page.content.chars().count();
    for link in &page.links {
        let (start, end) = (link.evidence_start as usize, link.evidence_end as usize);
        require(start < end && end <= length, || format!("evidence {start}..{end} of {length}"))?;
        require((0.0..=1.0).contains(&link.confidence), || {
            format!("confidence {}", link.confidence)
        })?;
        require(!link.target.is_empty(), || "a link to nothing".to_owned())?;
        let chunk = link.evidence_chunk.map(|at| page.chunks.get(at as usize));
        require(chunk != Some(None), || "evidence in a chunk that is not there".to_owned())?;
    }
    for take in &page.takes {
        require((0.0..=1.0).contains(&take.weight), || format!("weight {}", take.weight))?;
    }
    Ok(())
}

/// Analysis, spans and snippets stay on the text's characters.
fn check_text(content: &str) -> Result<(), Broken> {
    let mut broken = None;
    text::analyse(content, &mut |token| {
        let fits = token.start < token.end && content.get(token.start..token.end).is_some();
        let short = token.exact.len().max(token.stem.len()) <= text::MAX_TOKEN_BYTES;
        if !fits || !short || token.stem.is_empty() {
            broken = Some(format!("token {token:?}"));
        }
    });
    broken.map_or(Ok(()), Err)?;
    let query: String = content.chars().skip(content.len() / 7).take(60).collect();
    let terms = QueryTerms::of(&query);
    let found = text::matches(content, &terms);
    let length = content.chars().count();
    for pair in found.spans.windows(2) {
        require(pair[0].end <= pair[1].start, || format!("spans overlap: {pair:?}"))?;
    }
    let inside =
        found.spans.iter().all(|span| span.start < span.end && span.end as usize <= length);
    require(inside, || format!("a span is outside of {length} characters"))?;
    let shown = snippet::snippet(content, &found.spans, 240);
    let width = shown.text.chars().count();
    let inside = shown.highlights.iter().all(|(start, end)| start < end && *end as usize <= width);
    require(inside, || format!("a highlight of {:?} is outside of {width}", shown.highlights))
}

/// Ranges are parts of the text, every one of them becomes one marker, and twice is once.
fn check_scrubbed(text: &str) -> Result<(), Broken> {
    let scrubber = Scrubber::default();
    let scrubbed = scrubber.scrub(text);
    for found in &scrubbed.found {
        let fits = found.start < found.end && text.get(found.start..found.end).is_some();
        require(fits, || format!("{found:?} is no part of the text"))?;
    }
    for pair in scrubbed.found.windows(2) {
        require(pair[0].end <= pair[1].start, || format!("found twice: {pair:?}"))?;
    }
    let markers = |text: &str| text.matches(MARKER).count();
    let (before, after) = (markers(text), markers(&scrubbed.text));
    require(after == before + scrubbed.found.len(), || {
        format!("{after} markers, {before} of them from before, for {} found", scrubbed.found.len())
    })?;
    let again = scrubber.find(&scrubbed.text);
    require(again.is_empty(), || format!("scrubbed, it still has {again:?}"))
}

fn check_query(question: &Question, brains: &Brains) -> Result<(), Broken> {
    let query = &question.request.query;
    if let Some(question) = relation::parse(query) {
        require(!question.seeds.is_empty(), || "a relational question about nothing".to_owned())?;
    }
    intent::classify(query);
    let answer = |brain| ask(brain, question).map_err(|error| format!("an error: {error:#}"));
    let (disk, memory) = (answer(&brains.disk)?, answer(&brains.memory)?);
    require(disk == memory, || format!("disk answers {disk} and memory {memory}"))?;
    let disk: Value = serde_json::from_str(&format!("{}}}", disk.trim_end_matches(',')))
        .map_err(|error| error.to_string())?;
    let hits = disk["hits"].as_array().cloned().unwrap_or_default();
    require(hits.len() <= question.request.limit, || format!("{} hits", hits.len()))?;
    let mut names: Vec<String> = Vec::new();
    for (at, hit) in hits.iter().enumerate() {
        check_hit(question, at, hit)?;
        names.push(format!("{}::{}", hit["source_id"], hit["slug"]));
    }
    names.sort();
    names.dedup();
    require(names.len() == hits.len(), || "a page comes twice".to_owned())
}

fn check_hit(question: &Question, at: usize, hit: &Value) -> Result<(), Broken> {
    require(hit["rank"] == at + 1, || format!("rank {} at {at}", hit["rank"]))?;
    require(hit["score"].as_f64().is_some_and(f64::is_finite), || {
        format!("score {}", hit["score"])
    })?;
    let is_private = hit["slug"] == "concepts/compensation-notes-2026";
    let may_see = question.request.filter.trust == Viewer::Trusted;
    require(may_see || !is_private, || "a private page for an untrusted caller".to_owned())?;
    for passage in hit["passages"].as_array().into_iter().flatten() {
        let width = passage["snippet"].as_str().map_or(0, |snippet| snippet.chars().count() as u64);
        for span in passage["highlights"].as_array().into_iter().flatten() {
            let inside = span[0].as_u64() < span[1].as_u64() && span[1].as_u64() <= Some(width);
            require(inside, || format!("highlight {span} of {width}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_seen_in_a_url_and_as_a_parameter() {
        assert!(shows_password(&format!("postgres://ada:{SECRET}@db.example/brain")));
        assert!(shows_password(&format!("host=h user=ada password={SECRET} dbname=brain")));
        assert!(!shows_password("postgres://ada@db.example/brain (password not shown)"));
    }
}
