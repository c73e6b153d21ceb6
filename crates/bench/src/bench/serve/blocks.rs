//! Blocks of requests: in this process, over HTTP, and over HTTP faster than they can be answered.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use gbrain_brain::QueryOptions;
use gbrain_brain::capture::QueryService;
use gbrain_core::request::{Caller, Request};
use gbrain_testkit::http::{Answer, Caller as Connection};
use gbrain_testkit::served::Served;

use crate::bench::machine::cpu_seconds;

/// How long the recorder is given to store what a block left it.
const SETTLE: Duration = Duration::from_millis(500);

pub(super) struct Block {
    /// Microseconds by request.
    pub(super) times: Vec<f64>,
    /// Processor time of the process that answered, in seconds.
    pub(super) cpu: f64,
    pub(super) seconds: f64,
}

impl Block {
    /// Processor time of one request, in microseconds.
    pub(super) fn cpu_micros(&self) -> f64 {
        1e6 * self.cpu / self.times.len() as f64
    }

    /// Requests a second.
    pub(super) fn rate(&self) -> f64 {
        self.times.len() as f64 / self.seconds
    }
}

/// The counts of a run with more requests than the server can answer.
#[derive(Default)]
pub(super) struct Overload {
    /// Microseconds by request that was answered.
    pub(super) accepted: Vec<f64>,
    /// Microseconds by request that was refused.
    pub(super) refused: Vec<f64>,
    /// Requests that no client was free to send.
    pub(super) unsent: usize,
    pub(super) seconds: f64,
}

/// Asks in this process, on so many threads.
pub(super) fn in_process(
    door: &QueryService,
    requests: &[Request],
    count: usize,
    threads: usize,
) -> Result<Block> {
    let caller = Caller { remote: true, ..Caller::default() };
    block(vec![(); threads], count, cpu_seconds, |(), at| {
        let ask = QueryOptions::default();
        std::hint::black_box(door.answer(&requests[at % requests.len()], &ask, caller)?);
        Ok(())
    })
}

/// Asks a server, on so many connections.
pub(super) fn over_http(
    served: &Served,
    bodies: &[Vec<u8>],
    count: usize,
    connections: usize,
) -> Result<Block> {
    let callers = connect(served, connections)?;
    block(
        callers,
        count,
        || served.cpu_seconds(),
        |caller, at| {
            let answer = query(caller, &bodies[at % bodies.len()])?;
            ensure!(answer.status == 200, "a question was answered with {}", answer.status);
            std::hint::black_box(answer);
            Ok(())
        },
    )
}

/// Each client sends its next question as soon as the last one is answered, until there are `count`.
fn block<C: Send>(
    callers: Vec<C>,
    count: usize,
    cpu: impl Fn() -> f64,
    ask: impl Fn(&mut C, usize) -> Result<()> + Sync,
) -> Result<Block> {
    let next = AtomicUsize::new(0);
    let run = |mut caller: C| {
        let mut times = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                return Ok(times);
            }
            let begun = Instant::now();
            ask(&mut caller, at)?;
            times.push(begun.elapsed().as_nanos() as f64 / 1000.0);
        }
    };
    let (used, begun) = (cpu(), Instant::now());
    let times = std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> =
            callers.into_iter().map(|caller| scope.spawn(move || run(caller))).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("callers go on"));
        joined.collect::<Result<Vec<Vec<f64>>>>()
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    std::thread::sleep(SETTLE);
    Ok(Block { times: times.concat(), cpu: cpu() - used, seconds })
}

/// Sends requests at a fixed rate per second, without waiting for their responses.
pub(super) fn overload(
    served: &Served,
    bodies: &[Vec<u8>],
    rate: f64,
    connections: usize,
    time: Duration,
) -> Result<Overload> {
    let callers = connect(served, connections)?;
    let every = Duration::from_secs_f64(connections as f64 / rate);
    let begun = Instant::now();
    let run = |mut caller: Connection, number: usize| -> Result<Overload> {
        let mut seen = Overload::default();
        let mut due = begun + every.mul_f64(number as f64 / connections as f64);
        let mut at = number;
        while due < begun + time {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let sent = Instant::now();
            let answer = query(&mut caller, &bodies[at % bodies.len()])?;
            let took = sent.elapsed().as_nanos() as f64 / 1000.0;
            match answer.status {
                200 => seen.accepted.push(took),
                429 => seen.refused.push(took),
                status => anyhow::bail!("a question was answered with {status}"),
            }
            at += connections;
            due += every;
            while due + every < Instant::now() {
                due += every;
                seen.unsent += 1;
            }
        }
        Ok(seen)
    };
    let all = std::thread::scope(|scope| {
        let run = &run;
        let callers = callers.into_iter().enumerate();
        let threads: Vec<_> =
            callers.map(|(number, caller)| scope.spawn(move || run(caller, number))).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("callers go on"));
        joined.collect::<Result<Vec<Overload>>>()
    })?;
    let mut sum = Overload { seconds: begun.elapsed().as_secs_f64(), ..Overload::default() };
    for Overload { accepted, refused, unsent, seconds: _ } in all {
        sum.accepted.extend(accepted);
        sum.refused.extend(refused);
        sum.unsent += unsent;
    }
    Ok(sum)
}

fn connect(served: &Served, connections: usize) -> Result<Vec<Connection>> {
    (0..connections).map(|_| served.connect()).collect()
}

fn query(caller: &mut Connection, body: &[u8]) -> Result<Answer> {
    Ok(caller.call("POST", "/v1/query", body)?)
}
