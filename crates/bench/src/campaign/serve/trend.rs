//! Whether a server that is left running stays as it is.

use std::path::Path;

use anyhow::Result;

use gbrain_testkit::served::Served;
use gbrain_testkit::vitals::ProcessStats;

/// The server and its files at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sample {
    vitals: ProcessStats,
    index: u64,
    log: u64,
}

/// A figure that should stay as it is, over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Trend {
    pub name: &'static str,
    /// Its median in the second quarter of the time: the first is for warming up.
    pub early: f64,
    /// Its median in the last quarter.
    pub late: f64,
    /// Its most.
    pub peak: f64,
    /// The most that it may be in the last quarter.
    pub bound: f64,
}

impl Sample {
    pub(super) fn take(server: &Served, home: &Path) -> Result<Self> {
        let log = home.join("brain.db-wal").metadata().map_or(0, |file| file.len());
        Ok(Self { vitals: server.vitals()?, index: bytes(&home.join("index")), log })
    }

    /// Memory that is the server's own, in MiB.
    pub(super) fn own_mib(&self) -> u64 {
        self.vitals.anonymous_kib >> 10
    }
}

/// Bytes of the files of a directory.
pub(super) fn bytes(dir: &Path) -> u64 {
    let files = walkdir::WalkDir::new(dir).into_iter().filter_map(Result::ok);
    // A file may go away between looking and counting.
    let files = files.filter_map(|entry| entry.metadata().ok()).filter(|data| data.is_file());
    files.map(|data| data.len()).sum()
}

pub(super) fn trends(samples: &[Sample]) -> Vec<Trend> {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let of = |name, (share, slack): (f64, f64), value: &dyn Fn(&Sample) -> f64| {
        trend(name, &samples.iter().map(value).collect::<Vec<f64>>(), share, slack)
    };
    vec![
        of("own memory, MiB", (1.1, 32.0), &|s| s.vitals.anonymous_kib as f64 / 1024.0),
        of("resident, MiB", (1.5, 64.0), &|s| s.vitals.resident_kib as f64 / 1024.0),
        of("descriptors", (1.25, 32.0), &|s| s.vitals.descriptors as f64),
        of("threads", (1.0, 16.0), &|s| s.vitals.threads as f64),
        of("mapped deleted files", (1.25, 64.0), &|s| s.vitals.deleted as f64),
        of("index on disk, MiB", (1.5, 16.0), &|s| mib(s.index)),
        of("write-ahead log, MiB", (1.5, 32.0), &|s| mib(s.log)),
    ]
}

fn trend(name: &'static str, values: &[f64], share: f64, slack: f64) -> Trend {
    let quarter = values.len() / 4;
    let early = median(&values[quarter..2 * quarter]);
    let late = median(&values[values.len() - quarter..]);
    let peak = values.iter().copied().fold(0.0, f64::max);
    Trend { name, early, late, peak, bound: early * share + slack }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

impl Trend {
    pub fn complaint(&self) -> Option<String> {
        let Self { name, early, late, bound, .. } = self;
        // Written so that what is not a number is a complaint.
        let is_well = *late <= *bound;
        (!is_well).then(|| format!("{name} went from {early:.1} to {late:.1}, beyond {bound:.1}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_quarter_is_held_to_the_second() {
        let check = |values: &[f64], is_well: bool| {
            let trend = trend("memory", values, 1.1, 2.0);
            assert_eq!(trend.complaint().is_none(), is_well, "{trend:?}");
        };
        check(&[1.0, 9.0, 10.0, 10.0, 10.0, 50.0, 13.0, 13.0], true);
        check(&[1.0, 9.0, 10.0, 10.0, 10.0, 50.0, 13.1, 13.1], false);
        check(&[1.0, 9.0, 10.0, 10.0, 10.0, 50.0, f64::NAN, f64::NAN], false);
        check(&[], true);
    }
}
