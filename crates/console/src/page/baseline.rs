//! A baseline: what it was frozen from, its thresholds and its rows.

use maud::{Markup, html};
use serde::Deserialize;

use super::captures_file::CaptureFile;
use super::view::RowView;
use crate::part::{self, heading, section, table};
use crate::shell::{Page, Section};

/// The first line of a baseline.
#[derive(Debug, Deserialize)]
struct Metadata {
    label: String,
    published_at: String,
    source_hash: String,
    #[serde(default)]
    rows_hash: Option<String>,
    #[serde(default)]
    key_id: Option<String>,
    thresholds: Thresholds,
    row_count: u64,
    #[serde(default)]
    why: Option<String>,
    #[serde(default)]
    history: Vec<Version>,
}

#[derive(Debug, Deserialize)]
struct Thresholds {
    jaccard: f64,
    top1: f64,
    latency_multiplier: f64,
}

/// An earlier version.
#[derive(Debug, Deserialize)]
struct Version {
    #[serde(default)]
    label: String,
    #[serde(default)]
    published_at: String,
    #[serde(default)]
    row_count: u64,
    #[serde(default)]
    why: Option<String>,
}

/// A baseline that was read.
#[derive(Debug)]
pub(crate) struct Baseline {
    metadata: Metadata,
    rows: CaptureFile,
}

impl Baseline {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let first = text.trim_start().lines().next().unwrap_or_default();
        let metadata: Metadata =
            serde_json::from_str(first).map_err(|error| format!("line 1: {error}"))?;
        Ok(Self { metadata, rows: CaptureFile::read(text)? })
    }

    pub(crate) fn page(&self, text: &str, view: &RowView) -> Page {
        let Metadata { label, published_at, row_count, why, .. } = &self.metadata;
        let facts = [
            ("Published", part::moment(&part::text(published_at))),
            (
                "Rows",
                html! { (part::thousands(self.rows.len() as u64)) " of " (part::thousands(*row_count)) },
            ),
        ];
        let why = why.as_deref().map_or(String::new(), |why| format!("Why: {}", part::text(why)));
        Page {
            title: format!("Baseline {}", part::text(label)),
            section: Section::Runs,
            command: "gbrain baseline verify FILE".to_owned(),
            header: html! { (heading("baseline", &part::text(label), None, &why)) (part::facts(&facts)) },
            controls: self.rows.filters(view),
            main: html! {
                @if view.is_whole() {
                    (section("thresholds", "Thresholds", "A gate on this baseline fails beyond these.", &self.thresholds()))
                    (section("history", "Earlier versions", "", &self.history()))
                    (section("fingerprints", "Fingerprints", "Checked by gbrain baseline verify, not by this page.", &self.fingerprints()))
                }
                (self.rows.section(text, view))
            },
            pager: self.rows.pager(view),
            scripts: Vec::new(),
        }
    }

    fn thresholds(&self) -> Markup {
        let Thresholds { jaccard, top1, latency_multiplier } = self.metadata.thresholds;
        let row = |name: &str, value: String| vec![html! { (name) }, html! { (value) }];
        let rows = [
            row("mean_jaccard", format!("≥ {jaccard}")),
            row("top1_stability_rate", format!("≥ {top1}")),
            row("latency_ratio", format!("≤ {latency_multiplier}x")),
        ];
        table("thresholds", "prints", &["Metric", "Threshold"], &rows)
    }

    fn history(&self) -> Markup {
        let row = |one: &Version| {
            vec![
                html! { (part::text(&one.label)) },
                part::moment(&part::text(&one.published_at)),
                html! { (part::thousands(one.row_count)) },
                html! { (part::text(one.why.as_deref().unwrap_or_default())) },
            ]
        };
        let rows: Vec<Vec<Markup>> = self.metadata.history.iter().map(row).collect();
        table("earlier versions", "versions", &["Label", "Published", "Rows", "Why"], &rows)
    }

    fn fingerprints(&self) -> Markup {
        let Metadata { source_hash, rows_hash, key_id, .. } = &self.metadata;
        let row = |name: &str, value: &str| {
            vec![html! { (name) }, html! { code { (part::text(value)) } }]
        };
        let mut rows = vec![
            row("source_hash", source_hash),
            row("rows_hash", rows_hash.as_deref().unwrap_or("none: edits cannot be detected")),
        ];
        rows.extend(key_id.as_deref().map(|key| row("signed with", key)));
        table("fingerprints", "prints", &["What", "Value"], &rows)
    }
}
