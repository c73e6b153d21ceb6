//! Several reviewers: who labelled what, how far they agree, and the grade that counts where they
//! do not.

use gbrain_core::fault::Fault;
use gbrain_core::id::PageKey;
use gbrain_core::labelling::{self, Agreement, GradedReview, is_conflict};
use gbrain_store::LabelReview;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::candidates::{ReviewedLabel, query_id, reviewed_labels};
use crate::http::{NoParameters, OperationCall, Reply};
use crate::operations::bounds::within;
use crate::operations::labels::no_label;

const DEFAULT_LIMIT: u16 = 50;
const MAX_LIMIT: u16 = 500;

/// How far reviewers agree.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AgreementBody {
    /// Labels in all.
    labels: usize,
    /// Disagreements that no reviewer has settled.
    conflicts: usize,
    /// Pages that a reviewer called barely relevant.
    borderline: usize,
    #[serde(flatten)]
    agreement: Agreement,
}

/// Which conflicts to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListConflicts {
    /// Labels with a higher id than this.
    after: Option<i64>,
    /// The maximum number of conflicts; 50 by default.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u16>,
}

/// Pages that reviewers graded differently, by the ids of their labels.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConflictsBody {
    conflicts: Vec<ConflictBody>,
    /// Where the next page of the list starts: labels with a higher id than this.
    next_after: Option<i64>,
    /// How many there are, in all.
    total: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ConflictBody {
    /// The label.
    id: i64,
    query: String,
    /// The query in the labelling queue.
    query_id: String,
    /// The page, as `source::slug`.
    page: PageKey,
    /// The grade that counts now: that of the latest judgement.
    grade: i64,
    reviews: Vec<LabelReview>,
}

/// The grade to settle on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettleLabel {
    /// The grade that counts from now on, until the next judgement.
    #[schemars(range(min = 0, max = 10))]
    grade: i64,
}

/// A label by its id.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelNumber {
    #[schemars(range(min = 1))]
    id: i64,
}

/// A label that was settled.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettledBody {
    id: i64,
    grade: i64,
    settled_by: String,
}

pub(crate) fn agreement(call: &OperationCall<'_>, _: NoParameters) -> Result<Reply, Fault> {
    let labels = reviewed_labels(call)?;
    let graded: Vec<GradedReview> =
        labels.iter().flat_map(|one| one.reviews.iter().map(graded)).collect();
    let is_borderline = |one: &&ReviewedLabel| one.reviews.iter().any(|review| review.borderline);
    Reply::json(&AgreementBody {
        labels: labels.len(),
        conflicts: labels.iter().filter(|one| is_open(one)).count(),
        borderline: labels.iter().filter(is_borderline).count(),
        agreement: labelling::agreement(&graded),
    })
}

fn graded(review: &LabelReview) -> GradedReview {
    let LabelReview { label, reviewer, grade, .. } = review;
    GradedReview { label: *label, reviewer: reviewer.clone(), grade: *grade }
}

/// Whether reviewers disagree and none has settled it.
fn is_open(one: &ReviewedLabel) -> bool {
    one.label.settled_by.is_none() && is_conflict(one.reviews.iter().map(|review| review.grade))
}

pub(crate) fn conflicts(call: &OperationCall<'_>, input: ListConflicts) -> Result<Reply, Fault> {
    within("limit", input.limit, 1..=MAX_LIMIT)?;
    let limit = usize::from(input.limit.unwrap_or(DEFAULT_LIMIT));
    let open: Vec<ReviewedLabel> = reviewed_labels(call)?.into_iter().filter(is_open).collect();
    let total = open.len();
    let after = input.after.unwrap_or(0);
    let mut open = open.into_iter().filter(|one| one.label.id > after).map(conflict);
    let conflicts: Vec<ConflictBody> = open.by_ref().take(limit).collect();
    let next_after = conflicts.last().map(|last| last.id).filter(|_| open.next().is_some());
    Reply::json(&ConflictsBody { conflicts, next_after, total })
}

fn conflict(ReviewedLabel { label, reviews }: ReviewedLabel) -> ConflictBody {
    ConflictBody {
        id: label.id,
        query_id: query_id(&label.query),
        query: label.query,
        page: label.key,
        grade: label.grade,
        reviews,
    }
}

/// Chooses the grade that counts where reviewers disagree.
pub(crate) fn settle(
    call: &OperationCall<'_>,
    input: LabelNumber,
    body: SettleLabel,
) -> Result<Reply, Fault> {
    within("grade", Some(body.grade), 0..=10)?;
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let (id, grade, by) = (input.id, body.grade, &call.principal.name);
    // The label of a private page does not exist for a remote caller.
    let is_known = match store.label(ws, id)? {
        Some(label) => crate::operations::labels::exist(call, &[label.key])?[0],
        None => false,
    };
    if !is_known || !store.settle_label(ws, id, grade, by)? {
        return Err(no_label(id));
    }
    Reply::json(&SettledBody { id, grade, settled_by: by.clone() })
}
