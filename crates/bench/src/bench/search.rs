//! `bench search`: how long answers take, beside bare tantivy on the same terms and index, and
//! beside a bare scan of the same vectors.
//!
//! Warm, one thread. Every question is answered by all in turn, in rotating order; a question's
//! time is its median over the rounds, so that a neighbour's burst does not count. Bare tantivy
//! gets the terms ready made and reads nothing but its postings; the bare scan gets the query's
//! vector ready made and gives the numbers of the ten nearest.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use gbrain_core::chunk;
use gbrain_core::id::Generation;
use gbrain_core::ranking::StageTime;
use gbrain_core::request::Operation;
use gbrain_core::search::Settings;
use gbrain_core::text::QueryTerms;
use gbrain_embed::{Embedder as _, StaticTable};
use gbrain_index::{FlatVectors, VectorQuery};

use super::bare::TantivyIndex;
use super::build::{BuildTimes, ensure_built, read_questions};
use super::home::Home;
use super::machine::{disk_bytes, mib, status_kib};
use super::percentile::{mean, median, percentile, sorted};
use super::report::{Cell, Report};

const LIMIT: usize = 10;
const SEARCH_TARGET: f64 = 1.5;
const QUERY_TARGET: f64 = 1.5;
const SHARES: [f64; 3] = [0.50, 0.95, 0.99];
const HEADERS: [&str; 8] =
    ["what", "n", "p50 us", "p95 us", "p99 us", "p50 ratio", "p95 ratio", "p99 ratio"];

/// How long answers take, beside bare tantivy.
#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// How many chunks the brain has.
    #[arg(long, default_value_t = 100_000)]
    chunks: usize,
    /// Where the brain is kept between runs; made where there is none.
    #[arg(long)]
    dir: Option<PathBuf>,
    /// How often each question is asked.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// One way of answering, and how long it took.
struct Way {
    name: &'static str,
    how: How,
    /// Microseconds by question, then round.
    times: Vec<Vec<f64>>,
    /// Microseconds of every stage by question, summed over the rounds.
    stages: Vec<Vec<StageTime>>,
}

#[derive(Clone, Copy)]
enum How {
    Bare,
    Embed,
    Scan,
    Whole(Operation),
}

struct Answerers {
    home: Home,
    bare: TantivyIndex,
    table: StaticTable,
    vectors: FlatVectors,
    depth: usize,
}

pub(crate) fn run(args: &SearchArgs) -> Result<Report> {
    let temporary = tempfile::tempdir()?;
    let dir = args.dir.clone().unwrap_or_else(|| temporary.path().join("brain"));
    let built = ensure_built(args.chunks, &dir)?;
    let home = Home::open(&dir.join("home"))?;
    let questions = read_questions(&dir)?;
    let table = StaticTable::built_in();
    let vectors = vectors(&home, &table)?;
    let answerers = Answerers {
        bare: TantivyIndex::open(&home.tantivy_dir()?)?,
        depth: Settings::default().rescored_passages(vectors.len() as u64),
        vectors,
        table,
        home,
    };
    let ways = measure(&answerers, &questions, args.rounds)?;

    let mut report = Report::new("search", &HEADERS);
    let [bare, embed, scan, search, query] = &ways;
    let together: Vec<f64> = (0..questions.len())
        .map(|at| [bare, embed, scan].iter().map(|way| median(&way.times[at])).sum())
        .collect();
    let bases = [percentiles(bare), percentiles_of(&together)];
    report.fact(
        "bare tantivy, embedding and bare scan together, p50, p95, p99 us",
        Cell::text(bases[1].map(|micros| format!("{micros:.0}")).join(", ")),
    );
    for way in &ways {
        let own = percentiles(way);
        let base = bases[usize::from(std::ptr::eq(way, query))];
        let mut cells = vec![Cell::text(way.name), Cell::Count(questions.len() as u64)];
        cells.extend(own.map(|micros| Cell::number(micros, 0)));
        cells.extend(ratios(own, base).map(|ratio| Cell::number(ratio, 2)));
        report.row(cells);
        stage_facts(way, &mut report);
    }
    let beside = ["bare tantivy", "bare tantivy, embedding and bare scan together"];
    let targets = [(search, SEARCH_TARGET), (query, QUERY_TARGET)];
    for ((way, target), (base, beside)) in targets.iter().zip(bases.iter().zip(beside)) {
        let ratios = ratios(percentiles(way), *base);
        let [p50, p95, p99] = ratios;
        let what = format!(
            "{} at most {target}x {beside}: {p50:.2} p50, {p95:.2} p95, {p99:.2} p99",
            way.name
        );
        report.target(what, ratios.iter().all(|ratio| ratio <= target));
    }
    size_facts(&answerers.home, &built, &answerers.bare, args.rounds, &mut report);
    Ok(report)
}

fn vectors(home: &Home, table: &StaticTable) -> Result<FlatVectors> {
    let (store, workspace) = (home.brain.store(), home.brain.workspace());
    let mut vectors = FlatVectors::new(table.centre());
    let mut at = Generation(0);
    loop {
        let batch = store.changes(workspace, at, 2000, 32 << 20)?;
        for page in batch.upserts.iter().map(|stored| &stored.page) {
            for text in chunk::texts(&page.content, &page.chunks) {
                vectors.push(&table.vector(&format!("{}\n{text}", page.title)));
            }
        }
        if batch.upto >= batch.head || batch.upto == at {
            return Ok(vectors);
        }
        at = batch.upto;
    }
}

fn measure(answerers: &Answerers, questions: &[String], rounds: usize) -> Result<[Way; 5]> {
    let way = |name, how| Way {
        name,
        how,
        times: vec![Vec::new(); questions.len()],
        stages: vec![Vec::new(); questions.len()],
    };
    let mut ways = [
        way("bare tantivy", How::Bare),
        way("embedding", How::Embed),
        way("bare scan", How::Scan),
        way("search", How::Whole(Operation::Search)),
        way("query", How::Whole(Operation::Query)),
    ];
    let terms: Vec<QueryTerms> =
        questions.iter().map(|question| QueryTerms::of(question)).collect();
    let nearest: Vec<Option<VectorQuery>> = questions
        .iter()
        .map(|question| Ok(VectorQuery::new(&answerers.table, question)?))
        .collect::<Result<_>>()?;
    // The first round warms up and does not count.
    for round in 0..=rounds {
        for (at, question) in questions.iter().enumerate() {
            for turn in 0..ways.len() {
                let count = ways.len();
                let way = &mut ways[(at + round + turn) % count];
                let begun = Instant::now();
                let stages = match way.how {
                    How::Bare => {
                        std::hint::black_box(answerers.bare.search(&terms[at])?);
                        Vec::new()
                    }
                    How::Embed => {
                        std::hint::black_box(answerers.table.vector(question));
                        Vec::new()
                    }
                    How::Scan => {
                        let scan = |query| answerers.vectors.nearest(query, answerers.depth, LIMIT);
                        std::hint::black_box(nearest[at].as_ref().map(scan));
                        Vec::new()
                    }
                    How::Whole(operation) => {
                        std::hint::black_box(answerers.home.answer(operation, question, LIMIT)?)
                            .served
                            .timings
                    }
                };
                let micros = begun.elapsed().as_nanos() as f64 / 1000.0;
                if round > 0 {
                    way.times[at].push(micros);
                    add_stages(&mut way.stages[at], stages);
                }
            }
        }
    }
    Ok(ways)
}

fn add_stages(sums: &mut Vec<StageTime>, stages: Vec<StageTime>) {
    for stage in stages {
        match sums.iter_mut().find(|sum| sum.stage == stage.stage) {
            Some(sum) => sum.micros += stage.micros,
            None => sums.push(stage),
        }
    }
}

fn percentiles(way: &Way) -> [f64; 3] {
    percentiles_of(&way.typical())
}

fn percentiles_of(times: &[f64]) -> [f64; 3] {
    let sorted = sorted(times);
    SHARES.map(|share| percentile(&sorted, share))
}

fn ratios(own: [f64; 3], base: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|at| own[at] / base[at])
}

impl Way {
    /// Each question's median.
    fn typical(&self) -> Vec<f64> {
        self.times.iter().map(|times| median(times)).collect()
    }
}

/// Where the time goes: means over all questions, and over the slowest twentieth.
fn stage_facts(way: &Way, report: &mut Report) {
    let How::Whole(operation) = way.how else { return };
    let typical = way.typical();
    let slow = percentile(&sorted(&typical), 0.95);
    let (all, slowest) = match operation {
        Operation::Search => ("search stages, mean us", "search stages of the slowest 5%, mean us"),
        Operation::Query => ("query stages, mean us", "query stages of the slowest 5%, mean us"),
    };
    report.fact(all, Cell::text(stage_means(way, |_| true)));
    report.fact(slowest, Cell::text(stage_means(way, |at| typical[at] >= slow)));
}

fn stage_means(way: &Way, is_counted: impl Fn(usize) -> bool) -> String {
    let rounds = way.times.first().map_or(1, Vec::len) as f64;
    let counted: Vec<&Vec<StageTime>> = way
        .stages
        .iter()
        .enumerate()
        .filter(|(at, _)| is_counted(*at))
        .map(|(_, stages)| stages)
        .collect();
    let mut names: Vec<&'static str> = Vec::new();
    for stage in counted.iter().flat_map(|stages| stages.iter()) {
        if !names.contains(&stage.stage) {
            names.push(stage.stage);
        }
    }
    let mean_of = |name: &str| {
        let micros = |stages: &&Vec<StageTime>| {
            stages
                .iter()
                .find(|stage| stage.stage == name)
                .map_or(0.0, |stage| stage.micros as f64 / rounds)
        };
        mean(&counted.iter().map(micros).collect::<Vec<_>>())
    };
    let shown: Vec<String> =
        names.iter().map(|name| format!("{name} {:.0}", mean_of(name))).collect();
    shown.join(", ")
}

fn size_facts(
    home: &Home,
    built: &BuildTimes,
    bare: &TantivyIndex,
    rounds: usize,
    report: &mut Report,
) {
    let is_index = |path: &std::path::Path| path.starts_with(home.dir.join("index"));
    let per_million = 1e6 / built.chunks.max(1) as f64;
    let index = mib(disk_bytes(&home.dir, is_index));
    let database = mib(disk_bytes(&home.dir, |path| !is_index(path)));
    let pages = built.real_pages + built.made_pages;
    report.fact("chunks", Cell::Count(built.chunks));
    report.fact("pages, real", Cell::Count(built.real_pages as u64));
    report.fact("pages, made", Cell::Count(built.made_pages as u64));
    report.fact("files that could not be imported", Cell::Count(built.failed as u64));
    report.fact("text, MiB", Cell::number(mib(built.bytes), 0));
    report.fact("segments", Cell::Count(bare.segments() as u64));
    report.fact("rounds", Cell::Count(rounds as u64));
    report.fact("import, s", Cell::number(built.import_seconds, 1));
    report.fact("import, pages/s", Cell::number(pages as f64 / built.import_seconds, 0));
    report.fact("import, peak MiB", Cell::number(built.import_peak_kib as f64 / 1024.0, 0));
    report.fact("searching, peak MiB", Cell::number(status_kib("VmHWM") as f64 / 1024.0, 0));
    report.fact("searching, anonymous MiB", Cell::number(status_kib("RssAnon") as f64 / 1024.0, 0));
    report.fact("index per million chunks, MiB", Cell::number(index * per_million, 0));
    report.fact("database per million chunks, MiB", Cell::number(database * per_million, 0));
}
