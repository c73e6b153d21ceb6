//! Authentication: tokens, callers on loopback without a token, and limits on failed attempts.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gbrain_core::access::Scope;
use gbrain_core::fault::Fault;
use gbrain_core::id::WorkspaceId;
use gbrain_store::{ApiToken, Store};
use jiff::{SignedDuration, Timestamp};

use crate::principal::Principal;
use crate::rate::{Rate, RateLimiters};
use crate::session;
use crate::token::{ParsedToken, TokenKey};

/// How long a token looked up in the store is cached; a revoked token may be accepted for that
/// long.
const CACHE_TTL: Duration = Duration::from_secs(1);
/// How precisely the store records when a token was last used.
const LAST_USED_PRECISION: SignedDuration = SignedDuration::from_secs(60);
const MAX_CACHED_TOKENS: usize = 10_000;
/// How often one address may present invalid tokens.
const FAILURES: Rate = Rate { per_second: 0.2, burst: 10.0 };
/// How often an uncached token is checked for an address that exceeded that limit.
const RECHECKS: Rate = Rate { per_second: 20.0, burst: 100.0 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopbackAccess {
    /// Callers on this machine need no token.
    Open,
    /// Open until the first token is created. It stays closed when the last token is revoked or
    /// expires.
    OpenWithoutTokens,
    /// Every caller needs a token, because the server also listens on a non-loopback address.
    Closed,
}

/// The tokens in the store when a server starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenStatus {
    /// Whether a token is valid now.
    pub live: bool,
    /// Whether there was ever a token.
    pub ever: bool,
    /// Whether the key that verifies them is available.
    pub has_key: bool,
}

impl LoopbackAccess {
    /// Decides which callers need no token when the server listens on this address. Callers on other
    /// machines always need one, so a non-loopback address is refused without a valid token.
    pub fn resolve(listen: SocketAddr, is_open: bool, tokens: TokenStatus) -> Result<Self, Fault> {
        let is_loopback = listen.ip().to_canonical().is_loopback();
        if !is_loopback && !tokens.live {
            return Err(Fault::usage(format!(
                "{listen} can be reached by other machines, and there is no valid token"
            ))
            .hint("create one: gbrain tokens create --name team --scope read")
            .hint("or listen to this machine only: --listen 127.0.0.1:7727"));
        }
        if tokens.ever && !tokens.has_key && !is_open {
            return Err(Fault::config(
                "tokens exist, but their key is missing: no token can be verified",
            )
            .hint(
                "copy token.key from the machine that created the tokens, or set GBRAIN_TOKEN_KEY",
            ));
        }
        Ok(match (is_open, is_loopback) {
            (true, _) => Self::Open,
            (false, true) => Self::OpenWithoutTokens,
            (false, false) => Self::Closed,
        })
    }
}

/// The credentials and origin of a request.
#[derive(Debug, Clone, Copy)]
pub struct Credentials<'a> {
    pub authorization: Option<&'a str>,
    /// The session cookie of the console.
    pub session: Option<&'a str>,
    /// Address of the connection.
    pub peer: IpAddr,
    /// Whether a proxy forwarded the request.
    pub is_forwarded: bool,
}

/// The reason why a request could not be authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthError {
    /// No token, or an invalid one.
    Unauthorised(Fault),
    RateLimited(Duration),
    /// The token could not be checked.
    Unavailable(Fault),
}

/// Authenticates requests by token.
pub struct Authenticator {
    store: Arc<Store>,
    key: Option<TokenKey>,
    loopback: LoopbackAccess,
    /// The workspace of callers without a token.
    home: WorkspaceId,
    known: Mutex<HashMap<String, (Instant, Option<ApiToken>)>>,
    any: Mutex<Option<(Instant, bool)>>,
    limits: RateLimiters<String>,
    failures: RateLimiters<IpAddr>,
    rechecks: RateLimiters<IpAddr>,
}

impl Authenticator {
    /// Uses the tokens of a store; without a key no token is valid.
    pub fn new(
        store: Arc<Store>,
        key: Option<TokenKey>,
        loopback: LoopbackAccess,
        home: WorkspaceId,
    ) -> Self {
        Self {
            store,
            key,
            loopback,
            home,
            known: Mutex::default(),
            any: Mutex::default(),
            limits: RateLimiters::default(),
            failures: RateLimiters::default(),
            rechecks: RateLimiters::default(),
        }
    }

    /// Identifies the caller. It may block to read the store, at most once a second for each token.
    pub fn authenticate(
        &self,
        credentials: &Credentials<'_>,
        clock: Instant,
        now: Timestamp,
    ) -> Result<Principal, AuthError> {
        let Some(header) = credentials.authorization else {
            return match credentials.session {
                Some(session) => self.authenticate_session(session, credentials, clock, now),
                None => self.authenticate_loopback(credentials, clock),
            };
        };
        let is_limited = self.failures.is_empty(&credentials.peer, FAILURES, clock);
        if is_limited && !self.is_checked_anyway(header, credentials.peer, clock) {
            return Err(TOO_MANY_FAILURES);
        }
        let Some(token) = self.token(header, clock, now)? else {
            if is_limited {
                return Err(TOO_MANY_FAILURES);
            }
            let _ = self.failures.take(&credentials.peer, FAILURES, clock);
            return Err(unauthorised("this token is unknown, revoked or expired"));
        };
        self.principal_of(token, clock)
    }

    /// Whether `authenticate` needs no store access, and so does not block.
    pub fn is_cached(&self, credentials: &Credentials<'_>, clock: Instant) -> bool {
        match credentials.authorization {
            None if credentials.session.is_some() => false,
            None if self.loopback != LoopbackAccess::OpenWithoutTokens => true,
            None => lock(&self.any).is_some_and(|(at, _)| is_fresh(at, clock)),
            Some(header) => bearer(header).and_then(ParsedToken::parse).is_none_or(|presented| {
                let known = lock(&self.known);
                known.get(&presented.id).is_some_and(|(at, _)| is_fresh(*at, clock))
            }),
        }
    }

    /// Whether a token is checked although its address exceeded the failure limit: always if it
    /// verifies against a cached token, otherwise at a limited rate. So clients that share an address
    /// with an attacker are not locked out, and knowing a token's id does not help to guess its secret.
    fn is_checked_anyway(&self, header: &str, peer: IpAddr, clock: Instant) -> bool {
        let presented = bearer(header).and_then(ParsedToken::parse);
        let (Some(presented), Some(key)) = (presented, &self.key) else { return false };
        let known = lock(&self.known).get(&presented.id).and_then(|(_, token)| token.clone());
        known.is_some_and(|token| key.verify(&presented, &token.digest.0))
            || self.rechecks.take(&peer, RECHECKS, clock).is_ok()
    }

    /// Makes a session of the console for a principal with a token.
    pub(crate) fn begin_session(
        &self,
        principal: &Principal,
        clock: Instant,
        now: Timestamp,
        lifetime: SignedDuration,
    ) -> Result<String, AuthError> {
        let id = principal.token_id.as_deref().ok_or_else(|| unauthorised("a token is needed"))?;
        let token = self.stored_token(id, clock, now)?;
        let token = token.ok_or_else(|| unauthorised("the token was revoked"))?;
        let key = self.key.as_ref().ok_or_else(|| unauthorised("the key of tokens is missing"))?;
        Ok(session::issue(key, &token, now.as_second() + lifetime.as_secs()))
    }

    /// A session that has ended or is not ours is no worse than none: this machine may need none.
    fn authenticate_session(
        &self,
        session: &str,
        credentials: &Credentials<'_>,
        clock: Instant,
        now: Timestamp,
    ) -> Result<Principal, AuthError> {
        match self.token_of_session(session, clock, now)? {
            Some(token) => self.principal_of(token, clock),
            None => self.authenticate_loopback(credentials, clock),
        }
    }

    fn principal_of(&self, token: ApiToken, clock: Instant) -> Result<Principal, AuthError> {
        let rate = Rate::per_second(token.rate_per_second);
        self.limits.take(&token.id, rate, clock).map_err(AuthError::RateLimited)?;
        let ApiToken { workspace, id, name, scope, .. } = token;
        Ok(Principal { workspace, scope, name, token_id: Some(id) })
    }

    /// The token that a session stands for. Only a session that was signed here reads the store.
    fn token_of_session(
        &self,
        session: &str,
        clock: Instant,
        now: Timestamp,
    ) -> Result<Option<ApiToken>, AuthError> {
        let Some(key) = &self.key else { return Ok(None) };
        let Some(session) = session::verify(key, session, now) else { return Ok(None) };
        let token = self.stored_token(session.token_id, clock, now)?;
        Ok(token.filter(|token| token.is_live(now) && session.is_of(key, token)))
    }

    /// The token of the forms of a session. Every server with the key of tokens makes the same.
    pub(crate) fn form_token(&self, session: &str) -> Option<String> {
        self.key.as_ref().map(|key| session::form_token(key, session))
    }

    pub(crate) fn is_form_token(&self, session: &str, presented: &str) -> bool {
        self.key.as_ref().is_some_and(|key| session::is_form_token(key, session, presented))
    }

    /// Whether an authenticated principal is still valid. Blocks at most once a second.
    pub fn is_still_valid(
        &self,
        principal: &Principal,
        clock: Instant,
        now: Timestamp,
    ) -> Result<bool, AuthError> {
        match &principal.token_id {
            Some(id) => {
                Ok(self.stored_token(id, clock, now)?.is_some_and(|token| token.is_live(now)))
            }
            None => self.is_open(clock),
        }
    }

    fn authenticate_loopback(
        &self,
        credentials: &Credentials<'_>,
        clock: Instant,
    ) -> Result<Principal, AuthError> {
        let is_here = credentials.peer.to_canonical().is_loopback() && !credentials.is_forwarded;
        if is_here && self.is_open(clock)? {
            return Ok(Principal::local(self.home.clone(), Scope::Admin, "loopback"));
        }
        Err(unauthorised("a token is needed"))
    }

    /// Whether callers on this machine need no token.
    fn is_open(&self, clock: Instant) -> Result<bool, AuthError> {
        match self.loopback {
            LoopbackAccess::Open => Ok(true),
            LoopbackAccess::OpenWithoutTokens => Ok(!self.has_tokens(clock)?),
            LoopbackAccess::Closed => Ok(false),
        }
    }

    fn has_tokens(&self, clock: Instant) -> Result<bool, AuthError> {
        if let Some((at, any)) = *lock(&self.any)
            && is_fresh(at, clock)
        {
            return Ok(any);
        }
        let any = self.store.has_tokens().map_err(|error| AuthError::Unavailable(error.into()))?;
        *lock(&self.any) = Some((clock, any));
        Ok(any)
    }

    /// The token in a header, if it is valid now.
    fn token(
        &self,
        header: &str,
        clock: Instant,
        now: Timestamp,
    ) -> Result<Option<ApiToken>, AuthError> {
        let Some(presented) = bearer(header).and_then(ParsedToken::parse) else { return Ok(None) };
        let Some(key) = &self.key else { return Ok(None) };
        let stored_token = self.stored_token(&presented.id, clock, now)?;
        // An unknown token is verified against a dummy digest, so that timing does not reveal whether
        // a token id exists.
        let dummy_digest = [0_u8; 32];
        let digest = stored_token.as_ref().map_or(&dummy_digest[..], |token| &token.digest.0[..]);
        let is_right = key.verify(&presented, digest);
        Ok(stored_token.filter(|token| is_right && token.is_live(now)))
    }

    fn stored_token(
        &self,
        id: &str,
        clock: Instant,
        now: Timestamp,
    ) -> Result<Option<ApiToken>, AuthError> {
        if let Some((at, token)) = lock(&self.known).get(id)
            && is_fresh(*at, clock)
        {
            return Ok(token.clone());
        }
        let found =
            self.store.find_token(id).map_err(|error| AuthError::Unavailable(error.into()))?;
        if let Some(token) = found.as_ref().filter(|token| is_last_used_stale(token, now)) {
            // Informative only: an error must not fail the request.
            let _ = self.store.touch_token(&token.workspace, &token.id, now);
        }
        let mut known = lock(&self.known);
        if known.len() >= MAX_CACHED_TOKENS {
            known.clear();
        }
        known.insert(id.to_owned(), (clock, found.clone()));
        Ok(found)
    }
}

/// The reply to an address that exceeded the failure limit.
const TOO_MANY_FAILURES: AuthError = AuthError::RateLimited(Duration::from_secs(5));

/// Whether the recorded last use is old enough to be updated.
fn is_last_used_stale(token: &ApiToken, now: Timestamp) -> bool {
    let seen = |at: Timestamp| now.duration_since(at) < LAST_USED_PRECISION;
    !token.last_used_at.is_some_and(seen)
}

fn is_fresh(at: Instant, clock: Instant) -> bool {
    clock.saturating_duration_since(at) < CACHE_TTL
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn unauthorised(message: &str) -> AuthError {
    let hint = "send `authorization: Bearer TOKEN`; `gbrain tokens create` makes one";
    AuthError::Unauthorised(Fault::unauthorised(message).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(listen: &str, is_open: bool, tokens: [bool; 3], expected: Option<LoopbackAccess>) {
        let [live, ever, has_key] = tokens;
        let tokens = TokenStatus { live, ever, has_key };
        let resolved = LoopbackAccess::resolve(listen.parse().unwrap(), is_open, tokens);
        assert_eq!(resolved.ok(), expected, "{listen} {is_open} {tokens:?}");
    }

    #[test]
    fn other_machines_need_a_live_token_and_tokens_need_their_key() {
        let (none, used_up, good) = ([false, false, true], [false, true, true], [true; 3]);
        check("127.0.0.1:1", false, none, Some(LoopbackAccess::OpenWithoutTokens));
        check("[::1]:1", false, good, Some(LoopbackAccess::OpenWithoutTokens));
        check("127.0.0.1:1", true, good, Some(LoopbackAccess::Open));
        check("0.0.0.0:1", false, none, None);
        check("0.0.0.0:1", true, used_up, None);
        check("10.0.0.7:1", false, good, Some(LoopbackAccess::Closed));
        check("127.0.0.1:1", false, [true, true, false], None);
        check("127.0.0.1:1", true, [true, true, false], Some(LoopbackAccess::Open));
    }
}
