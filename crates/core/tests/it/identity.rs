//! Names that scrubbing makes the same stay different: captured, written, read and compared.

use gbrain_core::capture::{
    CapturePolicy, CapturedPage, CapturedRow, ObservedAnswer, StoredCapture, write_line,
};
use gbrain_core::format::capture::read_row;
use gbrain_core::gate::{Verdict, regression};
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, Slug, SourceId, WorkspaceId};
use gbrain_core::identity::IdentityKey;
use gbrain_core::provenance::{CorpusSnapshot, FactorDifference, FactorDifferences, Software};
use gbrain_core::ranking::CacheUse;
use gbrain_core::ranking::CorpusFingerprint;
use gbrain_core::replay::{
    LiveContext, PageMatcher, ReplayedRow, RowOutcome, SettingsSource, SkipReason, ask, comparable,
    compare,
};
use gbrain_core::request::{
    Caller, Detail, Expansion, Filter, Operation, Request, RetrievalMode, Viewer,
};
use gbrain_core::scrub::Scrubber;
use gbrain_core::search::Settings;
use jiff::Timestamp;
use serde_json::{Value, json};

const KEY: [u8; 32] = [7; 32];

fn key() -> IdentityKey {
    IdentityKey::new(KEY)
}

fn policy(identity: Option<IdentityKey>, is_scrubbing: bool) -> CapturePolicy {
    CapturePolicy {
        scrubber: is_scrubbing.then(Scrubber::default),
        identity,
        synthetic: true,
        software: Software { version: "1".to_owned(), code: "c".to_owned() },
    }
}

fn page(slug: &str) -> PageKey {
    PageKey::new(SourceId::default(), Slug::new(slug).unwrap())
}

fn request(filter: Filter) -> Request {
    Request {
        operation: Operation::Query,
        query: "who is it?".to_owned(),
        limit: 10,
        detail: None,
        mode: RetrievalMode::Hybrid,
        filter: Filter { trust: Viewer::Trusted, ..filter },
        vectors: false,
        expansion: Expansion::Off,
        now: Timestamp::UNIX_EPOCH,
        settings: Settings::default(),
    }
}

fn observed(slugs: &[&str], filter: Filter) -> ObservedAnswer {
    ObservedAnswer {
        request: request(filter),
        caller: Caller::default(),
        retrieved: slugs.iter().map(|slug| page(slug)).collect(),
        chunk_ids: Vec::new(),
        detail_resolved: Detail::Medium,
        embedder: None,
        expansion_applied: false,
        rerank_model: None,
        cache: CacheUse::Off,
        degraded: Vec::new(),
        corpus: CorpusSnapshot {
            store: "s".to_owned(),
            generation: 1,
            fingerprint: CorpusFingerprint { pages: 1, chunks: 1, root: Hash::default() },
        },
        latency_ms: 1.0,
        cpu_time: None,
        call_cpu_ms: None,
    }
}

/// The exported fields of an answer.
fn exported(policy: &CapturePolicy, observed: ObservedAnswer) -> Value {
    let fields = policy.row(policy.scrub(observed), None);
    let mut line = Vec::new();
    write_line(&StoredCapture { id: 1, created_at: Timestamp::UNIX_EPOCH, fields }, &mut line);
    serde_json::from_slice(&line).unwrap()
}

fn captured(policy: &CapturePolicy, slugs: &[&str]) -> CapturedRow {
    read_row(exported(policy, observed(slugs, Filter::default())), 1).unwrap()
}

fn current(slugs: &[&str]) -> Vec<CapturedPage> {
    slugs.iter().map(|slug| CapturedPage::from(&page(slug))).collect()
}

/// How a row compares with what came back.
fn replayed(row: &CapturedRow, slugs: &[&str], key: Option<IdentityKey>) -> ReplayedRow {
    let outcome = match comparable(row, key.as_ref()) {
        Err(skip) => RowOutcome::Skipped(skip),
        Ok(()) => {
            let pages = PageMatcher { scrubber: &Scrubber::default(), key: key.as_ref() };
            let sides = pages.comparable_rankings(row, &current(slugs), 10);
            let same = FactorDifference::Same;
            let same = FactorDifferences { code: same, settings: same, corpus: same, model: same };
            RowOutcome::Compared(Box::new(compare(sides, (None, 1.0), Vec::new(), same)))
        }
    };
    ReplayedRow::new(row, outcome)
}

const PEOPLE: [&str; 3] =
    ["people/ada-at-example-com", "people/bob-at-example-com", "contacts/415-555-0132"];

#[test]
fn a_page_is_itself_and_no_other_with_the_same_scrubbed_name() {
    let policy = policy(Some(key()), true);
    let row = captured(&policy, &PEOPLE);
    let unchanged = replayed(&row, &PEOPLE, Some(key()));
    assert_eq!(unchanged.compared().unwrap().jaccard, 1.0);
    assert!(!unchanged.compared().unwrap().is_moved());
    let others =
        ["people/eve-at-example-com", "people/mal-at-example-com", "contacts/212-555-0199"];
    let swapped = replayed(&row, &others, Some(key()));
    let compared = swapped.compared().unwrap();
    assert_eq!((compared.jaccard, compared.top1), (0.0, Some(false)));
    // Nothing of the names is shown, and each is still a name of its own.
    let shown = format!("{:?} {:?}", compared.captured, compared.current);
    assert!(
        !["ada", "bob", "eve", "mal", "555"].iter().any(|part| shown.contains(part)),
        "{shown}"
    );
    assert_eq!((compared.captured.len(), compared.current.len()), (3, 3));
    // The same pages in another order are another ranking.
    let turned = [PEOPLE[1], PEOPLE[0], PEOPLE[2]];
    let turned = replayed(&row, &turned, Some(key()));
    let turned = turned.compared().unwrap();
    assert_eq!((turned.jaccard, turned.top1), (1.0, Some(false)));
}

#[test]
fn ten_of_ten_swapped_answers_never_pass_the_gate() {
    let policy = policy(Some(key()), true);
    let row = |n: usize| captured(&policy, &[&format!("people/p{n}-at-example-com")]);
    let gate = |slug: &dyn Fn(usize) -> String, key: Option<IdentityKey>| {
        let rows: Vec<ReplayedRow> = (0..10).map(|n| replayed(&row(n), &[&slug(n)], key)).collect();
        regression(&rows, &gbrain_core::baseline::BaselineThresholds::default(), None)
    };
    let same = |n: usize| format!("people/p{n}-at-example-com");
    let swapped = |n: usize| format!("people/p{}-at-example-com", (n + 1) % 10);
    assert_eq!(gate(&same, Some(key())).verdict, Verdict::Pass);
    assert_eq!(gate(&swapped, Some(key())).verdict, Verdict::Fail);
    for wrong in [None, Some(IdentityKey::new([8; 32]))] {
        let found = gate(&same, wrong);
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert_eq!((found.summary.not_comparable, found.summary.skipped), (10, 10));
        assert!(found.breaches.iter().any(|breach| breach.metric == "rows_not_comparable"));
        assert!(found.warnings.iter().any(|one| one.contains("identity.key")), "{found:?}");
    }
}

#[test]
fn one_row_that_can_not_be_compared_keeps_a_gate_from_passing() {
    let policy = policy(Some(key()), true);
    let mut rows: Vec<ReplayedRow> = (0..9)
        .map(|at| {
            let row = captured(&policy, &["people/ada-quill"]);
            ReplayedRow { query: format!("{at}"), ..replayed(&row, &["people/ada-quill"], None) }
        })
        .collect();
    let thresholds = gbrain_core::baseline::BaselineThresholds::default();
    assert_eq!(regression(&rows, &thresholds, None).verdict, Verdict::Pass);
    rows.push(replayed(&captured(&policy, &PEOPLE[..1]), &PEOPLE[..1], None));
    let found = regression(&rows, &thresholds, None);
    assert_eq!((found.verdict, found.summary.replayed), (Verdict::Inconclusive, 9));
}

#[test]
fn only_names_that_scrubbing_changes_have_a_hash() {
    let policy = policy(Some(key()), true);
    let row = exported(&policy, observed(&["people/ada-quill", PEOPLE[0]], Filter::default()));
    assert_eq!(row["retrieved"][0], json!({ "source_id": "default", "slug": "people/ada-quill" }));
    assert_eq!(row["retrieved"][1]["slug"], "people/[REDACTED]");
    assert_eq!(row["retrieved"][1]["key_hash"], key().keyed_page_hash(&page(PEOPLE[0])));
    assert_eq!(row["identity_key_id"], key().id());
    assert_eq!(row["retrieved_slugs"], json!(["people/ada-quill", "people/[REDACTED]"]));
    assert!(!row.to_string().contains(&key().to_hex()));
    let plain = exported(&policy, observed(&["people/ada-quill"], Filter::default()));
    assert!(plain.get("identity_key_id").is_none());
    // Unscrubbed captures have no hashes and are compared as they are.
    let unscrubbed = self::policy(Some(key()), false);
    let row = captured(&unscrubbed, &PEOPLE);
    assert!(row.expected().unwrap().iter().all(|page| page.key_hash.is_none()));
    assert_eq!(replayed(&row, &PEOPLE, None).compared().unwrap().jaccard, 1.0);
    let moved = replayed(&row, &[PEOPLE[1], PEOPLE[0], PEOPLE[2]], None);
    assert!(moved.compared().unwrap().is_moved());
}

#[test]
fn ordinary_slugs_are_stored_and_compared_unchanged() {
    let policy = policy(None, true);
    let slugs = ["docs/what-is-at-stake-in-the-eu", "tickets/123-456-7890", "builds/100-200-3000"];
    let row = captured(&policy, &slugs);
    assert_eq!(replayed(&row, &slugs, None).compared().unwrap().jaccard, 1.0);
    let others = ["docs/what-is-at-stake-in-the-uk", "tickets/123-456-7891", "builds/100-200-3001"];
    assert_eq!(replayed(&row, &others, None).compared().unwrap().jaccard, 0.0);
}

#[test]
fn old_captures_say_what_they_can_not_tell_apart() {
    let old = |members: Value| {
        let mut row =
            json!({ "schema_version": 1, "tool_name": "query", "query": "a", "limit": 5 });
        row.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        read_row(row, 1).unwrap()
    };
    let page = |slug: &str| json!({ "source_id": "default", "slug": slug });
    let scrubbed = old(json!({ "retrieved": [page("people/[REDACTED]"), page("people/x")] }));
    assert_eq!(comparable(&scrubbed, Some(&key())), Err(SkipReason::NamesScrubbed));
    let slugs = old(json!({ "retrieved_slugs": ["people/[REDACTED]"], "source_ids": ["default"] }));
    assert_eq!(comparable(&slugs, Some(&key())), Err(SkipReason::NamesScrubbed));
    let plain = old(json!({ "retrieved": [page("people/x")] }));
    assert_eq!(comparable(&plain, None), Ok(()));
    let found = replayed(&plain, &["people/x"], None);
    assert_eq!(found.compared().unwrap().jaccard, 1.0);
}

#[test]
fn a_row_whose_lists_contradict_its_pages_is_refused() {
    let policy = policy(Some(key()), true);
    let row = |slugs: &[&str], change: &dyn Fn(&mut Value)| {
        let mut row = exported(&policy, observed(slugs, Filter::default()));
        change(&mut row);
        read_row(row, 1).map(drop).map_err(|error| error.to_string())
    };
    let plain = ["notes/a", "notes/b"];
    let refused = |change: &dyn Fn(&mut Value), says: &str| {
        let error = row(&plain, change).unwrap_err();
        assert!(error.contains(says), "{says}: {error}");
    };
    refused(&|row| row["retrieved_slugs"] = json!(["x/wrong"]), "`retrieved_slugs` is \"x/wrong\"");
    refused(&|row| row["retrieved_slugs"] = json!(["notes/a"]), "`retrieved_slugs` is \"notes/b\"");
    refused(&|row| row["source_ids"] = json!(["evil"]), "`source_ids` is \"evil\"");
    refused(&|row| row["source_ids"] = json!(["default", "evil"]), "`source_ids` is \"evil\"");
    refused(&|row| row["retrieved"][0]["source_id"] = json!("evil"), "`source_ids` is \"evil\"");
    // Scrubbed names, and lists that other versions leave out.
    for slugs in [&plain[..], &PEOPLE[..1], &PEOPLE[..]] {
        assert_eq!(row(slugs, &|_| ()), Ok(()));
    }
    assert_eq!(row(&plain, &|row| drop(row.as_object_mut().unwrap().remove("source_ids"))), Ok(()));
    assert_eq!(row(&plain, &|row| row["retrieved_slugs"] = json!([])), Ok(()));
    let hidden = |row: &mut Value| row["retrieved_slugs"] = json!(["notes/[REDACTED]"]);
    assert_eq!(row(&plain, &hidden), Ok(()));
}

#[test]
fn a_hash_without_its_key_is_not_compared_and_a_damaged_one_is_refused() {
    let policy = policy(Some(key()), true);
    let row = |change: &dyn Fn(&mut Value)| {
        let mut row = exported(&policy, observed(&PEOPLE[..1], Filter::default()));
        change(&mut row);
        read_row(row, 1)
    };
    let unchanged = row(&|_| ()).unwrap();
    assert_eq!(comparable(&unchanged, Some(&key())), Ok(()));
    assert_eq!(comparable(&unchanged, None), Err(SkipReason::NoIdentityKey));
    let tenant = key().for_workspace(&WorkspaceId::default());
    assert_eq!(comparable(&unchanged, Some(&tenant)), Err(SkipReason::OtherIdentityKey));
    let no_id = row(&|row| drop(row.as_object_mut().unwrap().remove("identity_key_id"))).unwrap();
    assert_eq!(comparable(&no_id, Some(&key())), Err(SkipReason::OtherIdentityKey));
    let no_hash = row(&|row| {
        row["retrieved"][0].as_object_mut().unwrap().remove("key_hash");
    });
    assert_eq!(comparable(&no_hash.unwrap(), Some(&key())), Err(SkipReason::NamesScrubbed));
    for damaged in [json!(""), json!("zz"), json!("A".repeat(32)), json!("a".repeat(31))] {
        let error = row(&|row| row["retrieved"][0]["key_hash"] = damaged.clone()).unwrap_err();
        assert!(error.to_string().contains("key_hash"), "{error}");
    }
    assert!(row(&|row| row["identity_key_id"] = json!("x")).is_err());
    // Another page's hash is another page.
    let other = key().keyed_page_hash(&page(PEOPLE[1]));
    let edited = row(&|row| row["retrieved"][0]["key_hash"] = json!(other)).unwrap();
    let found = replayed(&edited, &PEOPLE[..1], Some(key()));
    assert_eq!(found.compared().unwrap().jaccard, 0.0);
}

#[test]
fn a_target_that_answers_with_what_a_capture_shows_is_not_believed() {
    let policy = policy(Some(key()), true);
    let row = captured(&policy, &PEOPLE[..1]);
    let shown = row.expected().unwrap()[0].to_string();
    let (_, slug) = shown.split_once("::").unwrap();
    for slug in [slug, "people/[REDACTED]"] {
        let found = replayed(&row, &[slug], Some(key()));
        assert_eq!(found.compared().unwrap().jaccard, 0.0, "{slug}");
    }
    // A page that really has such a name is captured with its hash, and known again.
    let odd = ["people/[REDACTED]"];
    let row = captured(&policy, &odd);
    assert_eq!(replayed(&row, &odd, Some(key())).compared().unwrap().jaccard, 1.0);
    assert_eq!(replayed(&row, &PEOPLE[..1], Some(key())).compared().unwrap().jaccard, 0.0);
}

#[test]
fn every_text_of_a_filter_is_scrubbed_and_such_a_row_is_not_asked_again() {
    let policy = policy(Some(key()), true);
    let filter = |sources: &[&str], types: &[&str], tags: &[&str]| Filter {
        sources: sources.iter().map(|source| SourceId::new(source).unwrap()).collect(),
        types: types.iter().map(|text| (*text).to_owned()).collect(),
        tags: tags.iter().map(|text| (*text).to_owned()).collect(),
        ..Filter::default()
    };
    let live = LiveContext { settings: Settings::default(), now: Timestamp::UNIX_EPOCH };
    for leaking in [
        filter(&[], &[], &["ada@example.com"]),
        filter(&[], &[], &["fine", "password=hunter2hunter2"]),
        filter(&[], &["call 415-555-0132"], &[]),
        filter(&["ada-at-example-com"], &[], &[]),
    ] {
        let row = exported(&policy, observed(&["people/x"], leaking));
        let text = row.to_string();
        for secret in ["ada", "hunter2", "555"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert_eq!(row["filters_scrubbed"], true);
        let read = read_row(row.clone(), 1).unwrap();
        let skip = ask(&read, &live, SettingsSource::Live).unwrap_err();
        assert_eq!(skip, SkipReason::FilterScrubbed);
        // The marker alone tells, should the flag be taken out.
        let mut unmarked = row;
        unmarked.as_object_mut().unwrap().remove("filters_scrubbed");
        let read = read_row(unmarked, 1).unwrap();
        assert_eq!(
            ask(&read, &live, SettingsSource::Live).unwrap_err(),
            SkipReason::FilterScrubbed
        );
    }
    let row = exported(&policy, observed(&["people/x"], filter(&["wiki"], &["person"], &["t"])));
    assert!(row.get("filters_scrubbed").is_none());
    let read = read_row(row, 1).unwrap();
    let asked = ask(&read, &live, SettingsSource::Live).unwrap().request.filter;
    assert_eq!((asked.types, asked.tags), (vec!["person".to_owned()], vec!["t".to_owned()]));
}

#[test]
fn a_weight_for_a_person_is_scrubbed_and_such_settings_are_unknown() {
    let mut observed = observed(&["people/x"], Filter::default());
    observed.request.settings.source_weights.insert("people/ada-at-example-com".to_owned(), 0.5);
    let row = exported(&policy(Some(key()), true), observed);
    assert!(!row.to_string().contains("ada"), "{row}");
    assert_eq!(read_row(row, 1).unwrap().provenance.settings, None);
}
