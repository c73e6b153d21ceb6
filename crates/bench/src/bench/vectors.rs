//! `bench vectors`: what the scan of one-bit codes loses and what it costs.
//!
//! Recall is that of the ten nearest by exact cosines of the model's own numbers. The scan's time
//! stands beside that of adding up the same bytes. Passages are those of the real trees, in
//! their order, and after them of pages made from their sentences.

use std::time::Instant;

use anyhow::Result;
use gbrain_bench::campaign::scaffold::progress;
use gbrain_core::chunk;
use gbrain_core::id::{PageKey, Slug, SourceId};
use gbrain_core::page::{PageFormat, PageInput, parse};
use gbrain_core::search::Settings;
use gbrain_embed::{Embedder as _, StaticTable};
use gbrain_index::{FlatVectors, VectorQuery};

use super::corpus::Corpus;
use super::data_dir;
use super::percentile::{median, percentile, sorted};
use super::questions::questions;
use super::report::{Cell, Report};

const K: usize = 10;
const DEPTHS: [usize; 5] = [100, 400, 1600, 3200, 12_800];
const LEAST_RECALL: f64 = 0.98;
const SEED: u64 = 3;
/// Cosines nearer than this are equal but for rounding.
const TIE: f32 = 1e-6;
const HEADERS: [&str; 6] =
    ["chunks", "depth", "n", "recall@10 of exact", "p50 us", "ratio to reading the codes"];

/// Measures the recall loss and the cost of the scan of one-bit codes.
#[derive(Debug, clap::Args)]
pub(crate) struct VectorsArgs {
    /// How many chunks; may be given again.
    #[arg(long = "chunks", default_values_t = [10_000, 100_000, 1_000_000])]
    sizes: Vec<usize>,
    /// How many questions.
    #[arg(long, default_value_t = 200)]
    questions: usize,
}

/// Vectors both ways.
struct Both {
    exact: Vec<f32>,
    flat: FlatVectors,
}

pub(crate) fn run(args: &VectorsArgs) -> Result<Report> {
    let scratch = tempfile::tempdir()?;
    let corpus = Corpus::load(&data_dir()?, scratch.path())?;
    let table = StaticTable::built_in();
    let asked: Vec<String> = questions(&corpus.held_out, args.questions, SEED);
    let largest = args.sizes.iter().copied().max().unwrap_or_default();
    progress(format!("reading {largest} chunks"));
    let mut passages = passages(&corpus, largest);
    let mut report = Report::new("vectors", &HEADERS);
    add_embedding(&table, &asked, &passages, &mut report);
    let mut sizes = args.sizes.clone();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    for size in sizes {
        passages.truncate(size);
        progress(format!("embedding {size} chunks"));
        let both = embed(&table, &passages);
        measure(&table, &both, &asked, &mut report)?;
    }
    Ok(report)
}

/// The passages of real pages, then of made ones.
fn passages(corpus: &Corpus, count: usize) -> Vec<String> {
    let generator = corpus.generator(SEED);
    let real = corpus.pages.iter().map(|page| page.text.clone());
    let made = (0..).map(|number| generator.page(number).1);
    let mut passages = Vec::with_capacity(count);
    for text in real.chain(made) {
        let key = PageKey::new(SourceId::default(), Slug::new("page").expect("a slug"));
        let format = PageFormat::Markdown;
        let Ok(page) = parse(PageInput { key, file_name: None, content: &text, format }) else {
            continue;
        };
        let texts = chunk::texts(&page.content, &page.chunks);
        passages.extend(texts.into_iter().map(|text| format!("{}\n{text}", page.title)));
        if passages.len() >= count {
            passages.truncate(count);
            break;
        }
    }
    passages
}

fn embed(table: &StaticTable, passages: &[String]) -> Both {
    let mut both = Both { exact: Vec::new(), flat: FlatVectors::new(table.centre()) };
    for passage in passages {
        let vector = table.vector(passage);
        both.flat.push(&vector);
        both.exact.extend(vector);
    }
    both
}

fn add_embedding(table: &StaticTable, asked: &[String], passages: &[String], report: &mut Report) {
    let per_text = |texts: &[String]| {
        let begun = Instant::now();
        for text in texts {
            std::hint::black_box(table.vector(text));
        }
        begun.elapsed().as_nanos() as f64 / 1000.0 / texts.len().max(1) as f64
    };
    per_text(asked);
    let query = median(&(0..20).map(|_| per_text(asked)).collect::<Vec<_>>());
    let sample = &passages[..passages.len().min(5000)];
    let pieces: usize = sample
        .iter()
        .map(|passage| {
            let mut count = 0;
            table.wordpiece().pieces(passage, |_| count += 1);
            count
        })
        .sum();
    let passage = median(&(0..3).map(|_| per_text(sample)).collect::<Vec<_>>());
    report.fact("embedding a question, us", Cell::number(query, 2));
    report.fact("embedding a chunk, us", Cell::number(passage, 1));
    report.fact("word pieces a chunk", Cell::number(pieces as f64 / sample.len() as f64, 0));
    report.target(format!("embedding a question takes {query:.2} us, below 20"), query < 20.0);
}

fn measure(table: &StaticTable, both: &Both, asked: &[String], report: &mut Report) -> Result<()> {
    let mut queries = Vec::new();
    for question in asked {
        if let Some(query) = VectorQuery::new(table, question)? {
            let vector = table.vector(question);
            queries.push((exact_tenth(both, &vector), vector, query));
        }
    }
    let reading = reading_time(both.flat.codes());
    let size = both.flat.len() as u64;
    let chosen = Settings::default().rescored_passages(size);
    let mut depths = [&DEPTHS[..], &[chosen]].concat();
    depths.sort_unstable();
    for depth in depths {
        let (mut recalls, mut times) = (Vec::new(), Vec::new());
        for (tenth, vector, query) in &queries {
            let begun = Instant::now();
            let found = both.flat.nearest(query, depth, K);
            times.push(begun.elapsed().as_nanos() as f64 / 1000.0);
            recalls.push(recall(both, *tenth, vector, &found));
        }
        let recall = recalls.iter().sum::<f64>() / recalls.len().max(1) as f64;
        let time = percentile(&sorted(&times), 0.5);
        report.row(vec![
            Cell::Count(size),
            Cell::Count(depth as u64),
            Cell::Count(recalls.len() as u64),
            Cell::number(recall, 4),
            Cell::number(time, 0),
            Cell::number(time / reading, 2),
        ]);
        if depth == chosen {
            let what =
                format!("{size} chunks: recall {recall:.4} at depth {depth}, the chosen one");
            report.target(what, recall >= LEAST_RECALL);
        }
    }
    Ok(())
}

/// The cosine of the tenth nearest by the model's own numbers.
fn exact_tenth(both: &Both, vector: &[f32]) -> f32 {
    let rows = both.exact.chunks_exact(vector.len());
    let mut cosines: Vec<f32> = rows.map(|row| cosine(row, vector)).collect();
    let tenth = K.min(cosines.len()).saturating_sub(1);
    *cosines.select_nth_unstable_by(tenth, |a, b| b.total_cmp(a)).1
}

fn cosine(row: &[f32], vector: &[f32]) -> f32 {
    let mut sums = [0f32; 16];
    for (a, b) in row.chunks_exact(16).zip(vector.chunks_exact(16)) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum()
}

/// The share of ten that are as near as the exact tenth. Passages come again word for word, so
/// which of several equals is found does not matter.
fn recall(both: &Both, tenth: f32, vector: &[f32], found: &[(u32, f64)]) -> f64 {
    let row = |at: u32| &both.exact[at as usize * vector.len()..][..vector.len()];
    let hits = found.iter().filter(|(at, _)| cosine(row(*at), vector) >= tenth - TIE).count();
    hits as f64 / K as f64
}

/// Microseconds to add up bytes eight at a time.
fn reading_time(bytes: &[u8]) -> f64 {
    let read = || {
        let begun = Instant::now();
        let words = bytes
            .chunks_exact(8)
            .map(|eight| u64::from_le_bytes(eight.try_into().expect("chunks are whole")));
        std::hint::black_box(words.fold(0u64, u64::wrapping_add));
        begun.elapsed().as_nanos() as f64 / 1000.0
    };
    median(&(0..50).map(|_| read()).collect::<Vec<_>>())
}
