//! Suites and alerts as OpenMetrics text, for `/metrics` and for a text file collector. The
//! exported rules use the same metric names.
//!
//! Guarantees: label values are configured names (workspaces, suites, sources) or fixed words; the
//! number of series per workspace is bounded; a measure of an empty sample has no sample line.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::AlertSeverity;
use super::export::{BASELINE, LAST_RUN, MEASURE};
use crate::gate::Verdict;
use crate::suite::run::RunMeasure;

/// Metric: 1 at the verdict of a suite's last run.
pub const VERDICT: &str = "gbrain_suite_verdict";
/// Metric: number of firing alerts.
pub(crate) const FIRING: &str = "gbrain_alerts_firing";
/// Metric: number of messages by state.
pub const DELIVERIES: &str = "gbrain_alert_deliveries";
/// Metric: age of the oldest queued message.
pub const WAITING: &str = "gbrain_alert_delivery_oldest_queued_seconds";

/// Maximum number of suites per workspace with series.
const SUITES: usize = 200;
/// Maximum number of measures per suite with series.
const MEASURES: usize = 200;

/// The last run of a suite that reflects its state.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteMetrics {
    pub suite: String,
    pub verdict: Verdict,
    /// When the run was stored.
    pub at: Timestamp,
    pub measures: Vec<RunMeasure>,
}

/// The suites, alerts and messages of a workspace.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SuiteAlertMetrics {
    pub workspace: String,
    /// The last run of each suite.
    pub suites: Vec<SuiteMetrics>,
    /// Severities of the firing alerts.
    pub firing: Vec<AlertSeverity>,
    /// Number of queued messages.
    pub queued: u64,
    /// Number of undeliverable messages.
    pub dead: u64,
    /// Age of the oldest queued message in seconds.
    pub oldest_queued: f64,
}

type Labels<'a> = Vec<(&'static str, &'a str)>;

/// The metric families, without the end marker.
pub fn families(readings: &[SuiteAlertMetrics]) -> String {
    let mut text = String::new();
    measures(
        &mut text,
        readings,
        MEASURE,
        "Value of a measure in the last run of a suite",
        &|one| one.value,
    );
    let help = "Score when its threshold was set";
    measures(&mut text, readings, BASELINE, help, &|one| one.baseline);
    head(&mut text, VERDICT, "Verdict of the last run of a suite: 1 at its verdict", None);
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

/// The complete document, with the end marker.
pub fn document(readings: &[SuiteAlertMetrics]) -> String {
    families(readings) + "# EOF\n"
}

fn alerts(text: &mut String, readings: &[SuiteAlertMetrics]) {
    head(text, FIRING, "Firing alerts", None);
    for reading in readings {
        for severity in AlertSeverity::ALL {
            let firing = reading.firing.iter().filter(|one| *one == severity).count();
            let labels =
                vec![("workspace", reading.workspace.as_str()), ("severity", severity.name())];
            sample(text, FIRING, &labels, firing as f64);
        }
    }
    head(text, DELIVERIES, "Queued and undeliverable messages", None);
    for SuiteAlertMetrics { workspace, queued, dead, .. } in readings {
        for (state, count) in [("queued", queued), ("dead", dead)] {
            let labels = vec![("workspace", workspace.as_str()), ("state", state)];
            sample(text, DELIVERIES, &labels, *count as f64);
        }
    }
    head(text, WAITING, "Age of the oldest queued message", Some("seconds"));
    for SuiteAlertMetrics { workspace, oldest_queued, .. } in readings {
        sample(text, WAITING, &vec![("workspace", workspace.as_str())], *oldest_queued);
    }
}

fn suites(readings: &[SuiteAlertMetrics]) -> impl Iterator<Item = (&str, &SuiteMetrics)> {
    readings.iter().flat_map(|one| {
        one.suites.iter().take(SUITES).map(move |suite| (one.workspace.as_str(), suite))
    })
}

fn measures(
    text: &mut String,
    readings: &[SuiteAlertMetrics],
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
    use super::super::export::{MissingRunRule, ThresholdGroup, prometheus};
    use super::*;

    fn reading() -> SuiteAlertMetrics {
        let suite = SuiteMetrics {
            suite: "weekly".to_owned(),
            verdict: Verdict::Fail,
            at: "2026-11-17T12:00:00Z".parse().unwrap(),
            measures: run(3, 0).measures,
        };
        SuiteAlertMetrics {
            workspace: "default".to_owned(),
            suites: vec![suite],
            firing: vec![AlertSeverity::Critical, AlertSeverity::Error],
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
        let awaited = MissingRunRule {
            workspace: "default".to_owned(),
            suites: vec!["weekly".to_owned()],
            days: 8,
        };
        let rules = prometheus(&[ThresholdGroup::default()], &[awaited]);
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
