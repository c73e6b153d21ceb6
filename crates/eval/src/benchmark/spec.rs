//! What to run, as it is typed, kept in a result and run again.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use gbrain_brain::capture::software;
use gbrain_core::benchmark::{
    AnswerMode, Benchmark, ByType, DataProblem, Granularity, Haystack, Label, Labelled, Order,
    Recall, abstention, count_problems, dataset_name, depth, known_as, measured_by_type,
    measures_of, row_mismatches, run_id, summarise,
};
use gbrain_core::format::benchmark::{Result as WireResult, WireAsk};
use gbrain_core::gate::Verdict;
use gbrain_core::provenance::Software;
use gbrain_core::search::{SettingError, Settings};
use gbrain_index::Models;
use rustc_hash::FxHashSet;
use serde_json::Value;

use super::dataset::{self, Collection, DatasetError, LongMemEval};
use super::rows::{BadRows, Resumed, RowFile};
use super::run::{Answerer, Asking, Expander, Next, Retrieval, run};
use crate::{EvalError, OutputFile};

/// The most documents of a ranking that are taken.
const MAX_K: usize = 1000;

/// What to run: everything that the numbers depend on.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub kind: Benchmark,
    /// The dataset: one file or folder; of `trec`, corpus, queries and judgements.
    pub files: Vec<PathBuf>,
    /// The first so many questions; none for all.
    pub limit: Option<usize>,
    /// How many documents of a ranking are taken.
    pub k: usize,
    pub retrieval: Retrieval,
    /// What a document of a chat is.
    pub granularity: Granularity,
    /// The seed of the random ranking.
    pub seed: u64,
    /// Numbers of the pipeline that are not at their default.
    pub settings: BTreeMap<String, String>,
    /// A title for the report.
    pub title: Option<String>,
}

/// How to run it: what the numbers do not depend on.
pub struct How<'a> {
    /// Questions that are asked at once.
    pub concurrency: usize,
    /// The models there are for vectors.
    pub models: Models,
    /// Who puts questions in other words, and its name.
    pub expander: Option<(Expander<'a>, &'a str)>,
    /// Who answers, and its name.
    pub answerer: Option<(Answerer<'a>, &'a str)>,
    pub output: Option<&'a Path>,
    /// Rows to go on from.
    pub resume_from: Option<&'a Path>,
    /// Whether the file of rows ends with recall by type.
    pub by_type: bool,
    /// Where LongMemEval's own log goes.
    pub retrieval_log: Option<&'a Path>,
    /// Told what was taken up again, before anything is asked.
    pub on_resume: &'a dyn Fn(&Resumed),
    /// Gets every new row as a line.
    pub on_row: &'a mut dyn FnMut(&str),
}

/// What a run gave.
pub struct Ran {
    pub result: WireResult,
    /// What its numbers depend on, in words.
    pub labelled: Labelled,
    pub by_type: ByType,
    /// What was wrong with the data.
    pub problems: Vec<DataProblem>,
}

impl Ran {
    /// The kinds of question whose recall is under a floor.
    pub fn below(&self, floor: Option<f64>) -> Vec<(&str, Recall)> {
        floor.map(|floor| self.by_type.below(floor)).unwrap_or_default()
    }

    /// A kind under its floor fails; a question that failed, or was asked with a stage missing, leaves
    /// no verdict.
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

/// Why something can't be run as it is written.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// A setting is wrong.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A benchmark does not have so many files.
    #[error("{benchmark} takes {takes}, and {found} paths are given")]
    Files {
        benchmark: &'static str,
        takes: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A flag of a result file is not understood.
    #[error("`{flag}` is `{value}`, which this program does not know")]
    Flag { flag: String, value: String },
}

impl Spec {
    /// What was asked, for a result file.
    pub fn wire(&self) -> WireAsk {
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
        WireAsk { files, flags }
    }

    /// What a result file says was asked.
    pub fn of(asked: &WireAsk) -> Result<Self, SpecError> {
        let WireAsk { files, flags } = asked;
        let text = |flag: &str| flags.get(flag).map(String::as_str);
        let wrong = |flag: &str| SpecError::Flag {
            flag: flag.to_owned(),
            value: text(flag).unwrap_or("missing").to_owned(),
        };
        let kind =
            text("benchmark").and_then(Benchmark::from_name).ok_or_else(|| wrong("benchmark"))?;
        let granularity = text("granularity").and_then(Granularity::from_name);
        let number = |flag: &str| text(flag).and_then(|text| text.parse().ok());
        let limit = match text("limit") {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| wrong("limit"))?),
        };
        let settings = flags.iter().filter_map(|(flag, value)| {
            Some((flag.strip_prefix("set.")?.to_owned(), value.clone()))
        });
        Ok(Self {
            kind,
            files: files.iter().map(PathBuf::from).collect(),
            limit,
            k: number("top-k").filter(|k| (1..=MAX_K).contains(k)).ok_or_else(|| wrong("top-k"))?,
            retrieval: match text("keyword-only") {
                Some(_) => Retrieval::Words,
                None => Retrieval::Hybrid,
            },
            granularity: granularity.ok_or_else(|| wrong("granularity"))?,
            seed: text("seed").and_then(|text| text.parse().ok()).ok_or_else(|| wrong("seed"))?,
            settings: settings.collect(),
            title: None,
        })
    }

    /// The numbers of the pipeline.
    pub fn pipeline(&self) -> Result<Settings, SpecError> {
        let mut settings = Settings::default();
        for (name, value) in &self.settings {
            settings.set(name, value)?;
        }
        Ok(settings)
    }

    /// Runs it.
    pub fn run(&self, how: How<'_>) -> Result<Ran, EvalError> {
        let settings = self.pipeline()?;
        let files = self.dataset_files()?;
        let sha256 = dataset::sha256(&files)?.to_hex();
        let mut label = self.label(&settings, sha256, &how);
        let asking = self.asking(settings, &label, &how);
        let (mut rows, resumed) = match how.resume_from {
            Some(from) => {
                let (mut rows, resumed) = RowFile::resume(from, how.output, &asking.run)?;
                self.verify(&rows, from, &files, &asking)?;
                rows.begin()?;
                (rows, Some(resumed))
            }
            None => (RowFile::create(how.output)?, None),
        };
        if let Some(resumed) = &resumed {
            (how.on_resume)(resumed);
        }
        let known: FxHashSet<String> = rows.done().map(str::to_owned).collect();
        let mut reading = Reading::open(self, &files, known)?;
        let mut log = how.retrieval_log.map(Log::create).transpose()?;
        let on_row = how.on_row;
        run(
            &asking,
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
        rows.finish(&reading.order, how.by_type.then(|| measured_by_type(&label)))?;
        if let Some(log) = log {
            log.finish()?;
        }
        let by_type = rows.by_type();
        let outcomes = rows.into_outcomes();
        let summary = summarise(&outcomes);
        let labelled = gbrain_core::benchmark::label(&label, &summary);
        let title = self.title.as_deref();
        let result = WireResult::new(self.wire(), &label, title, summary, outcomes);
        Ok(Ran { result, labelled, by_type, problems: reading.problems })
    }

    /// SHA-256 of the dataset.
    pub fn dataset_sha256(&self) -> Result<String, EvalError> {
        Ok(dataset::sha256(&self.dataset_files()?)?.to_hex())
    }

    /// Holds rows to go on from against the dataset: each belongs to a question of this run, and its
    /// figures are those of its ranking.
    fn verify(
        &self,
        rows: &RowFile,
        from: &Path,
        files: &[PathBuf],
        asking: &Asking<'_>,
    ) -> Result<(), EvalError> {
        let mut waiting: HashMap<&str, _> =
            rows.resumed().map(|row| (row.1.question_id.as_str(), row)).collect();
        let mut bad = BadRows::new(from);
        let scoring = asking.scoring();
        let answers = match asking.answerer {
            Some(_) => AnswerMode::Model,
            None => AnswerMode::RetrievalOnly,
        };
        let mut reading = Reading::open(self, files, FxHashSet::default())?;
        while !waiting.is_empty() {
            let haystack = match reading.next()? {
                Some(Next::Ask(haystack)) => haystack.by(self.granularity),
                Some(Next::Known) => continue,
                None => break,
            };
            for question in &haystack.questions {
                let Some((line, row)) = waiting.remove(question.id.as_str()) else { continue };
                let wrong = row_mismatches(&scoring, self.seed, &haystack, question, row, answers);
                if !wrong.is_empty() {
                    let fields = wrong.join(", ");
                    bad.add(
                        line,
                        format!("`{}` is not what its ranking gives: {fields}", row.question_id),
                    );
                }
            }
        }
        let mut unknown: Vec<(usize, &str)> =
            waiting.into_values().map(|(line, row)| (line, row.question_id.as_str())).collect();
        unknown.sort_unstable();
        for (line, id) in unknown {
            bad.add(line, format!("`{id}` is none of the questions of this run"));
        }
        bad.result()
    }

    /// The files that are hashed, in their order.
    fn dataset_files(&self) -> Result<Vec<PathBuf>, EvalError> {
        let found = self.files.len();
        let (takes, fits) = match self.kind {
            Benchmark::LongMemEval | Benchmark::Locomo => ("one file", found == 1),
            Benchmark::Beir => ("one folder", found == 1),
            Benchmark::Trec => ("corpus, queries and judgements", found == 3),
        };
        if !fits {
            return Err(SpecError::Files { benchmark: self.kind.name(), takes, found }.into());
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

    fn asking<'h>(&self, settings: Settings, label: &Label, how: &How<'h>) -> Asking<'h> {
        let has_vectors = self.retrieval == Retrieval::Hybrid && label.embedder.is_some();
        let mut baselines = vec![Order::Random, Order::Newest, Order::Oracle];
        if self.retrieval == Retrieval::Hybrid {
            baselines.push(Order::Words);
        }
        if has_vectors {
            baselines.push(Order::Vectors);
        }
        Asking {
            k: self.k,
            depth: depth(self.kind.name(), self.k),
            measures: measures_of(self.kind.name(), self.k),
            retrieval: self.retrieval,
            granularity: self.granularity,
            settings,
            models: match self.retrieval {
                Retrieval::Hybrid => how.models.clone(),
                Retrieval::Words => Models::none(),
            },
            seed: self.seed,
            concurrency: how.concurrency,
            baselines,
            has_official: self.kind == Benchmark::LongMemEval,
            has_log: how.retrieval_log.is_some(),
            expander: how.expander.map(|(expander, _)| expander),
            assistants: None,
            answerer: how.answerer.map(|(answerer, _)| answerer),
            run: run_id(label),
        }
    }

    fn label(&self, settings: &Settings, sha256: String, how: &How<'_>) -> Label {
        let Software { version, code } = software();
        let embedder = match self.retrieval {
            Retrieval::Hybrid => how.models.wanted().map(|model| model.id().to_owned()),
            Retrieval::Words => None,
        };
        Label {
            benchmark: self.kind.name().to_owned(),
            dataset: dataset_name(self.files.iter().map(PathBuf::as_path)),
            known_as: known_as(&sha256).map(str::to_owned),
            dataset_sha256: sha256,
            granularity: self.granularity,
            k: self.k,
            depth: depth(self.kind.name(), self.k),
            limit: self.limit,
            retrieval: match (self.retrieval, embedder.is_some(), how.expander) {
                (Retrieval::Words, _, _) => "words".to_owned(),
                (Retrieval::Hybrid, true, None) => "hybrid".to_owned(),
                (Retrieval::Hybrid, false, None) => "hybrid without vectors".to_owned(),
                (Retrieval::Hybrid, _, Some((_, model))) => format!("hybrid, expanded by {model}"),
            },
            abstention: abstention(self.kind.name()),
            answered_by: how.answerer.map(|(_, model)| model.to_owned()),
            software: version,
            code,
            settings: settings.hash(),
            embedder,
            seed: self.seed,
            data_problems: BTreeMap::new(),
        }
    }
}

/// LongMemEval's retrieval log, which gets its name when it is whole. A run that is resumed logs what it
/// asks, and nothing of what was asked before.
struct Log<'p> {
    path: &'p Path,
    file: BufWriter<OutputFile>,
}

impl<'p> Log<'p> {
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

/// The haystacks of a dataset, as they are wanted.
struct Reading {
    source: Source,
    known: FxHashSet<String>,
    seen: FxHashSet<String>,
    limit: usize,
    /// Every question met, in the order of the dataset.
    order: Vec<String>,
    problems: Vec<DataProblem>,
}

enum Source {
    Entries(LongMemEval, PathBuf),
    Whole(std::vec::IntoIter<Haystack>, PathBuf),
}

impl Reading {
    fn open(spec: &Spec, files: &[PathBuf], known: FxHashSet<String>) -> Result<Self, EvalError> {
        let first = files[0].clone();
        let source = match spec.kind {
            Benchmark::LongMemEval => Source::Entries(LongMemEval::open(&first)?, first),
            Benchmark::Locomo => Source::Whole(dataset::locomo(&first)?.into_iter(), first),
            Benchmark::Beir | Benchmark::Trec => {
                Source::Whole(vec![spec.collection()?.read()?].into_iter(), first)
            }
        };
        let limit = spec.limit.unwrap_or(usize::MAX);
        let (seen, order, problems) = (FxHashSet::default(), Vec::new(), Vec::new());
        Ok(Self { source, known, seen, limit, order, problems })
    }

    fn next(&mut self) -> Result<Option<Next>, EvalError> {
        if self.order.len() >= self.limit {
            return Ok(None);
        }
        let (mut haystack, path, number) = match &mut self.source {
            Source::Entries(entries, path) => {
                let Some((number, entry)) = entries.next_entry()? else { return Ok(None) };
                (dataset::read_entry(path, number, &entry)?, path.clone(), number)
            }
            Source::Whole(haystacks, path) => {
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
            Next::Known
        } else {
            Next::Ask(Box::new(haystack))
        }))
    }
}
