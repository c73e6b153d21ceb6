//! The time that the ledger costs in time: charging a call at its worst and settling it, by one caller and by
//! thirty-two, whose calls take a while or none at all.

use std::path::Path;

use anyhow::{Context as _, Result};
use gbrain_testkit::engine::Engine;

use super::caller::{Orders, Work};
use super::{AMPLE, PROCESSES, Place, THREADS, start};

/// Charges of a thread that is alone, and of each of many.
const ALONE: usize = 1_000;
const TOGETHER: usize = 100;
/// How long a quick provider takes for an answer.
const ANSWER_MILLIS: u64 = 250;

/// Measures all three, a line each.
pub(super) fn measure(program: &Path, engine: Engine) -> Result<String> {
    let (name, all) = (engine.name(), PROCESSES * THREADS);
    let alone = times(program, engine, (1, 1), Work::Charges(ALONE, 0))?;
    let calling =
        times(program, engine, (PROCESSES, THREADS), Work::Charges(TOGETHER, ANSWER_MILLIS))?;
    let crowded = times(program, engine, (PROCESSES, THREADS), Work::Charges(TOGETHER, 0))?;
    Ok(format!(
        "{name}: ledger per call, one caller: {alone}\n\
         {name}: ledger per call, {all} callers, calls of {ANSWER_MILLIS} ms: {calling}\n\
         {name}: ledger per call, {all} callers, calls of no time: {crowded}"
    ))
}

/// How long a call's charges took, in words.
fn times(
    program: &Path,
    engine: Engine,
    (processes, threads): (usize, usize),
    work: Work,
) -> Result<String> {
    let place = Place::new(engine)?;
    let orders = Orders {
        store: place.url(),
        server: String::new(),
        budget: ("run".to_owned(), AMPLE),
        per_day: AMPLE,
        seed: 0,
        threads,
        work,
    };
    let running: Vec<_> = (0..processes).map(|_| start(program, &orders)).collect::<Result<_>>()?;
    let mut micros: Vec<u64> = Vec::new();
    let mut longest = std::time::Duration::ZERO;
    for one in running {
        let output = one.wait()?;
        anyhow::ensure!(output.complaint().is_none(), "a caller {:?}", output.complaint());
        longest = longest.max(output.took);
        for line in output.stdout.lines() {
            micros.push(line.parse().context("a caller said no number")?);
        }
    }
    micros.sort_unstable();
    let at = |percent: usize| micros[(micros.len() - 1) * percent / 100];
    let mean = micros.iter().sum::<u64>() / micros.len() as u64;
    let rate = micros.len() as f64 / longest.as_secs_f64();
    Ok(format!(
        "mean {mean} µs, median {}, 99 % {}, most {}, {rate:.0} calls/s",
        at(50),
        at(99),
        at(100)
    ))
}
