//! The specification of a benchmark run: entered by the user, stored in a result, and run again.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use gbrain_brain::capture::software;
use gbrain_core::benchmark::{
    AnswerMode, Benchmark, ByType, DataProblem, DatasetRunLabel, Granularity, Haystack, LabelText,
    Recall, ReferenceOrder, abstention, count_problems, dataset_name, depth,
    describe_summary_by_type, known_as, measures_of, row_mismatches, run_id, summarise,
};
use gbrain_core::format::benchmark::{BenchmarkResult, WireRunCommand};
use gbrain_core::gate::Verdict;
use gbrain_core::provenance::Software;
use gbrain_core::search::{SettingError, Settings};
use gbrain_index::Models;
use rustc_hash::FxHashSet;
use serde_json::Value;

use super::dataset::{self, Collection, DatasetError, LongMemEval};
use super::rows::{BadRows, ResumeState, RowFile};
use super::run::{Answerer, BenchmarkOptions, Expander, NextHaystack, Retrieval, run};
use crate::{EvalError, OutputFile};

const MAX_K: usize = 1000;

/// The specification of a run: everything that the numbers depend on.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchmarkRunSpec {
    pub kind: Benchmark,
    /// The dataset: one file or folder; for `trec`, corpus, queries and judgements.
    pub files: Vec<PathBuf>,
    /// Only the first questions; `None` for all.
    pub limit: Option<usize>,
    /// Number of top documents that count.
    pub k: usize,
    pub retrieval: Retrieval,
    /// The unit that counts as a document in a chat: a session or a turn.
    pub granularity: Granularity,
    /// Seed of the random ranking.
    pub seed: u64,
    /// Search settings that differ from their defaults.
    pub settings: BTreeMap<String, String>,
    pub title: Option<String>,
}

/// Options that the numbers do not depend on.
pub struct RunOptions<'a> {
    /// Number of questions processed at once.
    pub concurrency: usize,
    pub models: Models,
    /// The expander and its model name.
    pub expander: Option<(Expander<'a>, &'a str)>,
    /// The answering model and its name.
    pub answerer: Option<(Answerer<'a>, &'a str)>,
    pub output: Option<&'a Path>,
    pub resume_from: Option<&'a Path>,
    /// Whether the row file ends with recall by type.
    pub by_type: bool,
    pub retrieval_log: Option<&'a Path>,
    /// Called with the resumed state, before any question.
    pub on_resume: &'a dyn Fn(&ResumeState),
    /// Called with every new row as a line.
    pub on_row: &'a mut dyn FnMut(&str),
}

pub struct BenchmarkRun {
    pub result: BenchmarkResult,
    /// Description of what its numbers depend on.
    pub labelled: LabelText,
    pub by_type: ByType,
    pub problems: Vec<DataProblem>,
}

impl BenchmarkRun {
    /// The question types whose recall is below a floor.
    pub fn below(&self, floor: Option<f64>) -> Vec<(&str, Recall)> {
        floor.map(|floor| self.by_type.below(floor)).unwrap_or_default()
    }

    /// A type below its floor fails; failed or degraded questions make the run inconclusive.
    pub fn verdict(&self, floor: Option<f64>) -> Verdict {
        let has = |count: &str| self.result.counts.get(count).is_some_and(|count| *count > 0);
        if !self.below(floor).is_empty() {
            Verdict::Fail
        } else if has("errors") || has("degraded") {
            Verdict::Inconclusive
        } else {
            Verdict::Pass
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BenchmarkSpecError {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("{benchmark} takes {takes}, but {found} paths were given")]
    Files { benchmark: &'static str, takes: &'static str, found: usize },
    #[error("unknown value `{value}` for `{flag}`")]
    Flag { flag: String, value: String },
}

impl BenchmarkRunSpec {
    /// The specification for a result file.
    pub fn wire(&self) -> WireRunCommand {
        let mut flags: BTreeMap<String, String> = BTreeMap::from([
            ("benchmark".to_owned(), self.kind.name().to_owned()),
            ("top-k".to_owned(), self.k.to_string()),
            ("granularity".to_owned(), self.granularity.name().to_owned()),
            ("seed".to_owned(), self.seed.to_string()),
        ]);
        flags.extend(self.limit.map(|limit| ("limit".to_owned(), limit.to_string())));
        if self.retrieval == Retrieval::Words {
            flags.insert("keyword-only".to_owned(), String::new());
        }
        let settings = self.settings.iter();
        flags.extend(settings.map(|(name, value)| (format!("set.{name}"), value.clone())));
        let files = self.files.iter().map(|path| path.display().to_string()).collect();
        WireRunCommand { files, flags }
    }

    /// The specification in a result file.
    pub fn of(asked: &WireRunCommand) -> Result<Self, BenchmarkSpecError> {
        let WireRunCommand { files, flags } = asked;
        let text = |flag: &str| flags.get(flag).map(String::as_str);
        let bad_flag = |flag: &str| BenchmarkSpecError::Flag {
            flag: flag.to_owned(),
            value: text(flag).unwrap_or("missing").to_owned(),
        };
        let kind = text("benchmark")
            .and_then(Benchmark::from_name)
            .ok_or_else(|| bad_flag("benchmark"))?;
        let granularity = text("granularity").and_then(Granularity::from_name);
        let number = |flag: &str| text(flag).and_then(|text| text.parse().ok());
        let limit = match text("limit") {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| bad_flag("limit"))?),
        };
        let settings = flags.iter().filter_map(|(flag, value)| {
            Some((flag.strip_prefix("set.")?.to_owned(), value.clone()))
        });
        Ok(Self {
            kind,
            files: files.iter().map(PathBuf::from).collect(),
            limit,
            k: number("top-k")
                .filter(|k| (1..=MAX_K).contains(k))
                .ok_or_else(|| bad_flag("top-k"))?,
            retrieval: match text("keyword-only") {
                Some(_) => Retrieval::Words,
                None => Retrieval::Hybrid,
            },
            granularity: granularity.ok_or_else(|| bad_flag("granularity"))?,
            seed: text("seed")
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| bad_flag("seed"))?,
            settings: settings.collect(),
            title: None,
        })
    }

    /// The search settings: the defaults with the changes of this run.
    pub fn pipeline(&self) -> Result<Settings, BenchmarkSpecError> {
        let mut settings = Settings::default();
        for (name, value) in &self.settings {
            settings.set(name, value)?;
        }
        Ok(settings)
    }

    pub fn run(&self, options: RunOptions<'_>) -> Result<BenchmarkRun, EvalError> {
        let settings = self.pipeline()?;
        let files = self.dataset_files()?;
        let sha256 = dataset::sha256(&files)?.to_hex();
        let mut label = self.label(&settings, sha256, &options);
        let benchmark_options = self.benchmark_options(settings, &label, &options);
        let (mut rows, resumed) = match options.resume_from {
            Some(from) => {
                let (mut rows, resumed) =
                    RowFile::resume(from, options.output, &benchmark_options.run)?;
                self.verify(&rows, from, &files, &benchmark_options)?;
                rows.begin()?;
                (rows, Some(resumed))
            }
            None => (RowFile::create(options.output)?, None),
        };
        if let Some(resumed) = &resumed {
            (options.on_resume)(resumed);
        }
        let known: FxHashSet<String> = rows.done().map(str::to_owned).collect();
        let mut reading = HaystackReader::open(self, &files, known)?;
        let mut log = options.retrieval_log.map(RetrievalLogFile::create).transpose()?;
        let on_row = options.on_row;
        run(
            &benchmark_options,
            || reading.next(),
            |done| {
                for one in done {
                    if let (Some(log), Some(line)) = (&mut log, &one.log) {
                        log.push(line)?;
                    }
                    on_row(rows.push(one.outcome)?);
                }
                Ok(())
            },
        )?;
        if reading.order.is_empty() {
            return Err(dataset::of(&self.files[0], DatasetError::Empty));
        }
        label.data_problems = count_problems(&reading.problems);
        rows.finish(&reading.order, options.by_type.then(|| describe_summary_by_type(&label)))?;
        if let Some(log) = log {
            log.finish()?;
        }
        let by_type = rows.by_type();
        let outcomes = rows.into_outcomes();
        let summary = summarise(&outcomes);
        let labelled = gbrain_core::benchmark::label(&label, &summary);
        let title = self.title.as_deref();
        let result = BenchmarkResult::new(self.wire(), &label, title, summary, outcomes);
        Ok(BenchmarkRun { result, labelled, by_type, problems: reading.problems })
    }

    pub fn dataset_sha256(&self) -> Result<String, EvalError> {
        Ok(dataset::sha256(&self.dataset_files()?)?.to_hex())
    }

    /// Checks resumed rows against the dataset: each belongs to a question of this run, and its
    /// figures match its ranking.
    fn verify(
        &self,
        rows: &RowFile,
        from: &Path,
        files: &[PathBuf],
        benchmark_options: &BenchmarkOptions<'_>,
    ) -> Result<(), EvalError> {
        let mut waiting: HashMap<&str, _> =
            rows.resumed().map(|row| (row.1.question_id.as_str(), row)).collect();
        let mut bad = BadRows::new(from);
        let scoring = benchmark_options.scoring();
        let answers = match benchmark_options.answerer {
            Some(_) => AnswerMode::Model,
            None => AnswerMode::RetrievalOnly,
        };
        let mut reading = HaystackReader::open(self, files, FxHashSet::default())?;
        while !waiting.is_empty() {
            let haystack = match reading.next()? {
                Some(NextHaystack::Ask(haystack)) => haystack.by(self.granularity),
                Some(NextHaystack::Finished) => continue,
                None => break,
            };
            for question in &haystack.questions {
                let Some((line, row)) = waiting.remove(question.id.as_str()) else { continue };
                let bad_flag =
                    row_mismatches(&scoring, self.seed, &haystack, question, row, answers);
                if !bad_flag.is_empty() {
                    let fields = bad_flag.join(", ");
                    bad.add(
                        line,
                        format!("`{}` does not match its ranking: {fields}", row.question_id),
                    );
                }
            }
        }
        let mut unknown: Vec<(usize, &str)> =
            waiting.into_values().map(|(line, row)| (line, row.question_id.as_str())).collect();
        unknown.sort_unstable();
        for (line, id) in unknown {
            bad.add(line, format!("`{id}` is not a question of this run"));
        }
        bad.result()
    }

    /// The files that are hashed, in order.
    fn dataset_files(&self) -> Result<Vec<PathBuf>, EvalError> {
        let found = self.files.len();
        let (takes, fits) = match self.kind {
            Benchmark::LongMemEval | Benchmark::Locomo => ("one file", found == 1),
            Benchmark::Beir => ("one folder", found == 1),
            Benchmark::Trec => ("corpus, queries and judgements", found == 3),
        };
        if !fits {
            return Err(
                BenchmarkSpecError::Files { benchmark: self.kind.name(), takes, found }.into()
            );
        }
        Ok(match self.kind {
            Benchmark::LongMemEval | Benchmark::Locomo => self.files.clone(),
            Benchmark::Beir | Benchmark::Trec => self.collection()?.files(),
        })
    }

    fn collection(&self) -> Result<Collection, EvalError> {
        match &self.files[..] {
            [corpus, queries, qrels] => Ok(Collection {
                corpus: corpus.clone(),
                queries: queries.clone(),
                qrels: qrels.clone(),
            }),
            files => Collection::of_folder(&files[0]),
        }
    }

    fn benchmark_options<'h>(
        &self,
        settings: Settings,
        label: &DatasetRunLabel,
        options: &RunOptions<'h>,
    ) -> BenchmarkOptions<'h> {
        let has_vectors = self.retrieval == Retrieval::Hybrid && label.embedder.is_some();
        let mut baselines =
            vec![ReferenceOrder::Random, ReferenceOrder::Newest, ReferenceOrder::Oracle];
        if self.retrieval == Retrieval::Hybrid {
            baselines.push(ReferenceOrder::Words);
        }
        if has_vectors {
            baselines.push(ReferenceOrder::Vectors);
        }
        BenchmarkOptions {
            k: self.k,
            depth: depth(self.kind.name(), self.k),
            measures: measures_of(self.kind.name(), self.k),
            retrieval: self.retrieval,
            granularity: self.granularity,
            settings,
            models: match self.retrieval {
                Retrieval::Hybrid => options.models.clone(),
                Retrieval::Words => Models::none(),
            },
            seed: self.seed,
            concurrency: options.concurrency,
            baselines,
            has_official: self.kind == Benchmark::LongMemEval,
            has_log: options.retrieval_log.is_some(),
            expander: options.expander.map(|(expander, _)| expander),
            assistants: None,
            answerer: options.answerer.map(|(answerer, _)| answerer),
            run: run_id(label),
        }
    }

    fn label(
        &self,
        settings: &Settings,
        sha256: String,
        options: &RunOptions<'_>,
    ) -> DatasetRunLabel {
        let Software { version, code } = software();
        let embedder = match self.retrieval {
            Retrieval::Hybrid => options.models.wanted().map(|model| model.id().to_owned()),
            Retrieval::Words => None,
        };
        DatasetRunLabel {
            benchmark: self.kind.name().to_owned(),
            dataset: dataset_name(self.files.iter().map(PathBuf::as_path)),
            known_as: known_as(&sha256).map(str::to_owned),
            dataset_sha256: sha256,
            granularity: self.granularity,
            k: self.k,
            depth: depth(self.kind.name(), self.k),
            limit: self.limit,
            retrieval: match (self.retrieval, embedder.is_some(), options.expander) {
                (Retrieval::Words, _, _) => "words".to_owned(),
                (Retrieval::Hybrid, true, None) => "hybrid".to_owned(),
                (Retrieval::Hybrid, false, None) => "hybrid without vectors".to_owned(),
                (Retrieval::Hybrid, _, Some((_, model))) => format!("hybrid, expanded by {model}"),
            },
            abstention: abstention(self.kind.name()),
            answered_by: options.answerer.map(|(_, model)| model.to_owned()),
            software: version,
            code,
            settings: settings.hash(),
            embedder,
            seed: self.seed,
            data_problems: BTreeMap::new(),
        }
    }
}

/// LongMemEval's retrieval log, which gets its name when it is complete. A resumed run logs only
/// its own questions.
struct RetrievalLogFile<'p> {
    path: &'p Path,
    file: BufWriter<OutputFile>,
}

impl<'p> RetrievalLogFile<'p> {
    fn create(path: &'p Path) -> Result<Self, EvalError> {
        Ok(Self { path, file: BufWriter::new(OutputFile::create(path)?) })
    }

    fn push(&mut self, line: &Value) -> Result<(), EvalError> {
        let path = self.path;
        let fail = |source| EvalError::Io { path: path.to_owned(), source };
        writeln!(self.file, "{line}").map_err(fail)
    }

    fn finish(self) -> Result<(), EvalError> {
        let fail = |source| EvalError::Io { path: self.path.to_owned(), source };
        self.file.into_inner().map_err(|error| fail(error.into_error()))?.finish()
    }
}

struct HaystackReader {
    source: HaystackSource,
    known: FxHashSet<String>,
    seen: FxHashSet<String>,
    limit: usize,
    /// All question ids, in dataset order.
    order: Vec<String>,
    problems: Vec<DataProblem>,
}

enum HaystackSource {
    Entries(LongMemEval, PathBuf),
    Whole(std::vec::IntoIter<Haystack>, PathBuf),
}

impl HaystackReader {
    fn open(
        spec: &BenchmarkRunSpec,
        files: &[PathBuf],
        known: FxHashSet<String>,
    ) -> Result<Self, EvalError> {
        let first = files[0].clone();
        let source = match spec.kind {
            Benchmark::LongMemEval => HaystackSource::Entries(LongMemEval::open(&first)?, first),
            Benchmark::Locomo => HaystackSource::Whole(dataset::locomo(&first)?.into_iter(), first),
            Benchmark::Beir | Benchmark::Trec => {
                HaystackSource::Whole(vec![spec.collection()?.read()?].into_iter(), first)
            }
        };
        let limit = spec.limit.unwrap_or(usize::MAX);
        let (seen, order, problems) = (FxHashSet::default(), Vec::new(), Vec::new());
        Ok(Self { source, known, seen, limit, order, problems })
    }

    fn next(&mut self) -> Result<Option<NextHaystack>, EvalError> {
        if self.order.len() >= self.limit {
            return Ok(None);
        }
        let (mut haystack, path, number) = match &mut self.source {
            HaystackSource::Entries(entries, path) => {
                let Some((number, entry)) = entries.next_entry()? else { return Ok(None) };
                (dataset::read_entry(path, number, &entry)?, path.clone(), number)
            }
            HaystackSource::Whole(haystacks, path) => {
                let Some(haystack) = haystacks.next() else { return Ok(None) };
                (haystack, path.clone(), self.order.len() + 1)
            }
        };
        self.problems.append(&mut haystack.problems);
        haystack.questions.truncate(self.limit - self.order.len());
        for question in &haystack.questions {
            if !self.seen.insert(question.id.clone()) {
                let id = question.id.clone();
                return Err(dataset::of(&path, DatasetError::Repeated { number, id }));
            }
            self.order.push(question.id.clone());
        }
        haystack.questions.retain(|question| !self.known.contains(&question.id));
        Ok(Some(if haystack.questions.is_empty() {
            NextHaystack::Finished
        } else {
            NextHaystack::Ask(Box::new(haystack))
        }))
    }
}
