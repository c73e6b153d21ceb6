//! Asking captured rows again.
//!
//! Rows are asked in parallel and reported in the order of the file. Each is asked several times:
//! the shortest time counts, and rankings that are not all the same are reported as unstable.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use gbrain_core::blame::{Corner, Corners, blame};
use gbrain_core::capture::{CapturedRow, Retrieved};
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::provenance::{CorpusAt, Difference, Provenance};
use gbrain_core::replay::{
    Asked, Caveat, Compared, Lost, Outcome, ReplayedRow, SettingsFrom, Summary, ask, compare,
    sides, summarise,
};
use gbrain_core::request::Request;
use gbrain_core::scrub::Scrubber;

use crate::{Answer, EvalError, RetrieveError, Retriever, Target};

/// Rows that are asked once before anything is timed.
const WARM_UP: usize = 8;
/// Lost pages of one row that are followed through the pipeline.
const LOST: usize = 3;

/// Which corpus rows are asked of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AsOf {
    /// The newest.
    Now,
    /// Each row's own, where it can be had.
    Capture,
}

/// How to replay.
#[derive(Debug, Clone, Copy)]
pub struct ReplayOptions {
    /// Which corpus rows are asked of.
    pub as_of: AsOf,
    /// Whose settings are used.
    pub settings: SettingsFrom,
    /// How many rows are asked at once.
    pub concurrency: usize,
    /// How often each row is asked, at least once.
    pub repeats: usize,
    /// Whether to find out what moved each row.
    pub blame: bool,
    /// How many of the worst rows to explain.
    pub explain: usize,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            as_of: AsOf::Now,
            settings: SettingsFrom::Live,
            concurrency: 1,
            repeats: 3,
            blame: false,
            explain: 0,
        }
    }
}

/// What a replay gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// Every row, in the order of the file.
    pub rows: Vec<ReplayedRow>,
    /// What they add up to.
    pub summary: Summary,
}

/// A row on its way.
struct Job<'r> {
    row: &'r CapturedRow,
    asked: Asked,
}

/// Asks rows again.
pub fn replay(
    target: &dyn Target,
    rows: &[CapturedRow],
    options: &ReplayOptions,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Replay, EvalError> {
    let scrubber = Scrubber::default();
    let mut outcomes: Vec<Option<Outcome>> = vec![None; rows.len()];
    let mut jobs: Vec<(usize, Job<'_>)> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        match ask(row, target.live(), options.settings) {
            Ok(asked) => jobs.push((place, Job { row, asked })),
            Err(skip) => outcomes[place] = Some(Outcome::Skipped(skip)),
        }
    }
    for (corpus, mut group) in by_corpus(jobs, options.as_of) {
        let retriever = match target.retriever(corpus.as_ref())? {
            Some(retriever) => retriever,
            None => {
                group.iter_mut().for_each(|(_, job)| job.asked.caveats.push(Caveat::CorpusUnknown));
                newest(target)?
            }
        };
        let run = Run { retriever: retriever.as_ref(), options, scrubber: &scrubber, progress };
        for (place, outcome) in run.all(&group) {
            outcomes[place] = Some(outcome);
        }
    }
    let mut replayed: Vec<ReplayedRow> = rows
        .iter()
        .zip(outcomes)
        .filter_map(|(row, outcome)| Some(ReplayedRow::new(row, outcome?)))
        .collect();
    if options.blame {
        Blaming { target, options, scrubber: &scrubber }.all(rows, &mut replayed)?;
    }
    explain(target, rows, &mut replayed, options)?;
    let summary = summarise(&replayed);
    Ok(Replay { rows: replayed, summary })
}

fn newest(target: &dyn Target) -> Result<Box<dyn Retriever + '_>, EvalError> {
    Ok(target.retriever(None)?.expect("every target has a newest corpus"))
}

type Group<'r> = Vec<(usize, Job<'r>)>;

/// Rows that are asked of the same corpus, in the order of generations.
fn by_corpus(jobs: Group<'_>, as_of: AsOf) -> Vec<(Option<CorpusAt>, Group<'_>)> {
    let mut groups: BTreeMap<(i64, String), (Option<CorpusAt>, Group<'_>)> = BTreeMap::new();
    for (place, job) in jobs {
        let corpus = match as_of {
            AsOf::Now => None,
            AsOf::Capture => job.row.provenance.corpus.clone(),
        };
        let key = corpus.as_ref().map_or((i64::MAX, String::new()), |corpus| {
            (corpus.generation, corpus.print.root.to_hex())
        });
        let mut job = job;
        if as_of == AsOf::Capture && corpus.is_none() {
            job.asked.caveats.push(Caveat::CorpusUnknown);
        }
        groups.entry(key).or_insert_with(|| (corpus, Vec::new())).1.push((place, job));
    }
    groups.into_values().collect()
}

/// Asks one group of rows of one retriever.
struct Run<'a> {
    retriever: &'a dyn Retriever,
    options: &'a ReplayOptions,
    scrubber: &'a Scrubber,
    progress: &'a (dyn Fn(usize) + Sync),
}

impl Run<'_> {
    fn all(&self, group: &Group<'_>) -> Vec<(usize, Outcome)> {
        for (_, job) in group.iter().take(WARM_UP) {
            let _ = self.retriever.retrieve(&job.asked.request, None);
        }
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let Some((place, job)) = group.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push((*place, self.one(job)));
                (self.progress)(1);
            }
            done
        };
        let threads = self.options.concurrency.clamp(1, group.len().max(1));
        if threads == 1 {
            return work();
        }
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|w| w.join().expect("rows do not panic")).collect()
        })
    }

    fn one(&self, job: &Job<'_>) -> Outcome {
        match self.repeated(&job.asked.request) {
            Err(error) => Outcome::Errored(error.to_string()),
            Ok((answer, is_stable)) => {
                Outcome::Compared(Box::new(self.compared(job, &answer, is_stable)))
            }
        }
    }

    /// The answer with its shortest time, and whether every repeat gave the same ranking.
    fn repeated(&self, request: &Request) -> Result<(Answer, bool), RetrieveError> {
        let mut best = self.retriever.retrieve(request, None)?;
        let mut is_stable = true;
        for _ in 1..self.options.repeats {
            let again = self.retriever.retrieve(request, None)?;
            is_stable &= again.pages == best.pages;
            best.latency_ms = best.latency_ms.zip(again.latency_ms).map(|(a, b)| a.min(b));
        }
        Ok((best, is_stable))
    }

    fn compared(&self, job: &Job<'_>, answer: &Answer, is_stable: bool) -> Compared {
        let mut caveats = job.asked.caveats.clone();
        // A stage that already failed when the row was captured is no news.
        if answer.degraded.iter().any(|degraded| !job.row.degraded.contains(degraded)) {
            caveats.push(Caveat::ReplayDegraded);
        }
        if !is_stable {
            caveats.push(Caveat::Unstable);
        }
        if !answer.not_asked.is_empty() {
            caveats.push(Caveat::NotAsked);
        }
        let captured = job.row.expected().unwrap_or_default();
        let by_slug = |page: &Retrieved| page.source.is_none();
        if answer.pages.iter().any(by_slug) && !caveats.contains(&Caveat::BySlug) {
            caveats.push(Caveat::BySlug);
        }
        let sides = sides(captured, &answer.pages, job.asked.cut, self.scrubber);
        let differences = job.row.provenance.differences(&answer.provenance);
        // Nothing is compared with a time that nobody took.
        let latencies = match answer.latency_ms {
            Some(current) => (job.row.latency_ms, current),
            None => (None, 0.0),
        };
        compare(sides, latencies, caveats, differences)
    }
}

/// Finds out what moved each row, by asking its corners.
struct Blaming<'a> {
    target: &'a dyn Target,
    options: &'a ReplayOptions,
    scrubber: &'a Scrubber,
}

impl Blaming<'_> {
    fn all(&self, rows: &[CapturedRow], replayed: &mut [ReplayedRow]) -> Result<(), EvalError> {
        let mut moved: Vec<usize> = (0..rows.len())
            .filter(|place| replayed[*place].compared().is_some_and(Compared::is_moved))
            .collect();
        // Past corpora are cheapest in rising order.
        moved.sort_by_key(|place| generation(&rows[*place].provenance));
        for place in moved {
            let Outcome::Compared(compared) = &replayed[place].outcome else { continue };
            let corners = self.corners(&rows[place], compared)?;
            let found = blame(corners, &compared.differences);
            if let Outcome::Compared(compared) = &mut replayed[place].outcome {
                compared.blame = Some(found);
            }
        }
        Ok(())
    }

    fn corners(&self, row: &CapturedRow, compared: &Compared) -> Result<Corners, EvalError> {
        let differs = |difference| difference == Difference::Differs;
        let (of_corpus, of_settings) =
            (differs(compared.differences.corpus), differs(compared.differences.settings));
        let as_is = match self.options.as_of {
            AsOf::Now => None,
            AsOf::Capture => row.provenance.corpus.as_ref(),
        };
        let captured = row.provenance.corpus.as_ref();
        let corner = |is_other, corpus, from| {
            if is_other { self.corner(row, corpus, from) } else { Ok(Corner::SameAsNow) }
        };
        Ok(Corners {
            corpus: corner(of_corpus, captured, self.options.settings)?,
            settings: corner(of_settings, as_is, SettingsFrom::Capture)?,
            both: corner(of_corpus && of_settings, captured, SettingsFrom::Capture)?,
        })
    }

    fn corner(
        &self,
        row: &CapturedRow,
        corpus: Option<&CorpusAt>,
        from: SettingsFrom,
    ) -> Result<Corner, EvalError> {
        let Ok(asked) = ask(row, self.target.live(), from) else { return Ok(Corner::Unavailable) };
        let retriever = match self.target.retriever(corpus)? {
            Some(retriever) if !asked.caveats.contains(&Caveat::SettingsUnknown) => retriever,
            _ => return Ok(Corner::Unavailable),
        };
        let Ok(answer) = retriever.retrieve(&asked.request, None) else {
            return Ok(Corner::Unavailable);
        };
        let captured = row.expected().unwrap_or_default();
        let sides = sides(captured, &answer.pages, asked.cut, self.scrubber);
        Ok(if sides.captured == sides.current { Corner::Restores } else { Corner::Differs })
    }
}

fn generation(provenance: &Provenance) -> i64 {
    provenance.corpus.as_ref().map_or(i64::MAX, |corpus| corpus.generation)
}

/// Follows the lost pages of the worst rows through the pipeline.
fn explain(
    target: &dyn Target,
    rows: &[CapturedRow],
    replayed: &mut [ReplayedRow],
    options: &ReplayOptions,
) -> Result<(), EvalError> {
    if options.explain == 0 {
        return Ok(());
    }
    let mut worst: Vec<(usize, f64)> = replayed
        .iter()
        .enumerate()
        .filter_map(|(place, row)| Some((place, row.compared()?)))
        .filter(|(_, compared)| compared.jaccard < 1.0)
        .map(|(place, compared)| (place, compared.jaccard))
        .collect();
    worst.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    for (place, _) in worst.into_iter().take(options.explain) {
        let row = &rows[place];
        let Ok(asked) = ask(row, target.live(), options.settings) else { continue };
        let corpus = match options.as_of {
            AsOf::Now => None,
            AsOf::Capture => row.provenance.corpus.as_ref(),
        };
        let retriever = match target.retriever(corpus)? {
            Some(retriever) => retriever,
            None => newest(target)?,
        };
        let Outcome::Compared(compared) = &mut replayed[place].outcome else { continue };
        compared.lost = lost(retriever.as_ref(), &asked.request, compared);
    }
    Ok(())
}

fn lost(retriever: &dyn Retriever, request: &Request, compared: &Compared) -> Vec<Lost> {
    let gone = compared.captured.iter().filter(|page| !compared.current.contains(page));
    gone.take(LOST)
        .filter_map(|page| PageKey::parse(page, &SourceId::default()).ok())
        .filter_map(|key| retriever.why_not(request, &key))
        .collect()
}
