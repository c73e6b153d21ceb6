//! Counts of erased and changed records.

use schemars::JsonSchema;
use serde::Serialize;

/// Records that a purge erased or changed, besides the versions of the page itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct ErasureCounts {
    /// Captures in which the page became a pseudonym.
    pub captures: u64,
    /// Captures whose scrubbed names were hashed under another identity key: they may stand for the page.
    pub captures_under_another_key: u64,
    /// Labels of the page, erased.
    pub labels: u64,
    /// Canonical queries that lost a key and still have one.
    pub queries_changed: u64,
    /// Canonical queries that have no key left: retired.
    pub queries_retired: u64,
    /// Calibration pairs of the page, erased.
    pub calibration_pairs: u64,
    /// Reports of suites in which the page became a pseudonym.
    pub suite_reports: u64,
    /// Logged retrievals in which the page became a pseudonym.
    pub retrieval_logs: u64,
    /// Reports of contradictions in which the page became a pseudonym and its statements were erased.
    pub contradiction_reports: u64,
    /// Stored qrels that judged the page.
    pub qrels: u64,
    /// Queries of stored qrels that have no relevant page left: they can't pass until a person edits them.
    pub qrels_queries_without_answer: u64,
    /// Stored baselines in which the page became a pseudonym.
    pub baselines: u64,
    /// Baselines, stored or in the home, that fail verification: they have to be published again.
    pub baselines_to_publish_again: u64,
    /// Jobs that have ended and named the page.
    pub jobs: u64,
    /// Imports that have not ended and bring the page: they will write it again.
    pub open_imports: u64,
    /// Events, comments, notes, alerts and incidents that named the page.
    pub remarks: u64,
    /// Cached answers of models that were made from the page, erased.
    pub model_answers: u64,
    /// Cached answers of models that do not record their pages, erased with the page.
    pub model_answers_without_pages: u64,
    /// Baseline files of the home in which the page became a pseudonym.
    pub baseline_files: u64,
    /// Lines of the home's audit files in which the page's name was masked.
    pub audit_lines: u64,
}

impl ErasureCounts {
    /// The non-zero counts of erased and changed records, in words.
    pub fn describe(&self) -> Vec<(u64, &'static str)> {
        let Self {
            captures,
            captures_under_another_key,
            labels,
            queries_changed,
            queries_retired,
            calibration_pairs,
            suite_reports,
            retrieval_logs,
            contradiction_reports,
            qrels,
            qrels_queries_without_answer,
            baselines,
            baselines_to_publish_again,
            jobs,
            open_imports,
            remarks,
            model_answers,
            model_answers_without_pages,
            baseline_files,
            audit_lines,
        } = *self;
        let all = [
            (captures, "captures: name replaced"),
            (labels, "labels erased"),
            (queries_changed, "canonical queries: key removed, other keys remain"),
            (queries_retired, "canonical queries retired: no key left"),
            (calibration_pairs, "calibration pairs erased"),
            (suite_reports, "suite reports: name replaced, verdicts unchanged"),
            (retrieval_logs, "retrieval logs: name replaced"),
            (contradiction_reports, "contradiction reports: name and statements replaced"),
            (qrels, "stored qrels: judgement removed"),
            (qrels_queries_without_answer, "queries of stored qrels have no relevant page left"),
            (baselines, "stored baselines: name replaced"),
            (jobs, "finished jobs: name and text replaced"),
            (remarks, "events, comments, alerts and incidents: name replaced"),
            (model_answers, "cached model answers erased"),
            (model_answers_without_pages, "cached model answers without a record of pages erased"),
            (baseline_files, "baseline files: name replaced"),
            (audit_lines, "audit lines: name masked"),
            (
                captures_under_another_key,
                "captures scrubbed under another identity key: not examined",
            ),
            (baselines_to_publish_again, "baselines fail verification: publish them again"),
            (open_imports, "open imports will write the page again: cancel them"),
        ];
        all.into_iter().filter(|(count, _)| *count > 0).collect()
    }
}
