//! What happened by day. Runs of suites by day are in `suites.rs`.

use gbrain_core::activity::{CaptureDay, ChangeKind, PageChange, SpendDay};
use gbrain_core::capture::{CaptureFields, FailureReason};
use gbrain_core::money::Usd;
use gbrain_core::page::{Page, Visibility};
use gbrain_store::Settlement;
use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::captures::{capture, failure};
use crate::database::Database;
use crate::fixture::*;
use crate::spending::charge;

on_both_engines! {
    changes_are_listed_newest_first_without_private_pages,
    captures_and_failures_are_counted_by_day,
    charges_are_added_by_day,
    budgets_are_listed_newest_first,
}

const DAY: i64 = 86_400;

/// The day of [`at`].
fn date(second: i64) -> Date {
    at(second).to_zoned(TimeZone::UTC).date()
}

fn changes_are_listed_newest_first_without_private_pages(db: &Database) {
    let store = db.open();
    assert!(store.recent_changes(&ws(), 10).unwrap().is_empty());
    let [first, second] = ["default::a", "default::b"].map(|name| plain(name, "one"));
    let secret = Page { visibility: Visibility::Private, ..plain("default::secret", "one") };
    write(&store, &[&first, &second, &secret], 1);
    let changed = Page { title: "New".to_owned(), ..plain("default::a", "two") };
    write(&store, &[&changed], 2);
    store.delete_pages(&ws(), std::slice::from_ref(&second.key), at(3)).unwrap();
    let changes = |limit| -> Vec<(String, String, u32, ChangeKind)> {
        let changes = store.recent_changes(&ws(), limit).unwrap();
        let shown = |change: PageChange| {
            (change.page.slug.to_string(), change.title, change.version, change.change)
        };
        changes.into_iter().map(shown).collect()
    };
    let all = changes(10);
    assert_eq!(all.len(), 4, "{all:?}");
    let title = |text: &str| text.to_owned();
    assert_eq!(all[0], (title("b"), title("Title of default::b"), 2, ChangeKind::Deleted));
    assert_eq!(all[1], (title("a"), title("New"), 2, ChangeKind::Changed));
    assert!(all[2..].iter().all(|change| (change.2, change.3) == (1, ChangeKind::Added)));
    assert_eq!(changes(1), all[..1]);
    let hidden = Page { visibility: Visibility::Private, ..plain("default::a", "three") };
    write(&store, &[&hidden], 4);
    assert!(changes(10).iter().all(|change| change.0 == "b"), "a page that is private now");
}

fn captures_and_failures_are_counted_by_day(db: &Database) {
    let store = db.open();
    let of = |remote| CaptureFields { remote, ..capture("a") };
    store.add_captures(&ws(), &[of(true), of(true), of(false)], at(1)).unwrap();
    store.add_captures(&ws(), &[of(true)], at(1 + 2 * DAY)).unwrap();
    store.add_capture_failures(&ws(), &[failure("e", 2, FailureReason::DbDown)]).unwrap();
    let first = date(0);
    let days = |since| store.capture_days(&ws(), at(since)).unwrap();
    let last = CaptureDay { day: first + 2.days(), stored: 1, failed: 0 };
    assert_eq!(days(0), [CaptureDay { day: first, stored: 2, failed: 1 }, last]);
    assert_eq!(days(DAY), [last]);
    assert_eq!(days(3 * DAY), []);
}

fn charges_are_added_by_day(db: &Database) {
    let store = db.open();
    let settled = store.reserve(&ws(), &charge("run", 10, 1000), at(1)).unwrap();
    let cost = Settlement::Cost { usd: Usd::nanos(3), input: 1, output: 1 };
    store.settle(&ws(), &settled, &cost, at(2)).unwrap();
    store.reserve(&ws(), &charge("run", 10, 1000), at(3)).unwrap();
    store.reserve(&ws(), &charge("run", 7, 1000), at(DAY)).unwrap();
    let day = date(0);
    let spent = |day, calls, nanos| SpendDay { day, calls, charged: Usd::nanos(nanos) };
    assert_eq!(
        store.spend_days(&ws(), at(0)).unwrap(),
        [spent(day, 2, 13), spent(day + 1.day(), 1, 7)]
    );
    assert_eq!(store.spend_days(&ws(), at(DAY)).unwrap(), [spent(day + 1.day(), 1, 7)]);
}

fn budgets_are_listed_newest_first(db: &Database) {
    let store = db.open();
    for (name, second) in [("a", 1), ("b", 2), ("c", 2)] {
        store.reserve(&ws(), &charge(name, 5, 100), at(second)).unwrap();
    }
    let names = |since, limit| -> Vec<String> {
        let budgets = store.budgets(&ws(), at(since), limit).unwrap();
        budgets.into_iter().map(|budget| budget.name).collect()
    };
    assert_eq!(names(0, 10), ["b", "c", "a"]);
    assert_eq!(names(2, 10), ["b", "c"]);
    assert_eq!(names(0, 1), ["b"]);
}
