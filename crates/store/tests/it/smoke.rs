use crate::fixture::*;
use gbrain_core::id::*;
use gbrain_store::*;

#[test]
fn smoke() {
    let dir = tempfile::tempdir().unwrap();
    let store =
        open(&Location::Sqlite(dir.path().join("a/brain.db")), OpenMode::Use, at(0)).unwrap();
    let ws = WorkspaceId::default();
    let page = full("a/b", "hello");
    let out =
        store.write_pages(&ws, &[PageWrite { page: &page, origin: Some("x") }], at(1)).unwrap();
    assert_eq!(out[0].kind, WriteKind::Added);
    assert_eq!(store.page(&ws, &page.key).unwrap().unwrap().page, page);
    assert_eq!(store.head(&ws).unwrap().root, page.fingerprint());
    let batch = store.changes(&ws, Generation(0), 100, 1 << 20).unwrap();
    assert_eq!(batch.upserts[0].page, page);
    store.delete_pages(&ws, &[page.key.clone()], at(2)).unwrap();
    assert_eq!(store.check(&ws).unwrap(), vec![]);
    store.restore_page(&ws, &page.key, at(3)).unwrap();
    assert_eq!(store.page(&ws, &page.key).unwrap().unwrap().page, page);
    assert_eq!(store.check(&ws).unwrap(), vec![]);
    println!("{:?}", store.stats(&ws).unwrap());
    println!(
        "{:?}",
        store
            .list(&ws, &PageFilter { tag: Some("x".into()), ..Default::default() }, None, 5)
            .unwrap()
    );
    println!("{:?}", store.purge_page(&ws, &page.key, at(4)).unwrap());
    assert_eq!(store.check(&ws).unwrap(), vec![]);
}
