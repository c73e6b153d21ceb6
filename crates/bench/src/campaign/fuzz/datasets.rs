//! Invariants of datasets and of compared results.

use std::io::Write as _;
use std::path::Path;

use fastrand::Rng;
use flate2::Compression;
use flate2::write::GzEncoder;
use gbrain_core::benchmark::{Granularity, Haystack};
use gbrain_core::compare::{CompareOptions, ResultTable, compare};
use gbrain_core::fault::chain;
use gbrain_core::format::benchmark::BenchmarkResult;
use gbrain_core::format::result::{Judge, read};
use gbrain_core::measure::Measure;
use gbrain_core::qrels::Qrels;
use gbrain_core::report::json::CompareReport;
use gbrain_core::report::{Queries, markdown, text};
use gbrain_eval::EvalError;
use gbrain_eval::benchmark::{Collection, LongMemEval, locomo, read_entry};

use super::promises::{Broken, Tools, check_words, require};
use super::reports::{check_markdown, check_page, check_text, web_page};

/// The judgements that runs are measured against.
const QRELS: &[u8] = b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n";

/// Datasets: every document has a name, every question a text, packed they are the same, and a
/// refusal names the file.
pub(super) fn check_dataset(bytes: &[u8], tools: &Tools, rng: &mut Rng) -> Result<(), Broken> {
    let failed = |error: std::io::Error| error.to_string();
    let dir = tools.dir.path().join("dataset");
    std::fs::create_dir_all(dir.join("qrels")).map_err(failed)?;
    let path = dir.join("corpus.jsonl");
    std::fs::write(&path, bytes).map_err(failed)?;
    let plain = [entries(&path), all(locomo(&path))];
    for read in &plain {
        check_haystacks(read)?;
    }
    if rng.u8(..4) == 0 {
        let packed = dir.join("corpus.json.gz");
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        let whole = encoder.write_all(bytes).and_then(|()| encoder.finish()).map_err(failed)?;
        std::fs::write(&packed, whole).map_err(failed)?;
        let unpacked = [entries(&packed), all(locomo(&packed))];
        let same = plain.iter().zip(&unpacked).all(|(one, other)| match (one, other) {
            (Ok(one), Ok(other)) => one == other,
            (one, other) => one.is_err() && other.is_err(),
        });
        require(same, || "packed, it is another dataset".to_owned())?;
    }
    std::fs::write(dir.join("queries.jsonl"), bytes).map_err(failed)?;
    std::fs::write(dir.join("qrels/test.tsv"), bytes).map_err(failed)?;
    let collection = Collection::of_folder(&dir).and_then(|files| files.read());
    check_haystacks(&all(collection.map(|haystack| vec![haystack])))
}

type Read = Result<Vec<Haystack>, String>;

/// The error with all its sources.
fn all(read: Result<Vec<Haystack>, EvalError>) -> Read {
    read.map_err(|error| chain(&error))
}

fn entries(path: &Path) -> Read {
    let read = || {
        let mut entries = LongMemEval::open(path)?;
        let mut haystacks = Vec::new();
        while let Some((number, entry)) = entries.next_entry()? {
            haystacks.push(read_entry(path, number, &entry)?);
        }
        Ok(haystacks)
    };
    all(read())
}

fn check_haystacks(read: &Read) -> Result<(), Broken> {
    let haystacks = match read {
        Ok(haystacks) => haystacks,
        Err(words) => {
            require(words.contains("dataset"), || format!("no file in {words:?}"))?;
            return check_words(words);
        }
    };
    for haystack in haystacks {
        for question in &haystack.questions {
            let finite = question.gold.iter().all(|gold| gold.grade.is_finite());
            require(!question.id.is_empty() && finite, || format!("{question:?}"))?;
        }
        let turns: usize = haystack.documents.iter().map(|one| one.turns().len().max(1)).sum();
        let by_turn = haystack.clone().by(Granularity::Turn);
        require(by_turn.documents.len() <= turns, || "turns come from nowhere".to_owned())?;
        for problem in &haystack.problems {
            require(!format!("{problem:?}").is_empty(), || "a problem without words".to_owned())?;
        }
    }
    Ok(())
}

/// Results: values are numbers, a refusal names the file, and a result is as good as itself in every
/// form of report.
pub(super) fn check_result(bytes: &[u8]) -> Result<(), Broken> {
    let qrels = Qrels::parse(QRELS).map_err(|error| error.to_string())?;
    let measures = Measure::parse_list("nDCG@10 R@5 hit@1").map_err(|error| error.to_string())?;
    let judge = Judge { qrels: &qrels, measures: &measures };
    if let Ok(result) = serde_json::from_slice::<BenchmarkResult>(bytes) {
        serde_json::to_string(&result).map_err(|error| error.to_string())?;
    }
    for judge in [None, Some(judge)] {
        match read("results/a.json", bytes, judge) {
            Ok(measured) => check_measured(&measured)?,
            Err(error) => {
                let words = chain(&error);
                require(words.contains("results/a.json"), || format!("no file in {words:?}"))?;
                check_words(&words)?;
            }
        }
    }
    Ok(())
}

fn check_measured(measured: &ResultTable) -> Result<(), Broken> {
    let columns = measured.columns.len();
    for row in &measured.rows {
        let finite = row.values.iter().flatten().all(|value| value.is_finite());
        require(finite && row.values.len() == columns, || format!("{row:?} of {columns}"))?;
    }
    let options = CompareOptions { is_forced: true, primary: Vec::new() };
    let others = [ResultTable { name: "results/b.json".to_owned(), ..measured.clone() }];
    let comparison = match compare(measured, &others, &options) {
        Ok(comparison) => comparison,
        Err(reasons) => {
            return reasons.iter().try_for_each(|reason| check_words(&reason.to_string()));
        }
    };
    let moved = comparison.verdict() == gbrain_core::gate::Verdict::Fail;
    require(!moved, || "a result is worse than itself".to_owned())?;
    let report = CompareReport::new(&comparison);
    let json = serde_json::to_string(&report).map_err(|error| error.to_string())?;
    for queries in [Queries::Shown, Queries::Hashed] {
        check_markdown(&markdown::compare(&comparison, queries))?;
    }
    check_page(&web_page(json)?)?;
    check_text(&text::compare(&comparison, 5))
}
