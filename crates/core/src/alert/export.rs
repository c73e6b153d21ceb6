//! Exports Prometheus rules and a Grafana dashboard from the suites' thresholds.

use serde_json::{Value, json};

use crate::suite::Suite;
use crate::suite::measure::{MeasureUnit, SuiteMeasure};
use crate::suite::threshold::{MeasureBound, SuiteThresholds, Threshold};

/// Metric: value of a measure.
pub(crate) const MEASURE: &str = "gbrain_suite_measure";
/// Metric: score when the threshold was set.
pub const BASELINE: &str = "gbrain_suite_measure_baseline";
/// Metric: time of a suite's last run.
pub(crate) const LAST_RUN: &str = "gbrain_suite_last_run_timestamp_seconds";

/// Thresholds and the suites that use them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThresholdGroup {
    /// Workspace and suite names; none for every suite.
    pub suites: Option<(String, Vec<String>)>,
    pub thresholds: SuiteThresholds,
}

/// Suites of a workspace that alert after this many days without a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRunRule {
    pub workspace: String,
    pub suites: Vec<String>,
    pub days: u32,
}

/// A suite to export rules for.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportedSuite {
    pub workspace: String,
    pub suite: Suite,
    /// Whether the suite is enabled. A disabled suite never alerts for a missing run.
    pub is_on: bool,
}

/// Missing-run rules of enabled suites that set a number of days.
pub fn missing_run_rules(suites: &[ExportedSuite]) -> Vec<MissingRunRule> {
    let mut rows: Vec<MissingRunRule> = Vec::new();
    for ExportedSuite { workspace, suite, is_on: _ } in suites.iter().filter(|held| held.is_on) {
        let Some(days) = suite.alerts.silent_after_days else { continue };
        match rows.iter_mut().find(|row| row.days == days && row.workspace == *workspace) {
            Some(row) => row.suites.push(suite.name.clone()),
            None => {
                let (workspace, suites) = (workspace.clone(), vec![suite.name.clone()]);
                rows.push(MissingRunRule { workspace, suites, days });
            }
        }
    }
    rows
}

/// Groups suites by thresholds: one table for all if they are equal, otherwise one per thresholds
/// and workspace.
pub fn group_by_thresholds(suites: &[ExportedSuite]) -> Vec<ThresholdGroup> {
    let mut rows: Vec<ThresholdGroup> = Vec::new();
    for ExportedSuite { workspace, suite: Suite { name, thresholds, .. }, is_on: _ } in suites {
        let is_it = |row: &&mut ThresholdGroup| {
            row.thresholds == *thresholds
                && row.suites.as_ref().is_some_and(|(own, _)| own == workspace)
        };
        match rows.iter_mut().find(is_it).and_then(|row| row.suites.as_mut()) {
            Some((_, names)) => names.push(name.clone()),
            None => rows.push(ThresholdGroup {
                suites: Some((workspace.clone(), vec![name.clone()])),
                thresholds: thresholds.clone(),
            }),
        }
    }
    let is_one_table =
        |first: &ThresholdGroup| rows.iter().all(|row| row.thresholds == first.thresholds);
    match rows.first() {
        None => vec![ThresholdGroup::default()],
        Some(first) if is_one_table(first) => {
            vec![ThresholdGroup { suites: None, ..first.clone() }]
        }
        Some(_) => rows,
    }
}

impl ThresholdGroup {
    /// Label matchers for the table's suites.
    fn matchers(&self) -> Option<String> {
        let (workspace, names) = self.suites.as_ref()?;
        Some(matchers(workspace, names))
    }
}

fn matchers(workspace: &str, suites: &[String]) -> String {
    format!("workspace=\"{workspace}\",suite=~\"{}\"", suites.join("|"))
}

/// Prometheus rules as YAML.
pub fn prometheus(tables: &[ThresholdGroup], awaited: &[MissingRunRule]) -> String {
    let mut text = String::from("groups:\n");
    for (at, table) in tables.iter().enumerate() {
        let number = if at == 0 { String::new() } else { format!("-{}", at + 1) };
        text.push_str(&format!("  - name: gbrain-suites{number}\n    rules:\n"));
        for (measure, threshold) in &table.thresholds.all {
            text.push_str(&rule(table, *measure, "all", threshold));
        }
        for (mode, rows) in &table.thresholds.by_mode {
            for (measure, threshold) in rows {
                text.push_str(&rule(table, *measure, &format!("mode:{mode}"), threshold));
            }
        }
    }
    if !awaited.is_empty() {
        text.push_str("  - name: gbrain-suites-silent\n    rules:\n");
        text.extend(awaited.iter().map(silent));
    }
    text
}

fn silent(MissingRunRule { workspace, suites, days }: &MissingRunRule) -> String {
    let which = matchers(workspace, suites);
    format!(
        "      - alert: GbrainSuiteSilent\n        expr: 'time() - {LAST_RUN}{{{which}}} > {}'\n        labels:\n          \
         severity: error\n        annotations:\n          summary: 'suite {{{{ $labels.suite }}}} of \
         {{{{ $labels.workspace }}}} has not run for {days} days'\n",
        u64::from(*days) * 86_400
    )
}

fn rule(
    table: &ThresholdGroup,
    measure: SuiteMeasure,
    segment: &str,
    threshold: &Threshold,
) -> String {
    let severity = if threshold.pages { "critical" } else { "error" };
    let which = table.matchers().map(|which| format!(",{which}")).unwrap_or_default();
    let labels = format!("{{measure=\"{measure}\",segment=\"{segment}\"{which}}}");
    let expression = match threshold.bound {
        MeasureBound::Share { alert, .. } => {
            format!("{MEASURE}{labels} < {}", f64::from(alert.0) / 10_000.0)
        }
        MeasureBound::Millis { alert, .. } => format!("{MEASURE}{labels} > {alert}"),
        MeasureBound::Fall { alert } => {
            format!("{BASELINE}{labels} - {MEASURE}{labels} >= {alert}")
        }
    };
    format!(
        "      - alert: {}\n        expr: '{expression}'\n        labels:\n          severity: {severity}\n        \
         annotations:\n          summary: '{measure} of {{{{ $labels.suite }}}} ({{{{ $labels.workspace }}}}, \
         {segment}) is {{{{ $value }}}}'\n",
        name(measure, segment)
    )
}

/// The alert name in Prometheus' usual spelling.
fn name(measure: SuiteMeasure, segment: &str) -> String {
    let words = format!("gbrain {measure} {segment}");
    let words = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    words.map(capital).collect()
}

/// A Grafana dashboard with a panel for each row of each table.
pub fn grafana(tables: &[ThresholdGroup]) -> Value {
    let rows = tables.iter().flat_map(|table| {
        table.thresholds.all.iter().map(move |(measure, threshold)| (table, *measure, threshold))
    });
    let panels: Vec<Value> = rows
        .enumerate()
        .map(|(at, (table, measure, threshold))| panel(at, table, measure, threshold))
        .collect();
    json!({
        "title": "gbrain suites",
        "uid": "gbrain-suites",
        "schemaVersion": 39,
        "tags": ["gbrain"],
        "time": { "from": "now-30d", "to": "now" },
        "templating": { "list": [
            variable("workspace", MEASURE),
            variable("suite", MEASURE),
            variable("segment", MEASURE),
        ] },
        "panels": panels,
    })
}

fn variable(label: &str, metric: &str) -> Value {
    json!({
        "name": label, "type": "query", "multi": true, "includeAll": true,
        "query": format!("label_values({metric}, {label})"),
        "current": { "text": "All", "value": "$__all" },
    })
}

fn steps(bound: MeasureBound) -> Value {
    match bound {
        MeasureBound::Share { target, alert } => {
            let share = |ten_thousandths: u32| f64::from(ten_thousandths) / 10_000.0;
            json!([
                { "color": "red", "value": null },
                { "color": "yellow", "value": share(alert.0) },
                { "color": "green", "value": share(target.0) },
            ])
        }
        MeasureBound::Millis { target, alert } => json!([
            { "color": "green", "value": null },
            { "color": "yellow", "value": target },
            { "color": "red", "value": alert },
        ]),
        MeasureBound::Fall { .. } => json!([{ "color": "green", "value": null }]),
    }
}

fn panel(at: usize, table: &ThresholdGroup, measure: SuiteMeasure, threshold: &Threshold) -> Value {
    let unit = match measure.unit() {
        MeasureUnit::Share => "percentunit",
        MeasureUnit::Millis => "ms",
        MeasureUnit::Score => "none",
    };
    let (title, which) = match (&table.suites, table.matchers()) {
        (Some((workspace, names)), Some(which)) => {
            (format!("{measure} ({workspace}: {})", names.join(", ")), format!(",{which}"))
        }
        _ => (measure.name().to_owned(), String::new()),
    };
    let filter = "workspace=~\"$workspace\",suite=~\"$suite\",segment=~\"$segment\"";
    let thresholds = json!({ "mode": "absolute", "steps": steps(threshold.bound) });
    json!({
        "id": at + 1,
        "title": title,
        "type": "timeseries",
        "gridPos": { "h": 8, "w": 12, "x": at % 2 * 12, "y": at / 2 * 8 },
        "fieldConfig": { "defaults": { "unit": unit, "thresholds": thresholds } },
        "targets": [{
            "expr": format!("{MEASURE}{{measure=\"{measure}\",{filter}{which}}}"),
            "legendFormat": "{{workspace}} {{suite}} {{segment}}",
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::threshold::Percent;

    #[test]
    fn rules_of_the_table() {
        let awaited =
            MissingRunRule { workspace: "a".to_owned(), suites: vec!["x".to_owned()], days: 8 };
        insta::assert_snapshot!(prometheus(&[ThresholdGroup::default()], &[awaited]));
    }

    fn held(workspace: &str, suite: Suite) -> ExportedSuite {
        ExportedSuite { workspace: workspace.to_owned(), suite, is_on: true }
    }

    /// Suites without `silent_after_days` and disabled suites get no missing-run rule.
    #[test]
    fn missing_run_rules_are_exported_on_request() {
        let suite = |name: &str, days: Option<u32>| {
            let mut suite = Suite::new(name, crate::suite::SuiteKind::Smoke, vec!["@a".to_owned()]);
            suite.alerts.silent_after_days = days;
            suite
        };
        let mut all = vec![
            held("a", suite("w", Some(8))),
            held("a", suite("x", Some(8))),
            held("a", suite("y", Some(2))),
            held("a", suite("free", None)),
            ExportedSuite { is_on: false, ..held("a", suite("off", Some(8))) },
        ];
        let rules = prometheus(&group_by_thresholds(&all), &missing_run_rules(&all));
        for expected in [
            r#"_seconds{workspace="a",suite=~"w|x"} > 691200'"#,
            r#"_seconds{workspace="a",suite=~"y"} > 172800'"#,
        ] {
            assert!(rules.contains(expected), "{rules}");
        }
        assert!(!rules.contains("free") && !rules.contains("off"), "{rules}");
        assert_eq!(group_by_thresholds(&all).len(), 1, "their thresholds are the same");
        all.drain(..3);
        let rules = prometheus(&group_by_thresholds(&all), &missing_run_rules(&all));
        assert!(!rules.contains("GbrainSuiteSilent") && !rules.contains(LAST_RUN), "{rules}");
    }

    /// A share that is exactly on its boundary is no alert for Prometheus either: the quotient and the
    /// number in the rule are the same double.
    #[test]
    fn boundaries_survive_the_export() {
        for (hits, n, alert) in
            [(23, 25, 9_200), (92, 100, 9_200), (24, 25, 9_600), (17, 20, 8_500)]
        {
            let quotient = f64::from(hits) / f64::from(n);
            let rule: f64 = format!("{}", f64::from(alert) / 10_000.0).parse().unwrap();
            assert!(quotient >= rule, "{hits} of {n}");
        }
    }

    #[test]
    fn a_panel_for_each_row() {
        let dashboard = grafana(&[ThresholdGroup::default()]);
        let panels = dashboard["panels"].as_array().unwrap();
        assert_eq!(panels.len(), SuiteThresholds::default().all.len());
        let recall = panels.iter().find(|panel| panel["title"] == "recall@5").unwrap();
        assert_eq!(recall["fieldConfig"]["defaults"]["thresholds"]["steps"][1]["value"], 0.92);
    }

    /// A suite with rows of its own is held against these and no others.
    #[test]
    fn tables_of_their_own() {
        let suite = |name: &str, alert: u32| {
            let mut suite = Suite::new(name, crate::suite::SuiteKind::Smoke, vec!["@a".to_owned()]);
            let row = suite.thresholds.all.get_mut(&SuiteMeasure::RecallAt5).unwrap();
            row.bound = MeasureBound::Share { target: Percent(9_500), alert: Percent(alert) };
            suite
        };
        let of = |suites: &[(&str, Suite)]| {
            group_by_thresholds(
                &suites.iter().map(|(own, suite)| held(own, suite.clone())).collect::<Vec<_>>(),
            )
        };
        assert_eq!(of(&[]), [ThresholdGroup::default()]);
        let same = of(&[("a", suite("x", 9_200)), ("b", suite("y", 9_200))]);
        assert_eq!(same, [ThresholdGroup::default()], "one table for all");
        let other =
            of(&[("a", suite("x", 9_200)), ("a", suite("y", 9_200)), ("a", suite("z", 8_000))]);
        let rules = prometheus(&other, &[]);
        for expected in [
            r#"{measure="recall@5",segment="all",workspace="a",suite=~"x|y"} < 0.92"#,
            r#"{measure="recall@5",segment="all",workspace="a",suite=~"z"} < 0.8"#,
            "gbrain-suites-2",
        ] {
            assert!(rules.contains(expected), "{rules}");
        }
        let panels = grafana(&other)["panels"].as_array().unwrap().len();
        assert_eq!(panels, 2 * SuiteThresholds::default().all.len());
    }
}
