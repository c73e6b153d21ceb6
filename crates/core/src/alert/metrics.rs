//! Suites and alerts as OpenMetrics text: what `/metrics` says of them, and what a collector of text files
//! takes. The names are those that the exported rules ask for.
//!
//! Promises: values of labels are names that owners gave (workspaces, suites, sources) and words of the
//! program; a workspace has a bounded number of series; a measure of nothing has no sample.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::Severity;
use super::export::{BASELINE, LAST_RUN, MEASURE};
use crate::gate::Verdict;
use crate::suite::run::RunMeasure;

/// The metric of what the last run of a suite said: 1 at its verdict.
pub const VERDICT: &str = "gbrain_suite_verdict";
/// The metric of alerts that fire.
pub(crate) const FIRING: &str = "gbrain_alerts_firing";
/// The metric of messages by state.
pub const DELIVERIES: &str = "gbrain_alert_deliveries";
/// The metric of how long the oldest message has waited.
pub const WAITING: &str = "gbrain_alert_delivery_oldest_queued_seconds";

/// Suites of a workspace that have series.
const SUITES: usize = 200;
/// Measures of a suite that have series.
const MEASURES: usize = 200;

/// The last run of a suite that says how it is doing.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteReading {
    pub suite: String,
    pub verdict: Verdict,
    /// When it was recorded.
    pub at: Timestamp,
    pub measures: Vec<RunMeasure>,
}

/// A workspace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reading {
    pub workspace: String,
    /// The last runs of its suites.
    pub suites: Vec<SuiteReading>,
    /// The alerts that fire.
    pub firing: Vec<Severity>,
    /// Messages to be sent.
    pub queued: u64,
    /// Messages that were given up.
    pub dead: u64,
    /// How many seconds the oldest that is to be sent has waited.
    pub oldest_queued: f64,
}

type Labels<'a> = Vec<(&'static str, &'a str)>;

/// The families, without the mark of the end.
pub fn families(readings: &[Reading]) -> String {
    let mut text = String::new();
    measures(&mut text, readings, MEASURE, "What the last run of a suite measured", &|one| {
        one.value
    });
    let help = "What a score was when its threshold was set";
    measures(&mut text, readings, BASELINE, help, &|one| one.baseline);
    head(&mut text, VERDICT, "What the last run of a suite said: 1 at its verdict", None);
    for (workspace, suite) in suites(readings) {
        for verdict in Verdict::ALL {
            let labels = vec![
                ("workspace", workspace),
                ("suite", suite.suite.as_str()),
                ("verdict", verdict.name()),
            ];
            sample(&mut text, VERDICT, &labels, f64::from(u8::from(*verdict == suite.verdict)));
        }
    }
    head(&mut text, LAST_RUN, "When the last run of a suite was recorded", Some("seconds"));
    for (workspace, suite) in suites(readings) {
        let labels = vec![("workspace", workspace), ("suite", suite.suite.as_str())];
        sample(&mut text, LAST_RUN, &labels, suite.at.as_second() as f64);
    }
    alerts(&mut text, readings);
    text
}

/// The whole document, with the mark of its end.
pub fn document(readings: &[Reading]) -> String {
    families(readings) + "# EOF\n"
}

fn alerts(text: &mut String, readings: &[Reading]) {
    head(text, FIRING, "Alerts that fire", None);
    for reading in readings {
        for severity in Severity::ALL {
            let firing = reading.firing.iter().filter(|one| *one == severity).count();
            let labels =
                vec![("workspace", reading.workspace.as_str()), ("severity", severity.name())];
            sample(text, FIRING, &labels, firing as f64);
        }
    }
    head(text, DELIVERIES, "Messages that are to be sent, and that were given up", None);
    for Reading { workspace, queued, dead, .. } in readings {
        for (state, count) in [("queued", queued), ("dead", dead)] {
            let labels = vec![("workspace", workspace.as_str()), ("state", state)];
            sample(text, DELIVERIES, &labels, *count as f64);
        }
    }
    head(text, WAITING, "How long the oldest message has waited", Some("seconds"));
    for Reading { workspace, oldest_queued, .. } in readings {
        sample(text, WAITING, &vec![("workspace", workspace.as_str())], *oldest_queued);
    }
}

fn suites(readings: &[Reading]) -> impl Iterator<Item = (&str, &SuiteReading)> {
    readings.iter().flat_map(|one| {
        one.suites.iter().take(SUITES).map(move |suite| (one.workspace.as_str(), suite))
    })
}

fn measures(
    text: &mut String,
    readings: &[Reading],
    name: &str,
    help: &str,
    value: &dyn Fn(&RunMeasure) -> Option<f64>,
) {
    head(text, name, help, None);
    for (workspace, suite) in suites(readings) {
        for measure in suite.measures.iter().take(MEASURES) {
            let Some(value) = value(measure) else { continue };
            let labels = vec![
                ("workspace", workspace),
                ("suite", suite.suite.as_str()),
                ("measure", measure.measure.name()),
                ("segment", measure.segment.as_str()),
            ];
            sample(text, name, &labels, value);
        }
    }
}

fn head(text: &mut String, name: &str, help: &str, unit: Option<&str>) {
    let _ = writeln!(text, "# HELP {name} {help}.\n# TYPE {name} gauge");
    if let Some(unit) = unit {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
}

fn sample(text: &mut String, name: &str, labels: &Labels<'_>, value: f64) {
    let shown = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    let _ = writeln!(text, "{name}{{{}}} {value}", shown.collect::<Vec<_>>().join(","));
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::super::decide::tests::run;
    use super::super::export::{Awaited, Ruled, prometheus};
    use super::*;

    fn reading() -> Reading {
        let suite = SuiteReading {
            suite: "weekly".to_owned(),
            verdict: Verdict::Fail,
            at: "2026-11-17T12:00:00Z".parse().unwrap(),
            measures: run(3, 0).measures,
        };
        Reading {
            workspace: "default".to_owned(),
            suites: vec![suite],
            firing: vec![Severity::Critical, Severity::Error],
            queued: 2,
            dead: 1,
            oldest_queued: 61.5,
        }
    }

    #[test]
    fn samples_have_the_names_of_the_rules() {
        let text = document(&[reading()]);
        for line in [
            "gbrain_suite_measure{workspace=\"default\",suite=\"weekly\",measure=\"recall@5\",segment=\"all\"} 0.85",
            "gbrain_suite_verdict{workspace=\"default\",suite=\"weekly\",verdict=\"fail\"} 1",
            "gbrain_suite_verdict{workspace=\"default\",suite=\"weekly\",verdict=\"pass\"} 0",
            "gbrain_suite_last_run_timestamp_seconds{workspace=\"default\",suite=\"weekly\"} 1794916800",
            "gbrain_alerts_firing{workspace=\"default\",severity=\"critical\"} 1",
            "gbrain_alerts_firing{workspace=\"default\",severity=\"warning\"} 0",
            "gbrain_alert_deliveries{workspace=\"default\",state=\"queued\"} 2",
            "gbrain_alert_delivery_oldest_queued_seconds{workspace=\"default\"} 61.5",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        let awaited =
            Awaited { workspace: "default".to_owned(), suites: vec!["weekly".to_owned()], days: 8 };
        let rules = prometheus(&[Ruled::default()], &[awaited]);
        for name in [MEASURE, BASELINE, LAST_RUN] {
            assert!(rules.contains(name) && text.contains(&format!("# TYPE {name} gauge")));
        }
    }

    #[test]
    fn a_name_starts_no_label_of_its_own() {
        let mut odd = reading();
        odd.suites[0].measures.truncate(1);
        odd.suites[0].measures[0].segment = "source:a\",x=\"b\\\n".to_owned();
        let text = families(&[odd]);
        assert!(text.contains(r#"segment="source:a\",x=\"b\\\n"}"#), "{text}");
    }

    #[test]
    fn a_measure_of_nothing_has_no_sample() {
        let mut empty = reading();
        empty.suites[0].measures.iter_mut().for_each(|one| one.value = None);
        assert!(!families(&[empty]).contains("gbrain_suite_measure{"));
    }
}
