//! Rules for Prometheus and a dashboard for Grafana, from the same table that runs are held against.

use serde_json::{Value, json};

use crate::suite::measure::{Measure, Unit};
use crate::suite::threshold::{Bound, Threshold, Thresholds};

/// The metric of every measure.
pub const MEASURE: &str = "gbrain_suite_measure";
/// The metric of what a score was when its threshold was set.
pub const BASELINE: &str = "gbrain_suite_measure_baseline";
/// The metric of when a suite last ran.
pub const LAST_RUN: &str = "gbrain_suite_last_run_timestamp_seconds";

/// Rules for Prometheus, as YAML.
pub fn prometheus(thresholds: &Thresholds, silent_after_days: u32) -> String {
    let mut text = String::from("groups:\n  - name: gbrain-suites\n    rules:\n");
    for (measure, threshold) in &thresholds.all {
        text.push_str(&rule(*measure, "all", threshold));
    }
    for (mode, rows) in &thresholds.by_mode {
        for (measure, threshold) in rows {
            text.push_str(&rule(*measure, &format!("mode:{mode}"), threshold));
        }
    }
    text.push_str(&format!(
        "      - alert: GbrainSuiteSilent\n        expr: time() - {LAST_RUN} > {}\n        labels:\n          \
         severity: error\n        annotations:\n          summary: 'suite {{{{ $labels.suite }}}} of \
         {{{{ $labels.workspace }}}} has not run for {silent_after_days} days'\n",
        u64::from(silent_after_days) * 86_400
    ));
    text
}

fn rule(measure: Measure, segment: &str, threshold: &Threshold) -> String {
    let severity = if threshold.pages { "critical" } else { "error" };
    let labels = format!("{{measure=\"{measure}\",segment=\"{segment}\"}}");
    let expression = match threshold.bound {
        Bound::Share { alert, .. } => {
            format!("{MEASURE}{labels} < {}", f64::from(alert.0) / 10_000.0)
        }
        Bound::Millis { alert, .. } => format!("{MEASURE}{labels} > {alert}"),
        Bound::Fall { alert } => format!("{BASELINE}{labels} - {MEASURE}{labels} >= {alert}"),
    };
    format!(
        "      - alert: {}\n        expr: '{expression}'\n        labels:\n          severity: {severity}\n        \
         annotations:\n          summary: '{measure} of {{{{ $labels.suite }}}} ({{{{ $labels.workspace }}}}, \
         {segment}) is {{{{ $value }}}}'\n",
        name(measure, segment)
    )
}

/// A name as Prometheus' users write it.
fn name(measure: Measure, segment: &str) -> String {
    let words = format!("gbrain {measure} {segment}");
    let words = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    words.map(capital).collect()
}

/// A dashboard for Grafana.
pub fn grafana(thresholds: &Thresholds) -> Value {
    let panels: Vec<Value> = thresholds
        .all
        .iter()
        .enumerate()
        .map(|(at, (measure, threshold))| panel(at, *measure, threshold))
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

fn panel(at: usize, measure: Measure, threshold: &Threshold) -> Value {
    let unit = match measure.unit() {
        Unit::Share => "percentunit",
        Unit::Millis => "ms",
        Unit::Score => "none",
    };
    let steps = match threshold.bound {
        Bound::Share { target, alert } => {
            let share = |ten_thousandths: u32| f64::from(ten_thousandths) / 10_000.0;
            json!([
                { "color": "red", "value": null },
                { "color": "yellow", "value": share(alert.0) },
                { "color": "green", "value": share(target.0) },
            ])
        }
        Bound::Millis { target, alert } => json!([
            { "color": "green", "value": null },
            { "color": "yellow", "value": target },
            { "color": "red", "value": alert },
        ]),
        Bound::Fall { .. } => json!([{ "color": "green", "value": null }]),
    };
    let filter = "workspace=~\"$workspace\",suite=~\"$suite\",segment=~\"$segment\"";
    json!({
        "id": at + 1,
        "title": measure.name(),
        "type": "timeseries",
        "gridPos": { "h": 8, "w": 12, "x": at % 2 * 12, "y": at / 2 * 8 },
        "fieldConfig": { "defaults": { "unit": unit, "thresholds": { "mode": "absolute", "steps": steps } } },
        "targets": [{
            "expr": format!("{MEASURE}{{measure=\"{measure}\",{filter}}}"),
            "legendFormat": "{{workspace}} {{suite}} {{segment}}",
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_the_table() {
        insta::assert_snapshot!(prometheus(&Thresholds::default(), 8));
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
        let dashboard = grafana(&Thresholds::default());
        let panels = dashboard["panels"].as_array().unwrap();
        assert_eq!(panels.len(), Thresholds::default().all.len());
        let recall = panels.iter().find(|panel| panel["title"] == "recall@5").unwrap();
        assert_eq!(recall["fieldConfig"]["defaults"]["thresholds"]["steps"][1]["value"], 0.92);
    }
}
