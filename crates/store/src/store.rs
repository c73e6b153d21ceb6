//! The contract that both engines keep.

use std::ops::ControlFlow;

use gbrain_core::capture::{CaptureFailure, CaptureFields, StoredCapture};
use gbrain_core::erasure::ErasedPage;
use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageKey, SourceId, WorkspaceId};
use gbrain_core::job::JobState;
use gbrain_core::page::{StoredPage, Visibility};
use gbrain_core::request::Trust as Caller;
use jiff::Timestamp;

use crate::Result;
use crate::capture::{CaptureFilter, CaptureSummary};
use crate::document::{Document, DocumentInfo, DocumentKind};
use crate::job::{
    Beat, Claim, Job, JobCounts, JobFilter, JobInfo, JobStep, Lease, NewJob, Outcome, Progress,
};
use crate::judging::{AnswerKind, ModelAnswer, Run, RunKind};
use crate::label::{Label, NewLabel};
use crate::playbook::Playbook;
use crate::retrieval_log::NewRetrievalLog;
use crate::spend::{BudgetState, Charge, ChargeId, NewCharge, Settlement, SpendLine};
use crate::token::{NewToken, Token};
use crate::types::*;

/// A store of workspaces.
///
/// Every method is one transaction: what it reads is one moment, what it writes happens whole or
/// not at all. Writers of a workspace queue; readers never wait for them. Lists are ordered by
/// bytes on both engines. A method on a workspace that does not exist is
/// [`UnknownWorkspace`](crate::StoreError::UnknownWorkspace).
///
/// After [`Down`](crate::StoreError::Down) in a write, whether it happened is not known; writing
/// again is safe, since what is already there is left alone.
pub trait Store: Playbook + Send + Sync {
    /// The name this store got when it was created: 32 hexadecimal digits. An index that was
    /// built from another store is of no use for this one.
    fn identity(&self) -> &str;

    /// Which database holds the rows.
    fn engine(&self) -> Engine;

    /// The time by the database's clock, which is the same for everybody who works on it. Also the
    /// least that can be asked, to see whether it answers.
    fn clock(&self) -> Result<Timestamp>;

    /// The database role, if row-level security does not hold it: a superuser, or one with `BYPASSRLS`. An SQLite file
    /// has no roles.
    fn role_without_row_security(&self) -> Result<Option<String>>;

    /// All workspaces, by name.
    fn workspaces(&self) -> Result<Vec<Workspace>>;

    /// Makes a workspace with its `default` source, trusted.
    fn add_workspace(&self, id: &WorkspaceId, now: Timestamp) -> Result<()>;

    /// Erases a workspace with everything in it. `default` stays.
    fn remove_workspace(&self, id: &WorkspaceId) -> Result<()>;

    /// The sources of a workspace, by id.
    fn sources(&self, ws: &WorkspaceId) -> Result<Vec<Source>>;

    /// Adds a source, or brings back a removed one. Tells the feed.
    fn add_source(
        &self,
        ws: &WorkspaceId,
        id: &SourceId,
        name: &str,
        trust: Trust,
        now: Timestamp,
    ) -> Result<()>;

    /// Removes a source; its pages' history stays. `default` stays. Returns how many live pages
    /// were deleted with it. Tells the feed.
    fn remove_source(
        &self,
        ws: &WorkspaceId,
        id: &SourceId,
        removal: Removal,
        now: Timestamp,
    ) -> Result<u64>;

    /// Changes what a source is believed. Tells the feed if that is new.
    fn set_source_trust(
        &self,
        ws: &WorkspaceId,
        id: &SourceId,
        trust: Trust,
        now: Timestamp,
    ) -> Result<()>;

    /// Writes pages, all or none; outcomes in the order of `writes`. Pages whose live version has
    /// the same text, kind and derivation are left alone, and if that is all of them no write
    /// transaction is opened. A page may come twice: the later one wins.
    ///
    /// A text that has the same hash and is damaged in the store is not left alone: its version gets the text back, and
    /// the page gets a version more, so that the feed and the index follow.
    fn write_pages(
        &self,
        ws: &WorkspaceId,
        writes: &[PageWrite<'_>],
        now: Timestamp,
    ) -> Result<Vec<WriteOutcome>> {
        self.write_pages_by(Caller::Trusted, ws, writes, now)
    }

    /// [`Store::write_pages`] by a caller. For an untrusted one a page whose last text is private, deleted or not, is
    /// [`Hidden`](crate::StoreError::Hidden), as of the transaction that writes, and nothing is written.
    fn write_pages_by(
        &self,
        writer: Caller,
        ws: &WorkspaceId,
        writes: &[PageWrite<'_>],
        now: Timestamp,
    ) -> Result<Vec<WriteOutcome>>;

    /// Deletes pages, all or none; outcomes in the order of `keys`. Their history stays.
    fn delete_pages(
        &self,
        ws: &WorkspaceId,
        keys: &[PageKey],
        now: Timestamp,
    ) -> Result<Vec<DeleteOutcome>> {
        self.delete_pages_by(Caller::Trusted, ws, keys, now)
    }

    /// [`Store::delete_pages`] by a caller. For an untrusted one a page whose last text is private, as of the
    /// transaction that deletes, is [`Unknown`](DeleteOutcome::Unknown).
    fn delete_pages_by(
        &self,
        writer: Caller,
        ws: &WorkspaceId,
        keys: &[PageKey],
        now: Timestamp,
    ) -> Result<Vec<DeleteOutcome>>;

    /// Brings back the last text of a deleted page. A live page is left alone.
    fn restore_page(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        now: Timestamp,
    ) -> Result<WriteOutcome> {
        self.restore_page_by(Caller::Trusted, ws, key, now)
    }

    /// [`Store::restore_page`] by a caller. For an untrusted one a page whose last text is private, as of the
    /// transaction that restores, is [`NotFound`](crate::StoreError::NotFound).
    fn restore_page_by(
        &self,
        writer: Caller,
        ws: &WorkspaceId,
        key: &PageKey,
        now: Timestamp,
    ) -> Result<WriteOutcome>;

    /// Erases a page from every generation, as if it had never been written: its versions go, and
    /// roots and counts of the feed are set right. Only its number stays, for readers to drop. Records that name it
    /// lose its name and its text and nothing else; verdicts, counts and alerts stay as they are. One transaction.
    fn purge_page(&self, ws: &WorkspaceId, key: &PageKey, now: Timestamp) -> Result<Purged> {
        self.erase_page(ws, key, &PurgeKeys::default(), now)
    }

    /// What a purge would erase a page by, for records outside the store; none for a page that never was.
    fn erased_page(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        keys: &PurgeKeys,
    ) -> Result<Option<ErasedPage>>;

    /// [`Store::purge_page`] by an owner who has keys: names that scrubbing changed are recognised by their hashes, and
    /// signed baselines are signed again.
    fn erase_page(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        keys: &PurgeKeys,
        now: Timestamp,
    ) -> Result<Purged>;

    /// A live page.
    fn page(&self, ws: &WorkspaceId, key: &PageKey) -> Result<Option<StoredPage>> {
        Ok(self.pages(ws, std::slice::from_ref(key))?.pop().flatten())
    }

    /// Live pages, in the order of `keys`.
    fn pages(&self, ws: &WorkspaceId, keys: &[PageKey]) -> Result<Vec<Option<StoredPage>>>;

    /// A page as it was; none for a version that never was or that is a deletion.
    fn page_at_version(
        &self,
        ws: &WorkspaceId,
        key: &PageKey,
        version: u32,
    ) -> Result<Option<StoredPage>>;

    /// The bare text of versions, in the order asked for; for snippets.
    fn texts(&self, ws: &WorkspaceId, versions: &[PageVersion]) -> Result<Vec<Option<String>>>;

    /// The SHA-256 of the stored text of versions, in the order asked for; none where there is no text or it can't be
    /// read. It is computed from the text as it is now. PostgreSQL computes it where the text is.
    fn text_hashes(&self, ws: &WorkspaceId, versions: &[PageVersion]) -> Result<Vec<Option<Hash>>>;

    /// All versions of a page, oldest first; empty for an unknown page.
    fn history(&self, ws: &WorkspaceId, key: &PageKey) -> Result<Vec<VersionInfo>>;

    /// Pages after `after`, by source and slug, at most `limit`.
    fn list(
        &self,
        ws: &WorkspaceId,
        filter: &PageFilter,
        after: Option<&PageKey>,
        limit: usize,
    ) -> Result<Vec<PageInfo>>;

    /// Who may see the last text of pages, deleted or not, in the order of `keys`; none for pages
    /// that never were.
    fn visibilities(&self, ws: &WorkspaceId, keys: &[PageKey]) -> Result<Vec<Option<Visibility>>>;

    /// How many live pages every caller may see, by source, in order. A source without any is not
    /// named.
    fn visible_pages(&self, ws: &WorkspaceId) -> Result<Vec<(SourceId, u64)>>;

    /// What an import compares files with: all pages of a source, deleted ones too, by slug.
    fn digests(&self, ws: &WorkspaceId, source: &SourceId) -> Result<Vec<PageDigest>>;

    /// The corpus now.
    fn head(&self, ws: &WorkspaceId) -> Result<Head>;

    /// The corpus at a generation; none for one that has not been.
    fn head_at(&self, ws: &WorkspaceId, generation: Generation) -> Result<Option<Head>>;

    /// Reads a part of the feed, folded, in one snapshot.
    fn read_feed(&self, ws: &WorkspaceId, range: &FeedRange) -> Result<ChangeBatch>;

    /// [`Store::read_feed`] without an end.
    fn changes(
        &self,
        ws: &WorkspaceId,
        after: Generation,
        limit: usize,
        max_bytes: usize,
    ) -> Result<ChangeBatch> {
        self.read_feed(ws, &FeedRange { after, until: None, max_changes: limit, max_bytes })
    }

    /// A setting of the database plane.
    fn config_get(&self, ws: &WorkspaceId, key: &str) -> Result<Option<String>>;

    /// Sets a setting.
    fn config_set(&self, ws: &WorkspaceId, key: &str, value: &str) -> Result<()>;

    /// Removes a setting; whether there was one.
    fn config_unset(&self, ws: &WorkspaceId, key: &str) -> Result<bool>;

    /// All settings, by key.
    fn config_list(&self, ws: &WorkspaceId) -> Result<Vec<(String, String)>>;

    /// Stores captures, all or none, in their order. Each gets the next number of the workspace: numbers rise in the
    /// order in which captures become visible. Each is dated `now`, or at the time of the captures so far or the end of
    /// a closed window if that is later by [`CLOCK_SKEW`](gbrain_core::capture::CLOCK_SKEW) at most: a clock that was
    /// further ahead takes no later captures along. Does not wait for writers of pages on PostgreSQL.
    fn add_captures(
        &self,
        ws: &WorkspaceId,
        captures: &[CaptureFields],
        now: Timestamp,
    ) -> Result<()>;

    /// Stores captures as [`Store::add_captures`] does, and logs of retrievals beside them: all or none.
    fn add_observed(
        &self,
        ws: &WorkspaceId,
        captures: &[CaptureFields],
        logs: &[NewRetrievalLog],
        now: Timestamp,
    ) -> Result<()>;

    /// Closes the time before `until`: waits for captures on their way, and records the end. What [`Store::captures`]
    /// then reads of a window that ends at `until` is final, so windows `[since, until)` that follow each other miss and
    /// repeat nothing: a capture that comes later and is dated before `until`, because a clock was behind, is in the
    /// window that begins at `until`.
    fn close_captures(&self, ws: &WorkspaceId, until: Timestamp) -> Result<()>;

    /// Reads captures, newest first, as they are at one moment and in constant memory, until `each`
    /// has had enough. Its errors end the reading and come back.
    fn captures(
        &self,
        ws: &WorkspaceId,
        filter: &CaptureFilter,
        each: &mut dyn FnMut(StoredCapture) -> Result<ControlFlow<()>>,
    ) -> Result<()>;

    /// How many captures [`Store::captures`] would read.
    fn count_captures(&self, ws: &WorkspaceId, filter: &CaptureFilter) -> Result<u64>;

    /// Erases captures: those that [`Store::count_captures`] counts, and says how many. Their
    /// numbers are not used again. Refuses a filter with a limit, which would leave the oldest.
    fn prune_captures(&self, ws: &WorkspaceId, filter: &CaptureFilter) -> Result<u64>;

    /// Keeps what went wrong while capturing, all or none. An event that is kept is left alone.
    fn add_capture_failures(&self, ws: &WorkspaceId, failures: &[CaptureFailure]) -> Result<()>;

    /// What went wrong at `since` or later, newest first, at most `limit`.
    fn capture_failures(
        &self,
        ws: &WorkspaceId,
        since: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<CaptureFailure>>;

    /// How often something went wrong at `since` or later and before `until`.
    fn count_capture_failures(
        &self,
        ws: &WorkspaceId,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
    ) -> Result<u64>;

    /// Erases what went wrong before `until`, or everything that did, and says how many.
    fn prune_capture_failures(&self, ws: &WorkspaceId, until: Option<Timestamp>) -> Result<u64>;

    /// Dates captures from the future (see [`CaptureSummary::future`]) `now`, and says how many. They come into the
    /// next window.
    fn redate_captures(&self, ws: &WorkspaceId, now: Timestamp) -> Result<u64>;

    /// Captures and failures in figures.
    fn capture_summary(&self, ws: &WorkspaceId, now: Timestamp) -> Result<CaptureSummary>;

    /// Keeps a token. An id that is taken, in whichever workspace, is refused.
    fn add_token(&self, ws: &WorkspaceId, token: &NewToken, now: Timestamp) -> Result<()>;

    /// The tokens of a workspace, dead ones too, oldest first.
    fn tokens(&self, ws: &WorkspaceId) -> Result<Vec<Token>>;

    /// The token with an id, dead or not, of whichever workspace.
    fn find_token(&self, id: &str) -> Result<Option<Token>>;

    /// Whether any workspace has a token that is neither revoked nor past its end.
    fn has_live_tokens(&self, now: Timestamp) -> Result<bool>;

    /// Whether there was ever a token, in any workspace, also one that was revoked or ran out.
    fn has_tokens(&self) -> Result<bool>;

    /// Ends a token; whether there was one that nobody had ended.
    fn revoke_token(&self, ws: &WorkspaceId, id: &str, now: Timestamp) -> Result<bool>;

    /// Tells that a token was used. The latest time stays.
    fn touch_token(&self, ws: &WorkspaceId, id: &str, at: Timestamp) -> Result<()>;

    /// Queues a job, due at once; its number. Numbers of a workspace are dense and not used again. One
    /// whose kind and key are there already, over or not, is not queued again: its number is told.
    fn add_job(&self, ws: &WorkspaceId, job: &NewJob, now: Timestamp) -> Result<i64>;

    /// A job.
    fn job(&self, ws: &WorkspaceId, id: i64) -> Result<Option<Job>>;

    /// Jobs, newest first, at most `limit`.
    fn jobs(&self, ws: &WorkspaceId, filter: &JobFilter, limit: usize) -> Result<Vec<JobInfo>>;

    /// Gives a worker a job that is due or whose worker let its lease run out: of the workspaces that
    /// have one, that with the fewest jobs at work, and among equals the next after
    /// [`Claim::last`] by name; of its jobs the oldest whose group is not at work. One that was to be
    /// cancelled, or has used up its attempts, is closed instead (the latter as failed, with an error
    /// of kind `attempts_exhausted`). No two workers get one
    /// attempt, and nobody waits: jobs that others are looking at are passed over on PostgreSQL,
    /// so none may also mean that others are at it. Looking opens no write transaction.
    fn claim_job(&self, claim: &Claim, now: Timestamp) -> Result<Option<Job>>;

    /// Gives a worker the one job of its kind: the open one if it is due or its worker let its lease run
    /// out, else a new one. None while the open one is another's, so that what is done through here is
    /// done by one at a time, in whatever process; and one whose worker died goes on under its number.
    fn take_job(
        &self,
        ws: &WorkspaceId,
        job: &NewJob,
        worker: &str,
        lease_until: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Job>>;

    /// Tells how far a job is, and keeps it until `lease_until`.
    fn beat_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        progress: &Progress,
        lease_until: Timestamp,
        now: Timestamp,
    ) -> Result<Beat>;

    /// [`Store::write_pages`], and the job's checkpoint moves with the pages: both or neither. A
    /// worker that lost its job writes nothing, which is
    /// [`LeaseLost`](crate::StoreError::LeaseLost); so the pages of a step are written once, and
    /// never again over what somebody else wrote since.
    ///
    /// After [`Down`](crate::StoreError::Down), the job's checkpoint tells whether it happened:
    /// read it before writing again.
    fn write_pages_in_job(
        &self,
        ws: &WorkspaceId,
        writes: &[PageWrite<'_>],
        step: &JobStep<'_>,
        now: Timestamp,
    ) -> Result<Vec<WriteOutcome>> {
        self.write_pages_in_job_by(Caller::Trusted, ws, writes, step, now)
    }

    /// [`Store::write_pages_in_job`] for a caller, as [`Store::write_pages_by`] writes.
    fn write_pages_in_job_by(
        &self,
        writer: Caller,
        ws: &WorkspaceId,
        writes: &[PageWrite<'_>],
        step: &JobStep<'_>,
        now: Timestamp,
    ) -> Result<Vec<WriteOutcome>>;

    /// [`Store::delete_pages`] in the same way.
    fn delete_pages_in_job(
        &self,
        ws: &WorkspaceId,
        keys: &[PageKey],
        step: &JobStep<'_, DeleteOutcome>,
        now: Timestamp,
    ) -> Result<Vec<DeleteOutcome>>;

    /// Ends a job; false if it is not this worker's any more.
    fn finish_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Result<bool>;

    /// [`Store::finish_job`], and what the job measured is kept with it: both or neither. A worker that
    /// lost its job keeps nothing, so a measurement that was begun twice is kept once.
    fn finish_job_with_run(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        outcome: &Outcome,
        run: (RunKind, &Run),
        now: Timestamp,
    ) -> Result<bool>;

    /// Ends an attempt with an error: the job is due again at `run_after`, or failed if that was
    /// its last attempt, or cancelled if somebody asked for that. False if it is not this worker's
    /// any more.
    fn retry_job(
        &self,
        ws: &WorkspaceId,
        id: i64,
        lease: &Lease,
        error: &str,
        run_after: Timestamp,
        now: Timestamp,
    ) -> Result<bool>;

    /// Gives a job back, for a worker that stops: it is due at once and has one attempt more, or is
    /// cancelled if somebody asked for that. False if it is not this worker's any more.
    fn release_job(&self, ws: &WorkspaceId, id: i64, lease: &Lease, now: Timestamp)
    -> Result<bool>;

    /// Asks for a job's end, and says where it is now: a queued one is cancelled at once, the
    /// worker of a running one hears of it at its next beat, and one that is over stays as it is.
    fn cancel_job(&self, ws: &WorkspaceId, id: i64, now: Timestamp) -> Result<Option<JobState>>;

    /// Erases jobs that ended before `until`, and says how many.
    fn prune_jobs(&self, ws: &WorkspaceId, until: Timestamp) -> Result<u64>;

    /// Jobs of a workspace that are not over.
    fn job_counts_of(&self, ws: &WorkspaceId) -> Result<JobCounts>;

    /// Puts a document under a name; whether one was there.
    fn put_document(
        &self,
        ws: &WorkspaceId,
        kind: DocumentKind,
        name: &str,
        body: &str,
        now: Timestamp,
    ) -> Result<bool>;

    /// A document.
    fn document(
        &self,
        ws: &WorkspaceId,
        kind: DocumentKind,
        name: &str,
    ) -> Result<Option<Document>>;

    /// The documents of a kind, by name.
    fn documents(&self, ws: &WorkspaceId, kind: DocumentKind) -> Result<Vec<DocumentInfo>>;

    /// Erases a document; whether there was one.
    fn delete_document(&self, ws: &WorkspaceId, kind: DocumentKind, name: &str) -> Result<bool>;

    /// Keeps labels, all or none; their numbers, in order. A label for the same query and page is
    /// replaced and keeps its number. New numbers rise in the order in which labels become visible.
    fn put_labels(
        &self,
        ws: &WorkspaceId,
        labels: &[NewLabel],
        by: &str,
        now: Timestamp,
    ) -> Result<Vec<i64>>;

    /// Labels with a higher number than `after`, by number, at most `limit`.
    fn labels(&self, ws: &WorkspaceId, after: Option<i64>, limit: usize) -> Result<Vec<Label>>;

    /// Erases a label; whether there was one.
    fn delete_label(&self, ws: &WorkspaceId, id: i64) -> Result<bool>;

    /// Charges a call that is about to be made with the most that it can cost, against its budgets, all
    /// or none: [`StoreError::OverBudget`](crate::StoreError::OverBudget) if one of them has no room.
    /// Callers of one budget follow each other, in whatever process.
    fn reserve(&self, ws: &WorkspaceId, charge: &NewCharge, now: Timestamp) -> Result<ChargeId>;

    /// Sets a charge to what the call did cost. False if it was settled before: then nothing changes.
    fn settle(
        &self,
        ws: &WorkspaceId,
        id: &ChargeId,
        settlement: &Settlement,
        now: Timestamp,
    ) -> Result<bool>;

    /// A budget that was ever charged.
    fn budget(&self, ws: &WorkspaceId, name: &str) -> Result<Option<BudgetState>>;

    /// The charges of a budget, by number.
    fn charges(&self, ws: &WorkspaceId, budget: &str) -> Result<Vec<Charge>>;

    /// What was charged at `since` or later, by model and purpose.
    fn spend(&self, ws: &WorkspaceId, since: Timestamp) -> Result<Vec<SpendLine>>;

    /// What models said before under these keys, in their order; none for what is past its end.
    fn model_answers(
        &self,
        ws: &WorkspaceId,
        kind: AnswerKind,
        keys: &[Hash],
        now: Timestamp,
    ) -> Result<Vec<Option<String>>>;

    /// Keeps what models said until a time, all or none, in place of what they said before. Drops what is
    /// past its end.
    fn keep_model_answers(
        &self,
        ws: &WorkspaceId,
        kind: AnswerKind,
        answers: &[ModelAnswer],
        now: Timestamp,
        until: Timestamp,
    ) -> Result<()>;

    /// Keeps a run of a measurement; false if one of its kind has this name already.
    fn add_run(&self, ws: &WorkspaceId, kind: RunKind, run: &Run) -> Result<bool>;

    /// Runs that began at `since` or later, newest first, at most `limit`.
    fn runs(
        &self,
        ws: &WorkspaceId,
        kind: RunKind,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<Run>>;

    /// The corpus in figures.
    fn stats(&self, ws: &WorkspaceId) -> Result<Stats>;

    /// Checks every invariant, reading everything once; empty when all is well.
    fn check(&self, ws: &WorkspaceId) -> Result<Vec<Finding>>;
}
