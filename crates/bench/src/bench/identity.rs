//! `bench identity`: the same corpus gives the same bytes, however it came into the brain.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use gbrain_bench::campaign::identity::{
    Comparison, Route, Way, compare, demo, markdown, questions,
};
use gbrain_bench::campaign::scaffold::say;
use gbrain_bench::program::built_program;
use gbrain_testkit::engine::Engine::{Postgres, Sqlite};

#[derive(Debug, Parser)]
pub(crate) struct IdentityArgs {
    /// Pages of the markdown trees, beside the demo corpus.
    #[arg(long, default_value_t = 3_000)]
    pages: usize,
    /// Edits and deletions of the brains that have a history.
    #[arg(long, default_value_t = 1_000)]
    changes: usize,
    /// Questions to every brain.
    #[arg(long, default_value_t = 300)]
    questions: usize,
    /// Questions that the binary is asked, in a process each.
    #[arg(long, default_value_t = 40)]
    sample: usize,
    /// The seed of questions, pieces and histories.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The binary [default: built from these sources].
    #[arg(long)]
    program: Option<PathBuf>,
}

/// Compares, and fails on any difference.
pub(crate) fn run(args: &IdentityArgs) -> Result<ExitCode> {
    let program = args.program.clone().map_or_else(built_program, Ok)?;
    let mut corpus = demo()?;
    corpus.extend(markdown(&super::data_dir()?, args.pages, args.changes / 2)?);
    let questions = questions(&corpus, args.questions, args.seed);
    let way = |engine, threads, route| Way { engine, threads, route };
    let ways = [
        way(Sqlite, 1, Route::Whole),
        way(Sqlite, 2, Route::Pieces(5)),
        way(Sqlite, 8, Route::History(args.changes)),
        way(Postgres, 8, Route::Whole),
        way(Postgres, 1, Route::Pieces(3)),
        way(Postgres, 2, Route::History(args.changes)),
    ];
    let start = Instant::now();
    say(format!("{} pages, {} questions, seed {}", corpus.files.len(), questions.len(), args.seed));
    let comparison = Comparison {
        corpus: &corpus,
        questions: &questions,
        ways: &ways,
        binary: Some((program, args.sample)),
        seed: args.seed,
    };
    let report = compare(&comparison, &|text| say(format!("  {text}")))?;
    report.print();
    say(format!("{} s", start.elapsed().as_secs()));
    Ok(ExitCode::from(u8::from(!report.differences.is_empty())))
}
