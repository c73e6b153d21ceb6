//! The labelling queue, and conflicts of reviewers.

use gbrain_console::page::labels::{LabelPage, LabelQueue};
use gbrain_console::{Page, page};
use gbrain_core::fault::Fault;

use crate::console::Fields;
use crate::console::call::ConsoleCall;

pub(super) fn queue(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let queue: LabelQueue = call.read("labelling_queue", &[])?;
    let chosen = fields.get("query").unwrap_or("next");
    // A query whose only label was withdrawn may have left the queue.
    let is_there = queue.queries.iter().any(|one| one.id == chosen);
    let id = if is_there { chosen } else { "next" };
    let query = match queue.queries.is_empty() {
        true => None,
        false => Some(call.read("queued_query", &[("id", id)])?),
    };
    let is_other = |id: &&str| queue.queries.iter().any(|one| one.id == *id) && *id != chosen;
    let from = fields.get("from").filter(is_other);
    // Labels move a query back in the queue: the next one is the first that was not open before.
    let next = fields.get("next").filter(is_other).or_else(|| {
        let mut ids = queue.queries.iter().map(|one| one.id.as_str());
        from.and_then(|from| ids.find(|id| *id != from && *id != chosen))
    });
    let previous = fields.get("previous").filter(is_other).or(from);
    let (next, previous) = (next.map(str::to_owned), previous.map(str::to_owned));
    Ok(page::labels::page(&LabelPage {
        query,
        measures: call.read("label_measures", &[])?,
        agreement: call.read("label_agreement", &[])?,
        next,
        previous,
        notice: notice(fields).or_else(|| {
            let is_gone = !is_there && fields.get("query").is_some();
            is_gone.then(|| "that query is no longer in the queue: this is the next one".to_owned())
        }),
        queue,
    }))
}

/// What the last form did. The URL has numbers only, so a link of another site says nothing else.
fn notice(fields: &Fields) -> Option<String> {
    let number = |name| fields.get(name).and_then(|text| text.parse::<u64>().ok());
    let (added, changed) = (number("added")?, number("changed")?);
    let left_out = number("left_out")?;
    let what = match fields.get("promoted")? {
        "queries" => "canonical queries",
        "pairs" => "calibration pairs",
        _ => return None,
    };
    Some(format!("{what}: {added} added, {changed} changed, {left_out} left out"))
}

pub(super) fn conflicts(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let list = call.read("label_conflicts", &fields.only(&["after", "limit"]))?;
    Ok(page::label_conflicts::page(&list, call.may("settle_label")))
}
