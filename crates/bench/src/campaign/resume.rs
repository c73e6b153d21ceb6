//! Kills of a benchmark: LongMemEval is killed at random moments and resumed, until it is whole. The
//! file it leaves is the one of a run that nobody killed, apart from times.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use super::scaffold::{Campaign, Part, ProgramArgs, Progress, SeedArgs};
use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use serde_json::{Value, json};

/// The arguments.
#[derive(Debug, Parser)]
pub struct ResumeArgs {
    /// How often to kill.
    #[arg(long, default_value_t = 50)]
    kills: usize,
    /// Questions of the dataset.
    #[arg(long, default_value_t = 400)]
    questions: usize,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    program: ProgramArgs,
}

pub fn run(args: &ResumeArgs) -> Result<ExitCode> {
    let mut campaign = Campaign::start(&args.seed);
    let (program, seed) = (args.program.path()?, campaign.seed);
    campaign.part("resume", || kill_and_resume(args, program, seed))?;
    Ok(campaign.end())
}

fn kill_and_resume(args: &ResumeArgs, program: PathBuf, seed: u64) -> Result<Part> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let dir = tempfile::tempdir()?;
    let dataset = dir.path().join("dataset.json");
    fs::write(&dataset, self::dataset(args.questions).to_string())?;
    let site = Site { program, home: dir.path(), dataset };
    let whole = dir.path().join("whole.jsonl");
    let started = Instant::now();
    site.command(&whole).status().context("the program can't be started")?;
    let took = started.elapsed();
    let out = dir.path().join("run.jsonl");
    let (mut killed, mut grown, mut cut) = (0, 0, 0);
    let progress = Progress::new("kills", args.kills);
    while killed < args.kills {
        progress.reach(killed);
        let mut child = site.command(&out).spawn()?;
        std::thread::sleep(took.mul_f64(rng.f64() * 0.3).max(Duration::from_millis(2)));
        if child.try_wait()?.is_some() {
            // It ended before: begin anew, or nothing is left to kill.
            fs::remove_file(&out).or_else(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            })?;
            continue;
        }
        child.kill()?;
        child.wait()?;
        killed += 1;
        let text = fs::read_to_string(&out).unwrap_or_default();
        grown += usize::from(!text.is_empty());
        cut += usize::from(!text.is_empty() && !text.ends_with('\n'));
    }
    ensure!(site.command(&out).status()?.success(), "the last run failed");
    let same = rows(&out)? == rows(&whole)?;
    let figures = format!(
        "{killed} kills, {grown} with rows in the file, {cut} with a line cut off, {} questions",
        args.questions
    );
    let another = "the file is not that of a run without kills".to_owned();
    Ok(Part::new(figures, if same { Vec::new() } else { vec![another] }))
}

struct Site<'a> {
    program: PathBuf,
    home: &'a Path,
    dataset: PathBuf,
}

impl Site<'_> {
    fn command(&self, output: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.env("GBRAIN_HOME", self.home).args(["eval", "longmemeval"]).arg(&self.dataset);
        command.args(["--retrieval-only", "--by-type", "--quiet", "--output"]).arg(output);
        command.arg("--resume-from").arg(output);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// Rows without times.
fn rows(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path)?;
    let row = |line: &str| {
        let mut row: Value = serde_json::from_str(line)?;
        if let Some(fields) = row.as_object_mut() {
            fields.remove("timings");
        }
        Ok(row)
    };
    text.lines().map(row).collect()
}

/// Questions in LongMemEval's layout.
fn dataset(questions: usize) -> Value {
    let session = |at: usize, n: usize| {
        let says = format!("I keep item {n} of shelf {at} beside lantern {}", (at * 7 + n) % 13);
        json!([
            { "role": "user", "content": says, "has_answer": n == 0 },
            { "role": "assistant", "content": format!("Noted: shelf {at}, item {n}."), "has_answer": false },
        ])
    };
    let question = |at: usize| {
        let ids: Vec<String> = (0..12)
            .map(|n| if n == 0 { format!("answer_{at}_1") } else { format!("other_{at}_{n}") })
            .collect();
        json!({
            "question_id": format!("q{at}"),
            "question_type": if at.is_multiple_of(2) { "multi-session" } else { "single-session-user" },
            "question": format!("where is item 0 of shelf {at}?"),
            "answer": "beside a lantern",
            "question_date": "2023/06/25 (Sun) 04:48",
            "answer_session_ids": [ids[0]],
            "haystack_dates": (1..=12).map(|day| format!("2023/05/{day:02} (Fri) 01:49")).collect::<Vec<_>>(),
            "haystack_sessions": (0..12).map(|n| session(at, n)).collect::<Vec<_>>(),
            "haystack_session_ids": ids,
        })
    };
    Value::Array((0..questions).map(question).collect())
}
