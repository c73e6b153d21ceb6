//! Suites over time: verdicts by day, and the values of their measures run by run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{SuiteEntry, SuiteInfo};
use crate::activity::SuiteDay;
use crate::gate::Verdict;
use crate::stats::wilson;
use crate::suite::measure::{MeasureUnit, SuiteMeasure};
use crate::suite::run::RunMeasure;
use crate::suite::threshold::MeasureStatus;

/// A suite with its definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ShownSuite")]
pub struct SuiteShown {
    pub suite: SuiteInfo,
    /// The definition that triggers run; null if it can't be read or is not registered.
    #[schemars(with = "Option<serde_json::Value>")]
    pub definition: Option<SuiteEntry>,
    /// The definition of the suites file, if it differs or is not registered.
    #[schemars(with = "Option<serde_json::Value>")]
    pub in_file: Option<SuiteEntry>,
    /// Jobs of this suite that are queued or running, newest first.
    pub jobs: Vec<SuiteJobLine>,
}

/// A queued or running job of a suite.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteJob")]
pub struct SuiteJobLine {
    pub id: i64,
    pub state: String,
    /// Queries asked so far.
    pub done: u64,
    /// Queries in total, if known.
    pub total: Option<u64>,
    pub created_by: String,
    pub created_at: String,
}

/// Verdicts of all suites by day.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "SuiteDays")]
pub struct SuiteDaysBody {
    /// The first day.
    pub from: String,
    /// The last day, which is today in UTC.
    pub to: String,
    /// Suites with runs, by name.
    pub suites: Vec<SuiteDaysLine>,
}

/// The days of a suite on which it ran.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "SuiteDaysOfOne")]
pub struct SuiteDaysLine {
    pub suite: String,
    /// Oldest first; days without a run are left out.
    pub days: Vec<SuiteDay>,
}

/// Values of measures, run by run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteTrends")]
pub struct SuiteTrendsBody {
    /// The suites, by name.
    pub suites: Vec<SuiteTrendLine>,
}

/// The trends of a suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SuiteTrend")]
pub struct SuiteTrendLine {
    pub suite: String,
    /// For one suite all measures that can fail it, otherwise the one that matters most: one that
    /// breaches its threshold, else the first.
    pub measures: Vec<MeasureTrend>,
}

/// The values of a measure in consecutive runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasureTrend {
    pub measure: SuiteMeasure,
    /// Segment of cases: `all`, `mode:graph`, `source:slack`.
    pub segment: String,
    /// `share`, `milliseconds` or `score`.
    pub unit: String,
    /// Target of the newest run.
    pub target: Option<f64>,
    /// Alert threshold of the newest run.
    pub alert: Option<f64>,
    /// Status of the newest run.
    pub status: MeasureStatus,
    /// The runs, oldest first.
    pub points: Vec<TrendPoint>,
}

/// A measure in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendPoint {
    pub run: i64,
    /// When the run was recorded.
    pub at: String,
    pub verdict: Verdict,
    /// Null if it was not measured.
    pub value: Option<f64>,
    /// Number of cases.
    pub n: u64,
    /// The 95% interval of a share (Wilson); null for other measures.
    pub interval: Option<[f64; 2]>,
}

/// A run with its measures, as trends read it.
#[derive(Debug, Clone)]
pub struct MeasuredRun<'a> {
    pub id: i64,
    pub at: String,
    pub verdict: Verdict,
    pub measures: &'a [RunMeasure],
}

/// The trends of measures of a suite from its runs, newest first; at most `limit`.
pub fn trends(runs: &[MeasuredRun<'_>], limit: usize) -> Vec<MeasureTrend> {
    let known = runs.iter().find(|run| !run.measures.is_empty());
    let Some(newest) = known else { return Vec::new() };
    let mut chosen: Vec<&RunMeasure> =
        newest.measures.iter().filter(|one| one.decides || one.segment == "all").collect();
    let breaches = |one: &RunMeasure| one.decides && one.status == MeasureStatus::Alert;
    chosen.sort_by_key(|one| (!breaches(one), !one.decides, one.segment != "all"));
    chosen.truncate(limit);
    chosen.into_iter().map(|one| trend(one, runs)).collect()
}

fn trend(newest: &RunMeasure, runs: &[MeasuredRun<'_>]) -> MeasureTrend {
    let point = |run: &MeasuredRun<'_>| {
        let is_it =
            |one: &&RunMeasure| (one.measure, &one.segment) == (newest.measure, &newest.segment);
        let found = run.measures.iter().find(is_it);
        let hits = found.and_then(|one| one.hits);
        let n = found.map_or(0, |one| one.n);
        let interval = hits.and_then(|hits| wilson(hits, n, 0.95)).map(|at| [at.low, at.high]);
        let value = found.and_then(|one| one.value);
        TrendPoint { run: run.id, at: run.at.clone(), verdict: run.verdict, value, n, interval }
    };
    let unit = match newest.measure.unit() {
        MeasureUnit::Share => "share",
        MeasureUnit::Millis => "milliseconds",
        MeasureUnit::Score => "score",
    };
    MeasureTrend {
        measure: newest.measure,
        segment: newest.segment.clone(),
        unit: unit.to_owned(),
        target: newest.target.as_deref().and_then(bound),
        alert: newest.alert.as_deref().and_then(bound),
        status: newest.status,
        points: runs.iter().rev().map(point).collect(),
    }
}

/// The number of a threshold as a run shows it: `95%` or `1500 ms`; none for a drop (`-5%`), which
/// is relative to a baseline.
fn bound(text: &str) -> Option<f64> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0);
    match (text.strip_suffix('%'), text.strip_suffix(" ms")) {
        (Some(percent), _) => number(percent).map(|percent| percent / 100.0),
        (_, Some(milliseconds)) => number(milliseconds),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(measure: SuiteMeasure, hits: u64, decides: bool) -> RunMeasure {
        RunMeasure {
            segment: "all".to_owned(),
            measure,
            value: Some(hits as f64 / 10.0),
            hits: Some(hits),
            n: 10,
            baseline: None,
            target: Some("90%".to_owned()),
            alert: Some("80%".to_owned()),
            status: if hits < 8 { MeasureStatus::Alert } else { MeasureStatus::Ok },
            decides,
            pages: false,
            unanswered: 0,
            outage: false,
        }
    }

    #[test]
    fn the_measure_that_breaches_comes_first() {
        let new =
            [measure(SuiteMeasure::RecallAt10, 9, true), measure(SuiteMeasure::RecallAt5, 7, true)];
        let old = [measure(SuiteMeasure::RecallAt5, 10, true)];
        let run =
            |id, measures| MeasuredRun { id, at: String::new(), verdict: Verdict::Pass, measures };
        let found = trends(&[run(2, &new[..]), run(1, &old[..])], 1);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].measure, SuiteMeasure::RecallAt5);
        assert_eq!((found[0].target, found[0].alert), (Some(0.9), Some(0.8)));
        let values: Vec<_> = found[0].points.iter().map(|one| (one.run, one.value)).collect();
        assert_eq!(values, [(1, Some(1.0)), (2, Some(0.7))]);
        assert!(trends(&[run(3, &[])], 5).is_empty());
    }

    #[test]
    fn thresholds_are_numbers_unless_they_are_drops() {
        for (text, expected) in
            [("95%", Some(0.95)), ("1500 ms", Some(1500.0)), ("-5%", None), ("x", None)]
        {
            assert_eq!(bound(text), expected, "{text}");
        }
    }
}
