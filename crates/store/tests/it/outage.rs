//! A server that stops without a warning and returns.

use gbrain_core::capture::FailureReason;
use gbrain_store::{CaptureFilter, Location, OpenMode, Store, StoreError};
use gbrain_testkit::cluster::Cluster;

use crate::captures::{capture, failure, read};
use crate::fixture::*;

#[test]
fn captures_go_on_when_the_server_is_back() {
    let mut cluster = Cluster::create().unwrap();
    let store = Store::open(&Location::Postgres(cluster.url()), OpenMode::Init, at(0)).unwrap();
    store.add_captures(&ws(), &[capture("before")], at(1)).unwrap();
    for round in 1..=2 {
        cluster.stop().unwrap();
        for _ in 0..3 {
            let error = store.add_captures(&ws(), &[capture("lost")], at(2)).unwrap_err();
            assert!(matches!(error, StoreError::Down { .. }), "{error:?}");
            assert_eq!(error.failure_reason(), FailureReason::DbDown);
        }
        assert!(store.capture_summary(&ws(), at(2)).is_err());
        cluster.start().unwrap();
        let lost = failure(&format!("outage {round}"), 2, FailureReason::DbDown);
        store.add_capture_failures(&ws(), &[lost]).unwrap();
        store.add_captures(&ws(), &[capture("after")], at(3)).unwrap();
    }
    let rows = read(&store, &ws(), &CaptureFilter::default());
    let queries: Vec<_> = rows.iter().map(|row| row.fields.query.as_str()).collect();
    assert_eq!(queries, ["after", "after", "before"]);
    assert_eq!(store.count_capture_failures(&ws(), None, None).unwrap(), 2);
    assert_sound(&store);
}
