//! Calibrations for a terminal: status, quality of the threshold, and distribution of scores.

use std::fmt::Write as _;

use super::super::escape::visible;
use super::LINE;
use super::table::{Edge, table};
use crate::calibrate::{CalibrationRefusal, ScoreBin};
use crate::format::calibration::{CalibrationOverviewBody, ThresholdInfo, Verification};

const BAR: usize = 30;

/// A number with at most four decimals, without trailing zeros.
fn four(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The status of a workspace's calibration.
pub fn calibration(standing: &CalibrationOverviewBody) -> String {
    let CalibrationOverviewBody { state, reranker, set_threshold, set_for, pairs, missing, .. } =
        standing;
    let shown = |text: &Option<String>| visible(text.as_deref().unwrap_or("-"), LINE);
    let mut text = format!("{}  {}\n\n", state.name().to_uppercase(), state.in_words());
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<20}{value}");
    };
    line("workspace", visible(&standing.workspace, LINE));
    line("reranker", shown(reranker));
    line("rerank.threshold", format!("{} for {}", four(*set_threshold), shown(set_for)));
    let lacking =
        if *missing > 0 { format!("; need {missing} more borderline") } else { String::new() };
    line(
        "pairs",
        format!(
            "{} borderline, {} relevant, {} irrelevant{lacking}",
            pairs.borderline, pairs.relevant, pairs.irrelevant
        ),
    );
    if let Some(one) = &standing.in_force {
        let at = one.decided_at.as_deref().unwrap_or("-");
        line("deployed last", format!("{} ({:.4}, {at})", one.id, one.threshold));
    }
    match &standing.shown {
        None => text.push_str("\nno calibration yet: `gbrain calibrate score`\n"),
        Some(one) => {
            text.push_str(&threshold(one));
            if let Some(fell) = standing.score_drop {
                let _ = writeln!(text, "{:<20}{:+.4} since the active calibration", "mean", -fell);
            }
            text.push_str(&bars(&standing.histogram, one.threshold));
        }
    }
    text
}

/// A threshold with its quality.
pub fn threshold(one: &ThresholdInfo) -> String {
    let body = &one.body;
    let model = visible(&one.model, LINE);
    let mut text = format!("\nthreshold {}  {}  {model}\n", one.id, one.status);
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<20}{value}");
    };
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), percent);
    line(
        "threshold",
        format!("{:.4} = mean {:.4} - sigma {:.4}", one.threshold, one.mean, one.sigma),
    );
    line("borderline pairs", format!("{} from {:.4} to {:.4}", one.n, body.min, body.max));
    line("below it", format!("{} of the borderline pairs", percent(body.percentile)));
    line("robust floor", format!("{:.4}", body.robust_floor));
    line(
        "precision, recall",
        format!("{}, {} of labelled pairs", share(body.precision), share(body.recall)),
    );
    let separation = body.separation.map_or_else(
        || "- (needs 10 irrelevant pairs)".to_owned(),
        |chance| format!("{chance:.3} (0.5 means none)"),
    );
    line("separation", separation);
    if let Some(previous) = &body.previous {
        let model = visible(&previous.model, LINE);
        line("previous", format!("{:.4} ({}, {model})", previous.threshold, previous.id));
    }
    for refusal in &body.refusals {
        line("refused", format!("{refusal}: {}", CalibrationRefusal::in_words(*refusal)));
    }
    if let Some(reason) = &body.forced {
        line("forced", visible(reason, LINE));
    }
    if let Some(trial) = &body.verification {
        line("verified", verified(trial));
        trial.notes.iter().for_each(|note| line("", visible(note, LINE)));
    }
    if let Some(deployment) = &body.deployment {
        let forced =
            deployment.forced.as_deref().map(|why| format!(", forced: {}", visible(why, LINE)));
        line("deployed", format!("{}{}", deployment.at, forced.unwrap_or_default()));
    }
    text
}

fn verified(trial: &Verification) -> String {
    let word = if trial.passed { "passed" } else { "FAILED" };
    let failures: Vec<&str> = trial.failures.iter().map(|failure| failure.name()).collect();
    let why =
        if failures.is_empty() { String::new() } else { format!(" ({})", failures.join(", ")) };
    format!(
        "{word}{why} {} against {}: recall@5 {} of {}, {} left out, {} leaked, {} bypassed, {} errors",
        trial.at,
        visible(&trial.target, LINE),
        trial.hits,
        trial.n,
        trial.filtered,
        trial.leaked,
        trial.bypassed,
        trial.errors
    )
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// Histogram of scores by tenths: `#` relevant, `=` borderline, `.` irrelevant.
fn bars(bins: &[ScoreBin], threshold: f64) -> String {
    let total = |bin: &ScoreBin| bin.counts.total();
    let most = bins.iter().map(total).max().unwrap_or(0);
    if most == 0 {
        return String::new();
    }
    let bar = |count: usize, sign: &str| sign.repeat((count * BAR).div_ceil(most));
    let row = |bin: &ScoreBin| {
        let counts = bin.counts;
        let bars = [(counts.relevant, "#"), (counts.borderline, "="), (counts.irrelevant, ".")];
        let bars: String = bars.iter().map(|(count, sign)| bar(*count, sign)).collect();
        let is_here = (bin.from..bin.to).contains(&threshold);
        let mark = if is_here { "<- threshold" } else { "" };
        vec![format!("{:.1}", bin.from), total(bin).to_string(), bars, mark.to_owned()]
    };
    let rows: Vec<Vec<String>> = bins.iter().map(row).collect();
    let edges = [Edge::Left, Edge::Right, Edge::Left, Edge::Left];
    format!("\nscores (# relevant, = borderline, . irrelevant)\n{}", table(&edges, &rows))
}
