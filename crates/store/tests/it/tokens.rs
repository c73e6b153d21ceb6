//! Tokens: found across all workspaces, changed in their own.

use gbrain_core::access::Scope;
use gbrain_store::{ApiToken, NewToken, Store, StoreError, TokenDigest};

use crate::database::Database;
use crate::fixture::*;
use crate::jobs::other;

on_both_engines! {
    tokens_come_back_as_they_were,
    an_id_is_of_one_token,
    tokens_end,
    the_latest_use_is_kept,
    broken_tokens_are_refused,
    a_removed_workspace_takes_its_tokens,
}

pub(crate) fn new_token(id: &str) -> NewToken {
    NewToken {
        id: id.to_owned(),
        name: format!("ßtoken {id}"),
        scope: Scope::Write,
        digest: TokenDigest([7; 32]),
        rate_per_second: 20,
        expires_at: None,
    }
}

fn ids(tokens: &[ApiToken]) -> Vec<&str> {
    tokens.iter().map(|token| token.id.as_str()).collect()
}

fn find(store: &Store, id: &str) -> ApiToken {
    store.find_token(id).unwrap().unwrap()
}

fn tokens_come_back_as_they_were(db: &Database) {
    let store = db.open();
    store.add_workspace(&other(), at(0)).unwrap();
    assert!(store.tokens(&ws()).unwrap().is_empty());
    assert!(!store.has_live_tokens(at(0)).unwrap() && !store.has_tokens().unwrap());
    for (n, scope) in Scope::ALL.iter().enumerate() {
        let digest = TokenDigest(std::array::from_fn(|at| (at + n) as u8));
        let expires_at = (n == 1).then(|| at(50));
        let token = NewToken { scope: *scope, digest, expires_at, ..new_token(&format!("t{n}")) };
        store.add_token(&other(), &token, at(9 - n as i64)).unwrap();
        let found = find(&store, &token.id);
        assert_eq!((found.workspace, found.name), (other(), token.name));
        assert_eq!((found.scope, found.digest.0, found.rate_per_second), (*scope, digest.0, 20));
        assert_eq!((found.created_at, found.expires_at), (at(9 - n as i64), expires_at));
        assert_eq!((found.revoked_at, found.last_used_at), (None, None));
    }
    assert_eq!(ids(&store.tokens(&other()).unwrap()), ["t2", "t1", "t0"], "oldest first");
    assert!(store.tokens(&ws()).unwrap().is_empty());
    for none in ["", "t", "t3", "T0", "\0", "t0\0", "' OR 1=1 --"] {
        assert!(store.find_token(none).unwrap().is_none(), "{none:?}");
    }
    let shown = format!("{:?}", find(&store, "t0"));
    assert!(shown.contains("TokenDigest(..)"), "{shown}");
    assert_eq!(store.head(&other()).unwrap().generation.0, 0, "not part of the corpus");
}

fn an_id_is_of_one_token(db: &Database) {
    let store = db.open();
    store.add_workspace(&other(), at(0)).unwrap();
    store.add_token(&ws(), &new_token("t"), at(1)).unwrap();
    for ws in [&ws(), &other()] {
        let error = store.add_token(ws, &new_token("t"), at(1)).unwrap_err();
        assert!(matches!(error, StoreError::Constraint { .. }), "{error:?}");
    }
    assert_eq!(find(&store, "t").workspace, ws());
}

fn tokens_end(db: &Database) {
    let store = db.open();
    store.add_workspace(&other(), at(0)).unwrap();
    store.add_token(&other(), &new_token("a"), at(1)).unwrap();
    let ending = NewToken { expires_at: Some(at(10)), ..new_token("b") };
    store.add_token(&ws(), &ending, at(1)).unwrap();
    assert!(store.has_live_tokens(at(2)).unwrap());
    assert!(!store.revoke_token(&ws(), "a", at(3)).unwrap(), "not of this workspace");
    assert!(!store.revoke_token(&other(), "none", at(3)).unwrap());
    assert!(store.revoke_token(&other(), "a", at(3)).unwrap());
    assert!(!store.revoke_token(&other(), "a", at(4)).unwrap(), "it has ended");
    let token = find(&store, "a");
    assert_eq!(token.revoked_at, Some(at(3)));
    assert!(!token.is_live(at(2)) && !token.is_live(at(4)));
    assert!(find(&store, "b").is_live(at(9)) && !find(&store, "b").is_live(at(10)));
    assert!(store.has_live_tokens(at(9)).unwrap());
    assert!(!store.has_live_tokens(at(10)).unwrap());
    assert!(store.has_tokens().unwrap(), "one that ran out was there");
    assert_eq!(store.tokens(&other()).unwrap().len(), 1, "dead ones are listed too");
}

fn the_latest_use_is_kept(db: &Database) {
    let store = db.open();
    store.add_token(&ws(), &new_token("t"), at(1)).unwrap();
    for (second, expected) in [(5, 5), (3, 5), (5, 5), (8, 8)] {
        store.touch_token(&ws(), "t", at(second)).unwrap();
        assert_eq!(find(&store, "t").last_used_at, Some(at(expected)));
    }
    store.touch_token(&ws(), "none", at(9)).unwrap();
}

fn broken_tokens_are_refused(db: &Database) {
    let store = db.open();
    let broken = |token: NewToken, wanted: &str| {
        let error = store.add_token(&ws(), &token, at(1)).unwrap_err();
        let StoreError::Constraint { which } = &error else { panic!("{error:?}") };
        assert_eq!(which, wanted);
    };
    broken(NewToken { rate_per_second: 0, ..new_token("t") }, "token_rate");
    broken(new_token(""), "token_id");
    broken(new_token(&"x".repeat(65)), "token_id");
    let nul = NewToken { name: "\0".to_owned(), ..new_token("t") };
    for error in [
        store.add_token(&ws(), &nul, at(1)).unwrap_err(),
        store.add_token(&ws(), &new_token("\0"), at(1)).unwrap_err(),
        store.revoke_token(&ws(), "\0", at(1)).unwrap_err(),
        store.touch_token(&ws(), "\0", at(1)).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Nul { .. }), "{error:?}");
    }
    assert!(store.tokens(&ws()).unwrap().is_empty());
}

fn a_removed_workspace_takes_its_tokens(db: &Database) {
    let store = db.open();
    let unknown = |result: Result<(), StoreError>| {
        assert!(matches!(result, Err(StoreError::UnknownWorkspace(_))), "{result:?}");
    };
    unknown(store.add_token(&other(), &new_token("t"), at(1)));
    unknown(store.tokens(&other()).map(|_| ()));
    unknown(store.revoke_token(&other(), "t", at(1)).map(|_| ()));
    unknown(store.touch_token(&other(), "t", at(1)));
    store.add_workspace(&other(), at(0)).unwrap();
    store.add_token(&other(), &new_token("t"), at(1)).unwrap();
    store.remove_workspace(&other()).unwrap();
    assert!(store.find_token("t").unwrap().is_none());
    store.add_token(&ws(), &new_token("t"), at(1)).unwrap();
}
