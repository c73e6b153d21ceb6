//! The measurements and the violations.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use gbrain_core::blame::Blame;
use gbrain_core::capture::CapturedRow;
use gbrain_core::gate::Verdict;
use gbrain_core::replay::{Caveat, ReplayedRow, RowComparison};
use gbrain_eval::{GateOutcome, Replay};

use crate::campaign::identity::Question;

use super::corpus;
use super::is_unknown;
use super::still::Still;

/// How many examples of a violation are kept.
const EXAMPLES: usize = 5;

/// One replay.
#[derive(Debug)]
pub struct Measured {
    what: &'static str,
    rows: usize,
    found: usize,
    moved: usize,
    jaccard: Option<f64>,
    top1: Option<f64>,
    unknown: usize,
    blames: BTreeMap<&'static str, usize>,
    seconds: f64,
}

#[derive(Debug, Default)]
pub struct Report {
    pub captured: usize,
    /// Rows whose query scrubbing changed.
    pub scrubbed: usize,
    /// The replays, in order.
    pub measured: Vec<Measured>,
    pub violations: Vec<String>,
}

impl Measured {
    /// The figures of one replay.
    pub(super) fn new(what: &'static str, replay: &Replay, took: Duration) -> Self {
        let Replay { rows, summary } = replay;
        let compared = || rows.iter().filter_map(ReplayedRow::compared);
        let mut blames = BTreeMap::new();
        for blame in compared().filter_map(|row| row.blame) {
            *blames.entry(blame.name()).or_default() += 1;
        }
        Self {
            what,
            rows: summary.total,
            found: summary.measured,
            moved: summary.moved,
            jaccard: summary.mean_jaccard,
            top1: summary.top1_rate,
            unknown: compared().filter(|row| is_unknown(&row.caveats)).count(),
            blames,
            seconds: took.as_secs_f64(),
        }
    }
}

impl Measured {
    fn line(&self) -> String {
        let Self { what, rows, found, moved, jaccard, top1, unknown, blames, seconds } = self;
        let blamed: Vec<String> =
            blames.iter().map(|(label, count)| format!("{label} {count}")).collect();
        format!(
            "  {what}: {rows} rows, {found} with pages, {moved} moved, jaccard {:.4}, top-1 {:.4}, corpus unknown \
             {unknown}, blamed [{}], {seconds:.1} s",
            jaccard.unwrap_or(f64::NAN),
            top1.unwrap_or(f64::NAN),
            blamed.join(", "),
        )
    }
}

impl Report {
    pub(super) fn figures(&self) -> String {
        format!("{} rows captured, {} of them scrubbed", self.captured, self.scrubbed)
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.measured.iter().map(Measured::line).collect()
    }

    /// Every request became a row, and every one with personal data was scrubbed and asked again.
    pub(super) fn expect_captured(
        &mut self,
        questions: &[Question],
        rows: &[CapturedRow],
    ) -> Result<Vec<CapturedRow>> {
        ensure!(rows.len() == questions.len(), "{} rows, not {}", rows.len(), questions.len());
        self.captured += rows.len();
        self.scrubbed += rows.iter().filter(|row| row.scrubbed == Some(true)).count();
        // An export has the newest first.
        for (question, row) in questions.iter().zip(rows.iter().rev()) {
            let is_personal = corpus::is_personal(&question.request.query);
            let is_scrubbed = row.scrubbed == Some(true) && row.query != question.request.query;
            if is_personal && !(is_scrubbed && row.scrubbed_retrieved.is_some()) {
                self.violations.push(format!("kept as it was asked: {:?}", question.request.query));
            }
        }
        Ok(rows.to_vec())
    }

    /// Every row gives exactly what was captured, order included.
    pub(super) fn expect_exact(&mut self, what: &str, replay: &Replay) {
        let summary = &replay.summary;
        let is_exact = summary.replayed == summary.total
            && summary.moved == 0
            && summary.mean_jaccard == Some(1.0)
            && summary.top1_rate == Some(1.0);
        // A question about an unknown name degrades the graph, then and now.
        let is_strange = |caveat: &Caveat| *caveat != Caveat::CaptureDegraded;
        let strange = |row: &&ReplayedRow| {
            row.compared().is_none_or(|row| row.is_moved() || row.caveats.iter().any(is_strange))
        };
        let strange: Vec<&ReplayedRow> = replay.rows.iter().filter(strange).collect();
        if !is_exact || !strange.is_empty() {
            let of = (summary.moved, strange.len(), summary.total);
            self.violations.push(format!("{what}: moved, strange, all: {of:?}"));
        }
        self.examples(what, &strange);
    }

    /// Something moved, and only these are blamed.
    pub(super) fn expect_blamed(&mut self, what: &str, replay: &Replay, blames: &[Blame]) {
        if replay.summary.moved == 0 {
            self.violations.push(format!("{what}: nothing moved"));
        }
        if replay.summary.replayed != replay.summary.total {
            self.violations.push(format!("{what}: rows were skipped or failed"));
        }
        let is_wrong = |row: &RowComparison| match row.blame {
            Some(blame) => !row.is_moved() || !blames.contains(&blame),
            None => row.is_moved(),
        };
        let wrong: Vec<&ReplayedRow> =
            replay.rows.iter().filter(|row| row.compared().is_some_and(is_wrong)).collect();
        self.examples(what, &wrong);
    }

    /// Every row says that its corpus can't be had, and nothing but "undetermined" is blamed.
    pub(super) fn expect_unknown(&mut self, what: &str, replay: &Replay) {
        let is_wrong = |row: &RowComparison| {
            let is_blamed = row.blame.is_some_and(|blame| blame != Blame::Undetermined);
            !is_unknown(&row.caveats) || is_blamed || row.is_moved() && row.blame.is_none()
        };
        let wrong: Vec<&ReplayedRow> =
            replay.rows.iter().filter(|row| row.compared().is_none_or(is_wrong)).collect();
        self.examples(what, &wrong);
        if replay.summary.confounded != replay.summary.total {
            self.violations.push(format!("{what}: rows are held against the program"));
        }
    }

    /// Measuring left everything as it was.
    pub(super) fn expect_same(&mut self, what: &str, before: &Still, after: &Still) {
        for name in before.differences(after) {
            self.violations.push(format!("{what}: measuring changed the {name}"));
        }
    }

    /// The gate on an unchanged brain is green.
    pub(super) fn expect_pass(&mut self, outcome: &GateOutcome) {
        if outcome.verdict == Verdict::Pass {
            return;
        }
        let breaches = outcome.regression.iter().flat_map(|(found, _)| &found.breaches);
        let breaches: Vec<_> = breaches
            .chain(outcome.correctness.iter().flat_map(|found| &found.breaches))
            .take(EXAMPLES)
            .collect();
        self.violations.push(format!("gate: {:?}, {breaches:?}", outcome.verdict));
    }

    fn examples(&mut self, what: &str, rows: &[&ReplayedRow]) {
        for row in rows.iter().take(EXAMPLES) {
            let (line, query) = (row.line, &row.query);
            let how = match row.compared() {
                None => format!("{:?}", row.outcome),
                Some(RowComparison { captured, current, caveats, blame, .. }) => {
                    let at = captured.iter().zip(current).take_while(|(a, b)| a == b).count();
                    let (was, is) = (captured.get(at), current.get(at));
                    format!("{blame:?} {caveats:?}, at {at} was {was:?} is {is:?}")
                }
            };
            self.violations.push(format!("{what}: line {line} {query:?}: {how}"));
        }
        if rows.len() > EXAMPLES {
            self.violations.push(format!("{what}: and {} rows more", rows.len() - EXAMPLES));
        }
    }
}
