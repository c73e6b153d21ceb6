//! Runs a program that reads lines of JSON and answers with lines of JSON, each with the number of
//! its request. The first question starts it, and a later one restarts it after it ended.
//!
//! Promises: several questions may be in progress; if the program ends or writes invalid JSON,
//! waiting questions fail immediately; if it stays silent past a question's timeout, it is killed,
//! unless it answered other questions meanwhile; it ends with this process, at most half a second
//! after its input was closed.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use gbrain_core::address::without_passwords;
use gbrain_core::target::{TargetError, TargetErrorKind, TargetProgram};
use serde_json::Value;

use super::TargetEnvironment;
use super::limiter::cancelled;

const LONGEST_LINE: u64 = super::http::LARGEST_ANSWER;
/// Number of last stderr lines that are quoted in errors.
const LAST_LINES: usize = 3;
/// Maximum number of messages queued for a program that does not read.
const MAX_QUEUED: usize = 1_024;
/// How long a program may take to exit after its input was closed.
const EXIT_GRACE: Duration = Duration::from_millis(500);
/// How often cancellation is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How to handle a message of the program.
pub(super) enum Route {
    /// The reply to the request with this number.
    Answer(u64),
    /// A request of the program, with the reply to send.
    Reply(Value),
    /// It is a notification and needs no reply.
    Pass,
}

pub(super) type Router = fn(&Value) -> Route;

/// Initialises a program after its start, before the first question.
pub(super) type Greet<'a> = &'a dyn Fn(&ChildProcess, Duration) -> Result<(), TargetError>;

/// A program that is started on demand.
pub(super) struct ChildProgram {
    program: TargetProgram,
    environment: TargetEnvironment,
    router: Router,
    running: Mutex<Option<Arc<ChildProcess>>>,
}

impl ChildProgram {
    pub(super) fn new(
        program: TargetProgram,
        environment: &TargetEnvironment,
        router: Router,
    ) -> Self {
        Self { program, environment: environment.clone(), router, running: Mutex::default() }
    }

    /// The running program, started and initialised if necessary.
    pub(super) fn running(
        &self,
        timeout: Duration,
        greet: Greet<'_>,
    ) -> Result<Arc<ChildProcess>, TargetError> {
        let mut current = lock(&self.running);
        if let Some(running) = current.as_ref().filter(|running| !running.has_ended()) {
            return Ok(running.clone());
        }
        *current = None;
        let running = Arc::new(ChildProcess::start(&self.program, &self.environment, self.router)?);
        greet(&running, timeout)?;
        *current = Some(running.clone());
        Ok(running)
    }
}

type PendingReplies = HashMap<u64, Sender<Result<Value, TargetError>>>;

/// The state that the threads of a running program share.
#[derive(Default)]
struct ChildState {
    waiting: Mutex<PendingReplies>,
    message_count: AtomicU64,
    has_ended: AtomicBool,
    /// Queue of outgoing lines; dropping it closes the program's input.
    lines: Mutex<Option<Sender<Vec<u8>>>>,
    /// The last lines of its stderr.
    last_lines: Mutex<VecDeque<String>>,
}

pub(super) struct ChildProcess {
    name: String,
    process: Mutex<std::process::Child>,
    next: AtomicU64,
    shared: Arc<ChildState>,
    environment: TargetEnvironment,
}

impl ChildProcess {
    fn start(
        program: &TargetProgram,
        environment: &TargetEnvironment,
        router: Router,
    ) -> Result<Self, TargetError> {
        let name = program.words[0].clone();
        let mut process = command(program, environment).spawn().map_err(|error| {
            let message = format!("`{name}` can't be started: {error}");
            TargetError::new(TargetErrorKind::Unreachable, message)
        })?;
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(TargetError::new(TargetErrorKind::Unreachable, "it has no pipes"));
        };
        let shared = Arc::new(ChildState::default());
        let (lines, outgoing) = bounded::<Vec<u8>>(MAX_QUEUED);
        // A separate thread writes, so that a program that does not read cannot block a caller.
        std::thread::spawn(move || {
            for line in outgoing {
                if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        *lock(&shared.lines) = Some(lines);
        let own = shared.clone();
        std::thread::spawn(move || own.read_stdout(stdout, router));
        let own = shared.clone();
        std::thread::spawn(move || own.read_stderr(stderr));
        Ok(Self {
            name,
            process: Mutex::new(process),
            next: AtomicU64::new(1),
            shared,
            environment: environment.clone(),
        })
    }

    /// Sends a message that gets no reply.
    pub(super) fn notify(&self, message: &Value) {
        self.shared.notify(message);
    }

    /// Sends a request with a new number and waits for its reply.
    pub(super) fn ask(
        &self,
        message: impl FnOnce(u64) -> Value,
        timeout: Duration,
    ) -> Result<Value, TargetError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = bounded(1);
        lock(&self.shared.waiting).insert(number, sender);
        let message_count = self.shared.message_count.load(Ordering::Relaxed);
        let until = Instant::now() + timeout;
        self.notify(&message(number));
        // The reader may have ended before the request was registered.
        if self.has_ended() {
            lock(&self.shared.waiting).remove(&number);
        }
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match answer.recv_timeout(left.min(POLL_INTERVAL)) {
                Ok(answered) => return answered,
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) if self.environment.is_over() => {
                    lock(&self.shared.waiting).remove(&number);
                    return Err(cancelled());
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    lock(&self.shared.waiting).remove(&number);
                    // It has sent nothing since: it hangs, and would hang for other requests too.
                    if self.shared.message_count.load(Ordering::Relaxed) == message_count {
                        self.end(Duration::ZERO);
                    }
                    let message = format!("no answer of `{}` in {timeout:?}", self.name);
                    return Err(TargetError::new(TargetErrorKind::Timeout, message));
                }
                Err(RecvTimeoutError::Timeout) => (),
            }
        }
    }

    fn has_ended(&self) -> bool {
        self.shared.has_ended.load(Ordering::SeqCst)
    }

    /// The error for a program that ended, with its last stderr lines.
    fn ended(&self) -> TargetError {
        // The last stderr lines may arrive shortly after the exit.
        std::thread::sleep(Duration::from_millis(20));
        let stderr: Vec<String> = lock(&self.shared.last_lines).iter().cloned().collect();
        let stderr =
            if stderr.is_empty() { "it said nothing".to_owned() } else { stderr.join(" / ") };
        let status = lock(&self.process).try_wait().ok().flatten();
        let status = status.map_or("ended".to_owned(), |status| format!("ended with {status}"));
        let message = format!("`{}` {status}: {stderr}", self.name);
        TargetError::new(TargetErrorKind::Unreachable, message)
    }

    /// Closes the input, waits up to `grace`, then kills the program.
    fn end(&self, grace: Duration) {
        self.shared.has_ended.store(true, Ordering::SeqCst);
        drop(lock(&self.shared.lines).take());
        let mut process = lock(&self.process);
        let until = Instant::now() + grace;
        while Instant::now() < until {
            if let Ok(Some(_)) = process.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // A failed kill cannot be handled further.
        let _ = process.kill();
        let _ = process.wait();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.end(EXIT_GRACE);
    }
}

impl ChildState {
    fn notify(&self, message: &Value) {
        if let Some(lines) = &*lock(&self.lines) {
            // If the writer has ended, the reader or the timeout reports it to the caller.
            let _ = lines.try_send(line(message));
        }
    }

    /// Reads messages until the output ends, and hands each to the caller that waits for it.
    fn read_stdout(&self, stdout: ChildStdout, router: Router) {
        let mut reader = BufReader::new(stdout);
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            let read = (&mut reader).take(LONGEST_LINE + 1).read_until(b'\n', &mut buffer);
            if !matches!(read, Ok(1..)) {
                break;
            }
            if buffer.len() as u64 > LONGEST_LINE {
                self.fail("a line is longer than what is read");
                break;
            }
            if buffer.trim_ascii().is_empty() {
                continue;
            }
            self.message_count.fetch_add(1, Ordering::Relaxed);
            match serde_json::from_slice(&buffer) {
                Ok(message) => self.take(message, router),
                Err(error) => {
                    let line = String::from_utf8_lossy(&buffer);
                    // Passwords are hidden before truncation: half a password would not be
                    // recognised.
                    let start: String = without_passwords(&line).chars().take(80).collect();
                    self.fail(&format!("a line is not JSON: {error}; it begins with {start:?}"));
                }
            }
        }
        self.has_ended.store(true, Ordering::SeqCst);
        // Dropping the senders tells the waiting callers that no reply will come.
        lock(&self.waiting).clear();
    }

    fn take(&self, message: Value, router: Router) {
        match router(&message) {
            Route::Answer(number) => {
                // A reply after the timeout has no waiting caller.
                if let Some(waiting) = lock(&self.waiting).remove(&number) {
                    let _ = waiting.send(Ok(message));
                }
            }
            Route::Reply(reply) => self.notify(&reply),
            Route::Pass => (),
        }
    }

    /// Fails all waiting callers: the broken line may have been any of their replies.
    fn fail(&self, why: &str) {
        for (_, waiting) in lock(&self.waiting).drain() {
            let _ = waiting.send(Err(TargetError::malformed(why)));
        }
    }

    fn read_stderr(&self, stderr: ChildStderr) {
        let mut reader = BufReader::new(stderr);
        let mut buffer = Vec::new();
        while let Ok(1..) = (&mut reader).take(1 << 16).read_until(b'\n', &mut buffer) {
            let text = String::from_utf8_lossy(&buffer).trim().to_owned();
            buffer.clear();
            if text.is_empty() {
                continue;
            }
            let mut last_lines = lock(&self.last_lines);
            last_lines.push_back(text.chars().take(300).collect());
            if last_lines.len() > LAST_LINES {
                last_lines.pop_front();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// The command in its directory; a program given by a path is relative to that directory.
fn command(program: &TargetProgram, environment: &TargetEnvironment) -> Command {
    let TargetProgram { words, dir, env } = program;
    let dir = dir.as_ref().map_or_else(|| environment.dir.clone(), |dir| environment.path(dir));
    let name = if words[0].contains('/') { dir.join(&words[0]) } else { words[0].clone().into() };
    let mut command = Command::new(name);
    command.args(&words[1..]).current_dir(dir).envs(env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
