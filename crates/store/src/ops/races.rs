//! A page becomes private while an untrusted caller writes to it: between the reads of the caller's
//! operation and its write transaction, on both engines.

use gbrain_core::chunk::{Chunk, PagePart};
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::page::{Page, PageKind, Visibility};
use gbrain_core::request::Viewer;
use jiff::Timestamp;

use crate::job::{JobClaim, JobStep, Lease, NewJob};
use crate::types::{DeleteOutcome, PageWrite, WriteKind};
use crate::{Location, OpenMode, Store, StoreError};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn ws() -> WorkspaceId {
    WorkspaceId::default()
}

fn key() -> PageKey {
    PageKey::parse("notes/a", &SourceId::default()).unwrap()
}

fn page(text: &str, visibility: Visibility) -> Page {
    let hash = Hash::of(text.as_bytes());
    let end = u32::try_from(text.len()).unwrap();
    let section = String::new();
    Page {
        key: key(),
        kind: PageKind::Markdown,
        title: "A".to_owned(),
        page_type: "note".to_owned(),
        tags: Vec::new(),
        aliases: Vec::new(),
        effective_date: None,
        date_origin: None,
        visibility,
        content: text.to_owned(),
        content_hash: hash,
        chunks: vec![Chunk { ordinal: 0, part: PagePart::Truth, section, start: 0, end, hash }],
        links: Vec::new(),
        takes: Vec::new(),
        warnings: Vec::new(),
    }
}

fn put(store: &Store, text: &str, visibility: Visibility) {
    let page = page(text, visibility);
    store.write_pages(&ws(), &[PageWrite { page: &page, origin: None }], at(1)).unwrap();
}

fn make_private(store: &Store) {
    put(store, "secret", Visibility::Private);
}

fn make_private_and_delete(store: &Store) {
    make_private(store);
    store.delete_pages(&ws(), &[key()], at(2)).unwrap();
}

fn lease(store: &Store) -> (i64, Lease) {
    let job = NewJob {
        kind: "import".to_owned(),
        spec: "{}".to_owned(),
        created_by: "tester".to_owned(),
        max_attempts: 3,
        key: None,
        group: None,
    };
    let id = store.add_job(&ws(), &job, at(3)).unwrap();
    let claim = JobClaim {
        worker: "w".to_owned(),
        kinds: vec!["import".to_owned()],
        lease_until: at(100),
        last: None,
    };
    assert_eq!(store.claim_job(&claim, at(4)).unwrap().unwrap().info.id, id);
    (id, Lease { worker: "w".to_owned(), attempt: 1 })
}

/// Every write of the untrusted caller is refused, and the owner's text is unchanged.
fn check_each_operation(location: &Location) {
    let store = Store::open(location, OpenMode::Init, at(0)).unwrap();
    let caller = Viewer::Untrusted;
    let mine = page("theirs", Visibility::World);
    let writes = [PageWrite { page: &mine, origin: None }];
    let begin = |text: &str, happen: fn(&Store)| {
        put(&store, text, Visibility::World);
        *store.before_write.lock().unwrap() = Some(happen);
    };
    let secret_is_there = || {
        assert!(store.before_write.lock().unwrap().is_none(), "nothing was written meanwhile");
        let stored = store.page(&ws(), &key()).unwrap().unwrap();
        assert_eq!(
            (stored.page.content.as_str(), stored.page.visibility),
            ("secret", Visibility::Private)
        );
        assert_eq!(store.check(&ws()).unwrap(), vec![]);
    };

    begin("put", make_private);
    let refused = store.write_pages_by(caller, &ws(), &writes, at(5)).unwrap_err();
    assert!(matches!(refused, StoreError::Hidden(hidden) if hidden == key()));
    secret_is_there();

    begin("put at a version", make_private);
    let refused = store.write_page_at(caller, &ws(), &writes[0], 1, at(5)).unwrap_err();
    assert!(matches!(refused, StoreError::Hidden(hidden) if hidden == key()));
    secret_is_there();

    begin("delete", make_private);
    let outcomes = store.delete_pages_by(caller, &ws(), &[key()], at(5)).unwrap();
    assert_eq!(outcomes, [DeleteOutcome::Unknown]);
    secret_is_there();

    let (id, lease) = lease(&store);
    begin("import", make_private);
    let step = JobStep { id, lease: &lease, checkpoint: &|_| "1".to_owned(), done: 1, total: None };
    let refused = store.write_pages_in_job_by(caller, &ws(), &writes, &step, at(5)).unwrap_err();
    assert!(matches!(refused, StoreError::Hidden(hidden) if hidden == key()));
    assert_eq!(store.job(&ws(), id).unwrap().unwrap().checkpoint, None);
    secret_is_there();

    put(&store, "restore", Visibility::World);
    store.delete_pages(&ws(), &[key()], at(5)).unwrap();
    *store.before_write.lock().unwrap() = Some(make_private_and_delete);
    let refused = store.restore_page_by(caller, &ws(), &key(), at(6)).unwrap_err();
    assert!(matches!(refused, StoreError::NotFound(missing) if missing == key()));
    assert_eq!(store.page(&ws(), &key()).unwrap(), None);

    // The name stays taken while the page is deleted; its owner may do everything.
    let refused = store.write_pages_by(caller, &ws(), &writes, at(7)).unwrap_err();
    assert!(matches!(refused, StoreError::Hidden(_)));
    store.restore_page(&ws(), &key(), at(8)).unwrap();
    secret_is_there();
    let written = store.write_pages(&ws(), &writes, at(9)).unwrap();
    assert_eq!(written[0].kind, WriteKind::Changed);
    let written = store.write_pages_by(caller, &ws(), &writes, at(9)).unwrap();
    assert_eq!(written[0].kind, WriteKind::Unchanged);
}

#[test]
fn a_page_made_private_during_an_untrusted_write_stays_as_it_is_on_sqlite() {
    let dir = tempfile::tempdir().unwrap();
    check_each_operation(&Location::Sqlite(dir.path().join("brain.db")));
}

#[test]
fn a_page_made_private_during_an_untrusted_write_stays_as_it_is_on_postgres() {
    let database = gbrain_testkit::engine::Database::create().unwrap();
    check_each_operation(&Location::Postgres(database.url().to_owned()));
}
