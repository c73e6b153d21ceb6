//! Who is let in: tokens, the open door on loopback, and how often somebody may try.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gbrain_core::access::Scope;
use gbrain_core::fault::Fault;
use gbrain_core::id::WorkspaceId;
use gbrain_store::{Store, Token};
use jiff::{SignedDuration, Timestamp};

use crate::rate::{Limits, Rate};
use crate::token::{Presented, TokenKey};
use crate::visitor::Visitor;

/// How long what the store said of tokens is believed: a revoked one is refused that much later.
const BELIEVED: Duration = Duration::from_secs(1);
/// How exactly the store knows when a token was last seen.
const NOTED: SignedDuration = SignedDuration::from_secs(60);
/// How many tokens are remembered.
const REMEMBERED: usize = 10_000;
/// How often one address may present tokens that are none.
const FAILURES: Rate = Rate { per_second: 0.2, burst: 10.0 };
/// How often a token that was not seen before is looked at for an address that presented too many.
const SECOND_LOOKS: Rate = Rate { per_second: 20.0, burst: 100.0 };

/// Whether callers on this machine need a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loopback {
    Open,
    /// As soon as there is a token, and from then on: when the last one is revoked or runs out, the
    /// door stays closed.
    OpenWithoutTokens,
    /// Always: the server listens to other machines too.
    Closed,
}

/// What there is of tokens when a server starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tokens {
    /// Whether one is good now.
    pub live: bool,
    /// Whether there ever was one.
    pub ever: bool,
    /// Whether their key is here.
    pub has_key: bool,
}

impl Loopback {
    /// Who needs no token on an address. Other machines always do, so there must be one.
    pub fn resolve(listen: SocketAddr, is_open: bool, tokens: Tokens) -> Result<Self, Fault> {
        let is_loopback = listen.ip().to_canonical().is_loopback();
        if !is_loopback && !tokens.live {
            return Err(Fault::usage(format!(
                "{listen} can be reached by other machines, and there is no token that they could show"
            ))
            .hint("make one: gbrain tokens create --name team --scope read")
            .hint("or listen to this machine only: --listen 127.0.0.1:7727"));
        }
        if tokens.ever && !tokens.has_key && !is_open {
            return Err(Fault::config("there are tokens and no key here: nobody could be let in")
                .hint(
                    "bring token.key from the machine on which they were made, or set GBRAIN_TOKEN_KEY",
                ));
        }
        Ok(match (is_open, is_loopback) {
            (true, _) => Self::Open,
            (false, true) => Self::OpenWithoutTokens,
            (false, false) => Self::Closed,
        })
    }
}

/// What a request shows of its sender.
#[derive(Debug, Clone, Copy)]
pub struct Credentials<'a> {
    pub authorization: Option<&'a str>,
    /// Where the connection comes from.
    pub peer: IpAddr,
    /// Whether a proxy says that it speaks for somebody else.
    pub is_forwarded: bool,
}

/// Why somebody is not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// No token, or one that is not good.
    Unauthorised(Fault),
    TooOften(Duration),
    /// Whether it is good could not be found out.
    Broken(Fault),
}

/// Lets in.
pub struct Gatekeeper {
    store: Arc<Store>,
    key: Option<TokenKey>,
    loopback: Loopback,
    /// Where callers without a token are let in.
    home: WorkspaceId,
    known: Mutex<HashMap<String, (Instant, Option<Token>)>>,
    any: Mutex<Option<(Instant, bool)>>,
    limits: Limits<String>,
    failures: Limits<IpAddr>,
    second_looks: Limits<IpAddr>,
}

impl Gatekeeper {
    /// Lets in by the tokens of a store; without a key no token is good.
    pub fn new(
        store: Arc<Store>,
        key: Option<TokenKey>,
        loopback: Loopback,
        home: WorkspaceId,
    ) -> Self {
        Self {
            store,
            key,
            loopback,
            home,
            known: Mutex::default(),
            any: Mutex::default(),
            limits: Limits::default(),
            failures: Limits::default(),
            second_looks: Limits::default(),
        }
    }

    /// Finds out who somebody is. Looks into the store at most once a second for each token; the
    /// call blocks then.
    pub fn admit(
        &self,
        shown: &Credentials<'_>,
        clock: Instant,
        now: Timestamp,
    ) -> Result<Visitor, Denied> {
        let Some(header) = shown.authorization else {
            return self.without_token(shown, clock);
        };
        let is_slowed = self.failures.is_empty(&shown.peer, FAILURES, clock);
        if is_slowed && !self.is_looked_at(header, shown.peer, clock) {
            return Err(SLOW);
        }
        let Some(token) = self.token(header, clock, now)? else {
            if is_slowed {
                return Err(SLOW);
            }
            let _ = self.failures.take(&shown.peer, FAILURES, clock);
            return Err(unauthorised("this token is not known here, or it was revoked or ran out"));
        };
        let rate = Rate::per_second(token.rate_per_second);
        self.limits.take(&token.id, rate, clock).map_err(Denied::TooOften)?;
        let Token { workspace, id, name, scope, .. } = token;
        Ok(Visitor { workspace, scope, name, token_id: Some(id) })
    }

    /// Whether an answer needs the store, so that the caller can take this off its thread.
    pub fn knows(&self, shown: &Credentials<'_>, clock: Instant) -> bool {
        match shown.authorization {
            None if self.loopback != Loopback::OpenWithoutTokens => true,
            None => lock(&self.any).is_some_and(|(at, _)| is_fresh(at, clock)),
            Some(header) => bearer(header).and_then(Presented::parse).is_none_or(|presented| {
                let known = lock(&self.known);
                known.get(&presented.id).is_some_and(|(at, _)| is_fresh(*at, clock))
            }),
        }
    }

    /// Whether a token is looked at although its sender guesses: one that was let in before always
    /// is, others now and then, so that nobody is locked out by whoever shares an address with him,
    /// and nobody gets further by knowing a token's name.
    fn is_looked_at(&self, header: &str, peer: IpAddr, clock: Instant) -> bool {
        let presented = bearer(header).and_then(Presented::parse);
        let (Some(presented), Some(key)) = (presented, &self.key) else { return false };
        let known = lock(&self.known).get(&presented.id).and_then(|(_, token)| token.clone());
        known.is_some_and(|token| key.verify(&presented, &token.digest.0))
            || self.second_looks.take(&peer, SECOND_LOOKS, clock).is_ok()
    }

    /// Whether somebody who was let in still would be. The call blocks, once a second.
    pub fn still_admits(
        &self,
        who: &Visitor,
        clock: Instant,
        now: Timestamp,
    ) -> Result<bool, Denied> {
        match &who.token_id {
            Some(id) => Ok(self.kept(id, clock, now)?.is_some_and(|token| token.is_live(now))),
            None => self.is_open(clock),
        }
    }

    fn without_token(&self, shown: &Credentials<'_>, clock: Instant) -> Result<Visitor, Denied> {
        let is_here = shown.peer.to_canonical().is_loopback() && !shown.is_forwarded;
        if is_here && self.is_open(clock)? {
            return Ok(Visitor::local(self.home.clone(), Scope::Admin, "loopback"));
        }
        Err(unauthorised("a token is needed"))
    }

    /// Whether callers on this machine need no token.
    fn is_open(&self, clock: Instant) -> Result<bool, Denied> {
        match self.loopback {
            Loopback::Open => Ok(true),
            Loopback::OpenWithoutTokens => Ok(!self.has_tokens(clock)?),
            Loopback::Closed => Ok(false),
        }
    }

    fn has_tokens(&self, clock: Instant) -> Result<bool, Denied> {
        if let Some((at, any)) = *lock(&self.any)
            && is_fresh(at, clock)
        {
            return Ok(any);
        }
        let any = self.store.has_tokens().map_err(|error| Denied::Broken(error.into()))?;
        *lock(&self.any) = Some((clock, any));
        Ok(any)
    }

    /// The token of a header, if it is good now.
    fn token(&self, header: &str, clock: Instant, now: Timestamp) -> Result<Option<Token>, Denied> {
        let Some(presented) = bearer(header).and_then(Presented::parse) else { return Ok(None) };
        let Some(key) = &self.key else { return Ok(None) };
        let kept = self.kept(&presented.id, clock, now)?;
        // A token that is not there takes as long as one that is.
        let nobody = [0_u8; 32];
        let digest = kept.as_ref().map_or(&nobody[..], |token| &token.digest.0[..]);
        let is_right = key.verify(&presented, digest);
        Ok(kept.filter(|token| is_right && token.is_live(now)))
    }

    fn kept(&self, id: &str, clock: Instant, now: Timestamp) -> Result<Option<Token>, Denied> {
        if let Some((at, token)) = lock(&self.known).get(id)
            && is_fresh(*at, clock)
        {
            return Ok(token.clone());
        }
        let found = self.store.find_token(id).map_err(|error| Denied::Broken(error.into()))?;
        if let Some(token) = found.as_ref().filter(|token| is_worth_noting(token, now)) {
            // For people who look at the list; not worth failing for.
            let _ = self.store.touch_token(&token.workspace, &token.id, now);
        }
        let mut known = lock(&self.known);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(id.to_owned(), (clock, found.clone()));
        Ok(found)
    }
}

/// What whoever guesses hears.
const SLOW: Denied = Denied::TooOften(Duration::from_secs(5));

/// Whether a token was last seen long enough ago to be worth a write.
fn is_worth_noting(token: &Token, now: Timestamp) -> bool {
    let seen = |at: Timestamp| now.duration_since(at) < NOTED;
    !token.last_used_at.is_some_and(seen)
}

fn is_fresh(at: Instant, clock: Instant) -> bool {
    clock.saturating_duration_since(at) < BELIEVED
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn unauthorised(message: &str) -> Denied {
    let hint = "send `authorization: Bearer TOKEN`; `gbrain tokens create` makes one";
    Denied::Unauthorised(Fault::unauthorised(message).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(listen: &str, is_open: bool, tokens: [bool; 3], expected: Option<Loopback>) {
        let [live, ever, has_key] = tokens;
        let tokens = Tokens { live, ever, has_key };
        let resolved = Loopback::resolve(listen.parse().unwrap(), is_open, tokens);
        assert_eq!(resolved.ok(), expected, "{listen} {is_open} {tokens:?}");
    }

    #[test]
    fn other_machines_need_a_live_token_and_tokens_need_their_key() {
        let (none, used_up, good) = ([false, false, true], [false, true, true], [true; 3]);
        check("127.0.0.1:1", false, none, Some(Loopback::OpenWithoutTokens));
        check("[::1]:1", false, good, Some(Loopback::OpenWithoutTokens));
        check("127.0.0.1:1", true, good, Some(Loopback::Open));
        check("0.0.0.0:1", false, none, None);
        check("0.0.0.0:1", true, used_up, None);
        check("10.0.0.7:1", false, good, Some(Loopback::Closed));
        check("127.0.0.1:1", false, [true, true, false], None);
        check("127.0.0.1:1", true, [true, true, false], Some(Loopback::Open));
    }
}
