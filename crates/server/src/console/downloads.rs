//! Files that pages of the console link to: the answer of an endpoint of the API, as a file.

/// A file: its URL, whose last segment is the name, and the endpoint that answers with its content.
pub(super) struct ConsoleDownload {
    pub(super) path: &'static str,
    /// Name in metrics and the audit log.
    pub(super) id: &'static str,
    /// An endpoint without parameters that answers with JSON, or with JSON lines.
    pub(super) endpoint: &'static str,
}

#[rustfmt::skip]
pub(super) fn downloads() -> Vec<ConsoleDownload> {
    let download = |path, id, endpoint| ConsoleDownload { path, id, endpoint };
    vec![
        download("/labels/qrels.json", "console_label_qrels", "labels_as_qrels"),
        download("/labels/borderline.jsonl", "console_borderline_labels", "borderline_labels"),
    ]
}
