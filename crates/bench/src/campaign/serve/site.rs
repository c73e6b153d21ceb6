//! The server under load, and all its callers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use fastrand::Rng;
use gbrain_testkit::http::{Answer, Caller};
use serde_json::{Value, json};

use crate::campaign::violations::Violations;

/// How long who was refused stays away.
const AWAY: Duration = Duration::from_millis(50);

/// The outcomes of one kind of request.
#[derive(Debug, Default)]
pub struct Tally {
    /// Milliseconds by request that was answered.
    pub times: Vec<f64>,
    /// Requests that were refused because of a burst.
    pub refused: usize,
}

/// Tallies by kind of request.
pub type Tallies = BTreeMap<&'static str, Tally>;

/// The state that all callers share.
#[derive(Debug)]
pub(super) struct Site {
    address: SocketAddr,
    pub(super) violations: Violations,
    /// Begins and ends of bursts: odd while there is one.
    bursts: AtomicU64,
    is_over: AtomicBool,
    /// Questions that were answered: as many must be captured.
    questions: AtomicU64,
    tallies: Mutex<Tallies>,
}

impl Site {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            violations: Violations::default(),
            bursts: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            questions: AtomicU64::new(0),
            tallies: Mutex::default(),
        }
    }

    /// Stops all callers.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// Whether it is time to go home.
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Questions that were answered so far.
    pub(super) fn questions(&self) -> u64 {
        self.questions.load(Ordering::Acquire)
    }

    /// Sends too many requests at once; meanwhile any caller may be refused.
    pub(super) fn burst<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bursts.fetch_add(1, Ordering::AcqRel);
        let done = work();
        self.bursts.fetch_add(1, Ordering::AcqRel);
        done
    }

    /// Rests for so long at most, or until it is time to go home.
    pub(super) fn rest(&self, rng: &mut Rng, most: Duration) {
        let until = Instant::now() + most.mul_f64(rng.f64());
        while !self.is_over() && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_millis(20)));
        }
    }

    /// The outcomes of all requests, and the violations.
    pub(super) fn close(self) -> (Tallies, Vec<String>) {
        let tallies = self.tallies.into_inner().expect("nobody panics while holding it");
        (tallies, self.violations.into_list())
    }

    fn tally(&self, what: &'static str, note: impl FnOnce(&mut Tally)) {
        note(self.tallies.lock().expect("nobody panics while holding it").entry(what).or_default());
    }
}

fn is_closed_connection(error: &anyhow::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    matches!(kind, Some(BrokenPipe | ConnectionReset | UnexpectedEof))
}

/// One caller with a connection of its own.
#[derive(Debug)]
pub(super) struct Client<'a> {
    site: &'a Site,
    /// Opened by the first request: the server soon closes a connection on which nothing is sent.
    caller: Option<Caller>,
}

impl<'a> Client<'a> {
    pub(super) fn new(site: &'a Site) -> Self {
        Self { site, caller: None }
    }

    fn caller(&mut self) -> Result<&mut Caller> {
        if self.caller.is_none() {
            let caller =
                Caller::connect(self.site.address).context("the server takes no caller")?;
            self.caller = Some(caller);
        }
        self.caller.as_mut().context("there is no connection")
    }

    /// Sends a request. None if it was refused, as it may be while there is a burst; every other
    /// answer than the expected one is a violation.
    pub(super) fn call(
        &mut self,
        what: &'static str,
        (method, path, body): (&str, &str, &str),
        expected: u16,
    ) -> Result<Option<Answer>> {
        let Some((answer, millis)) = self.exchange(what, (method, path, body), expected)? else {
            return Ok(None);
        };
        self.site.tally(what, |tally| tally.times.push(millis));
        Ok(Some(answer))
    }

    /// The expected answer, and how many milliseconds it took.
    fn exchange(
        &mut self,
        what: &'static str,
        (method, path, body): (&str, &str, &str),
        expected: u16,
    ) -> Result<Option<(Answer, f64)>> {
        let bursts = self.site.bursts.load(Ordering::Acquire);
        let begun = Instant::now();
        let answer = self.caller()?.call(method, path, body.as_bytes()).context(what)?;
        let millis = begun.elapsed().as_secs_f64() * 1e3;
        if answer.status == 429 {
            self.refuse(what, bursts, answer.retry_after.is_some());
            return Ok(None);
        }
        if answer.status != expected {
            let (status, text) = (answer.status, answer.text());
            self.site.violations.add(format!("{what} was answered with {status}: {text}"));
            return Ok(None);
        }
        Ok(Some((answer, millis)))
    }

    /// Reads something. The server closes connections that are idle for long, and on a busy machine the time
    /// between two requests can be long: a closed connection is opened again.
    pub(super) fn get(&mut self, what: &'static str, path: &str) -> Result<Option<Answer>> {
        match self.call(what, ("GET", path, ""), 200) {
            Err(error) if is_closed_connection(&error) => {
                self.caller = None;
                self.call(what, ("GET", path, ""), 200)
            }
            answer => answer,
        }
    }

    /// Asks a question, which must then be captured.
    pub(super) fn ask(
        &mut self,
        what: &'static str,
        path: &str,
        query: &str,
    ) -> Result<Option<Value>> {
        let body = json!({ "query": query }).to_string();
        let answer = self.call(what, ("POST", path, &body), 200)?;
        self.count_question(answer.is_some());
        Ok(answer.map(|answer| answer.json()))
    }

    /// Calls a tool; what it answers is its structured content.
    pub(super) fn tool(
        &mut self,
        what: &'static str,
        name: &str,
        arguments: &Value,
    ) -> Result<Option<Value>> {
        let params = json!({ "name": name, "arguments": arguments, "_meta": { "job_id": 7 } });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let bursts = self.site.bursts.load(Ordering::Acquire);
        let answer = self.exchange(what, ("POST", "/mcp", &body.to_string()), 200)?;
        let Some((answer, millis)) = answer else { return Ok(None) };
        let said = answer.json();
        let content = said["result"]["structuredContent"].clone();
        if content["error"]["kind"] == "overloaded" {
            self.refuse(what, bursts, true);
            return Ok(None);
        }
        if said["result"]["isError"] != false {
            self.site.violations.add(format!("{what} was answered with {said}"));
            return Ok(None);
        }
        self.count_question(matches!(name, "query" | "search"));
        self.site.tally(what, |tally| tally.times.push(millis));
        Ok(Some(content))
    }

    fn count_question(&self, is_answered: bool) {
        self.site.questions.fetch_add(u64::from(is_answered), Ordering::AcqRel);
    }

    fn refuse(&self, what: &'static str, bursts_before: u64, says_when: bool) {
        let is_burst =
            bursts_before % 2 == 1 || self.site.bursts.load(Ordering::Acquire) != bursts_before;
        if !is_burst {
            self.site.violations.add(format!("{what} was refused though little was asked"));
        }
        if !says_when {
            self.site.violations.add(format!("{what} was refused without when to come back"));
        }
        self.site.tally(what, |tally| tally.refused += 1);
        std::thread::sleep(AWAY);
    }
}

/// The address of a page: its name is one part of the path.
pub(super) fn address(page: &str) -> String {
    format!("/v1/pages/{}", page.replace('/', "%2F"))
}
