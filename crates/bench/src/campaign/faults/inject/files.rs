//! Files that are damaged under a running server.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::super::fault::Fault;
use super::super::report::FindingKind;
use super::super::subject::{Subject, TIMEOUT};
use crate::campaign::tree;

const DATABASE_FILES: [&str; 3] = ["brain.db", "brain.db-wal", "brain.db-shm"];
/// Longer than the server believes what it found when it was last asked whether it is ready.
const READINESS_AGE: Duration = Duration::from_millis(1_500);

impl Subject {
    /// Damages one file of the index. Nothing is repaired by hand: the recovery is the product's own.
    pub(super) fn damage(&mut self, fault: Fault) -> Result<()> {
        let expected = self.answers();
        let file = self.file_of_index()?;
        let findings = self.row.findings.len();
        let how = match fault {
            Fault::FlippedFile => flip(&file, &mut self.rng)?,
            Fault::TruncatedFile => truncate(&file, &mut self.rng)?,
            _ => self.delete(&file)?,
        };
        self.row.method = "files of the index, under a running server".to_owned();
        // Commands are the first to meet the damage in half of the rounds, the server in the others.
        let is_server_first = self.rng.bool();
        if !is_server_first {
            self.ask_commands(&expected)?;
            self.hide_a_page()?;
        }
        // From the first request that could meet the damage: what commands took is not the server's.
        let since = Instant::now();
        if is_server_first {
            let found = self.answers();
            self.expect_answers(&expected, &found, "the server");
        }
        self.look_for_hidden();
        self.check_readiness();
        self.recover(since)?;
        self.hide_a_page()?;
        self.look_for_hidden();
        for _ in 0..self.sizes.writes {
            self.write(TIMEOUT);
            self.read();
        }
        self.recover(Instant::now())?;
        for finding in &mut self.row.findings[findings..] {
            finding.text = format!("{how}: {}", finding.text);
        }
        Ok(())
    }

    /// `reindex --verify` names the damage, or it is none: commands answer as before.
    fn ask_commands(&mut self, expected: &[super::super::check::Ranked]) -> Result<()> {
        let verify = self.run(&["reindex", "--verify"], "")?;
        let found = self.answers_of_commands()?;
        let who = match verify.code {
            Some(0) => "commands after a clean reindex --verify",
            _ => "commands after reindex --verify named the damage",
        };
        self.expect_answers(expected, &found, who);
        Ok(())
    }

    /// A file of the index: of segments, `meta.json` or another that the index can't do without.
    fn file_of_index(&mut self) -> Result<PathBuf> {
        let entries = walkdir::WalkDir::new(self.brain.home().join("index")).into_iter().flatten();
        let is_file = |entry: &walkdir::DirEntry| {
            entry.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
        };
        let mut files: Vec<PathBuf> =
            entries.filter(is_file).map(walkdir::DirEntry::into_path).collect();
        files.sort();
        let (meta, others): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|path| path.ends_with("meta.json"));
        // One in four, because there is one of it and many of the others.
        let files = if self.rng.u8(..4) == 0 && !meta.is_empty() { meta } else { others };
        self.rng.choice(files).context("the index has no files")
    }

    fn delete(&mut self, file: &Path) -> Result<String> {
        if self.rng.u8(..4) == 0 {
            self.brain.remove_index()?;
            return Ok("the index is deleted".to_owned());
        }
        std::fs::remove_file(file)?;
        Ok(format!("{} is deleted", name(file)))
    }

    /// Takes `brain.db` away from a running server and brings it back.
    pub(super) fn move_database(&mut self) -> Result<()> {
        self.row.method = "brain.db and its journal renamed and renamed back".to_owned();
        let home = self.brain.home().to_owned();
        let away = home.join("away");
        std::fs::create_dir_all(&away)?;
        for file in DATABASE_FILES {
            rename(&home.join(file), &away.join(file))?;
        }
        for _ in 0..self.sizes.writes {
            self.write(TIMEOUT);
        }
        std::thread::sleep(READINESS_AGE);
        let ready = self.call("GET", "/v1/ready", None, TIMEOUT).map(|answer| answer.status);
        if ready == Some(200) {
            self.row.add(FindingKind::FalseGreen, "/v1/ready is 200 without brain.db");
        }
        let since = Instant::now();
        for file in DATABASE_FILES {
            rename(&away.join(file), &home.join(file))?;
        }
        std::fs::remove_dir(&away)?;
        self.recover(since)
    }

    /// Changes a letter of a stored page while no server runs: `doctor --deep` must find it.
    pub(super) fn flip_database(&mut self) -> Result<()> {
        self.row.method = "a letter of a page's text in brain.db".to_owned();
        self.stop()?;
        let path = self.brain.home().join("brain.db");
        // Everything is in the one file, and nothing of it in the journal.
        let database = rusqlite::Connection::open(&path)?;
        database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        drop(database);
        let bytes = std::fs::read(&path)?;
        let certain = self.writes.certain();
        let (slug, text) = self.rng.choice(certain).context("no page is certain")?;
        let (slug, marker) = (slug.to_owned(), tree::marker(text).unwrap_or_default().to_owned());
        let at = memchr::memmem::find(&bytes, marker.as_bytes());
        let at = at.with_context(|| format!("{marker} of {slug} is not in brain.db"))? as u64;
        let file = OpenOptions::new().write(true).open(&path)?;
        file.write_all_at(b"q", at)?;
        let doctor = self.run(&["doctor", "--deep", "--offline"], "")?;
        if doctor.code == Some(0) {
            let what = format!("doctor --deep is green though the text of {slug} is damaged");
            self.row.add(FindingKind::FalseGreen, what);
        }
        file.write_all_at(b"z", at)?;
        let since = Instant::now();
        self.start()?;
        self.recover(since)
    }
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Changes one bit in place: a process that has the file open sees it.
fn flip(file: &Path, rng: &mut fastrand::Rng) -> Result<String> {
    let handle = OpenOptions::new().read(true).write(true).open(file)?;
    let at = rng.u64(..handle.metadata()?.len().max(1));
    let mut byte = [0];
    handle.read_exact_at(&mut byte, at)?;
    byte[0] ^= 1 << rng.u8(..8);
    handle.write_all_at(&byte, at)?;
    Ok(format!("a bit of {} is flipped at {at}", name(file)))
}

fn truncate(file: &Path, rng: &mut fastrand::Rng) -> Result<String> {
    let handle = OpenOptions::new().write(true).open(file)?;
    let length = handle.metadata()?.len();
    let length = if rng.u8(..3) == 0 { 0 } else { rng.u64(..length.max(1)) };
    handle.set_len(length)?;
    Ok(format!("{} is cut to {length} bytes", name(file)))
}

fn name(file: &Path) -> String {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    // Names of segments are random: what matters is what kind of file it is.
    match name.rsplit_once('.') {
        Some((_, kind)) if kind != "json" => format!("a .{kind} file"),
        _ => name,
    }
}
