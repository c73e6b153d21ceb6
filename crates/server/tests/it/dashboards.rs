//! Alerts, the dashboard and the manual name what a scrape has.

use std::collections::BTreeSet;
use std::path::Path;

use gbrain_server::telemetry::ScrapeScope;

use crate::metrics::busy;

fn read(path: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(docs.join(path)).unwrap()
}

/// Families with the suffix that their type gives to samples, as people write them.
fn families(scrape: &str) -> BTreeSet<String> {
    let types = scrape.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    types
        .map(|(name, kind)| match kind {
            "counter" => format!("{name}_total"),
            "info" => format!("{name}_info"),
            _ => name.to_owned(),
        })
        .collect()
}

/// The names of samples.
fn samples(scrape: &str) -> BTreeSet<String> {
    let lines = scrape.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split(['{', ' ']).next()).map(str::to_owned).collect()
}

/// Everything that is spelt like a metric of ours.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("gbrain_")).map(str::to_owned).collect()
}

#[test]
fn alerts_and_dashboard_name_what_a_scrape_has() {
    let samples = samples(&busy().render(ScrapeScope::All));
    for path in ["prometheus/gbrain-rules.yml", "grafana/gbrain.json"] {
        let named = named(&read(path));
        assert!(named.len() >= 10, "{path}: {named:?}");
        let unknown: Vec<&String> = named.difference(&samples).collect();
        assert!(unknown.is_empty(), "{path}: {unknown:?}");
    }
}

#[test]
fn the_dashboard_shows_every_family_and_is_json() {
    let text = read("grafana/gbrain.json");
    let dashboard: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(dashboard["uid"], "gbrain");
    let shown = named(&text);
    for family in families(&busy().render(ScrapeScope::All)) {
        assert!(shown.iter().any(|name| name.starts_with(&family)), "{family}");
    }
}

#[test]
fn the_manual_lists_every_family_and_no_other() {
    let manual = read("telemetry.md");
    let rows = manual.lines().filter_map(|line| line.strip_prefix("| `gbrain_")?.split_once('`'));
    let listed: BTreeSet<String> = rows.map(|(name, _)| format!("gbrain_{name}")).collect();
    assert_eq!(listed, families(&busy().render(ScrapeScope::All)));
}
