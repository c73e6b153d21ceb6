//! A program that is sent lines of JSON and answers with lines of JSON, each with the number of what it
//! answers. It is started by the first question, and again when it has ended.
//!
//! Promises: questions may be under way at once; a program that ends, or writes what is no JSON, fails
//! those that wait for it at once; one that is silent past a question's time is ended, unless it answered
//! others meanwhile; it ends when this does, at the latest half a second after its input was closed.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use gbrain_core::address::without_passwords;
use gbrain_core::target::{Program, TargetError, TargetErrorKind};
use serde_json::Value;

use super::Surroundings;
use super::patience::cancelled;

/// The longest line that is read.
const LONGEST_LINE: u64 = super::http::LARGEST_ANSWER;
/// The last lines of a program's errors, which say why it ended.
const LAST_LINES: usize = 3;
/// Messages that wait for a program that does not read.
const MOST_WAITING: usize = 1_024;
/// How long a program may take to end by itself.
const FAREWELL: Duration = Duration::from_millis(500);
/// How often somebody's wish to stop is looked at.
const GLANCE: Duration = Duration::from_millis(50);

/// What is to be done with a message of the program.
pub(super) enum Route {
    /// It answers the question of this number.
    Answer(u64),
    /// It asks something itself, and this is the reply.
    Reply(Value),
    /// It says something that nobody asked.
    Pass,
}

/// Says what is to be done with a message.
pub(super) type Router = fn(&Value) -> Route;

/// Done with a program once it runs, before it is asked anything.
pub(super) type Greet<'a> = &'a dyn Fn(&Running, Duration) -> Result<(), TargetError>;

/// A program, running or not.
pub(super) struct Child {
    program: Program,
    surroundings: Surroundings,
    router: Router,
    running: Mutex<Option<Arc<Running>>>,
}

impl Child {
    pub(super) fn new(program: Program, surroundings: &Surroundings, router: Router) -> Self {
        Self { program, surroundings: surroundings.clone(), router, running: Mutex::default() }
    }

    /// The program as it runs, started and greeted if it does not.
    pub(super) fn running(
        &self,
        timeout: Duration,
        greet: Greet<'_>,
    ) -> Result<Arc<Running>, TargetError> {
        let mut kept = lock(&self.running);
        if let Some(running) = kept.as_ref().filter(|running| !running.has_ended()) {
            return Ok(running.clone());
        }
        *kept = None;
        let running = Arc::new(Running::start(&self.program, &self.surroundings, self.router)?);
        greet(&running, timeout)?;
        *kept = Some(running.clone());
        Ok(running)
    }
}

type Waiting = HashMap<u64, Sender<Result<Value, TargetError>>>;

/// What the threads of a running program share.
#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    heard: AtomicU64,
    has_ended: AtomicBool,
    /// Lines on their way to it; without, its input is closed.
    lines: Mutex<Option<Sender<Vec<u8>>>>,
    /// The last lines of its errors.
    said: Mutex<VecDeque<String>>,
}

pub(super) struct Running {
    name: String,
    process: Mutex<std::process::Child>,
    next: AtomicU64,
    shared: Arc<Shared>,
    surroundings: Surroundings,
}

impl Running {
    fn start(
        program: &Program,
        surroundings: &Surroundings,
        router: Router,
    ) -> Result<Self, TargetError> {
        let name = program.words[0].clone();
        let mut process = command(program, surroundings).spawn().map_err(|error| {
            let message = format!("`{name}` can't be started: {error}");
            TargetError::new(TargetErrorKind::Unreachable, message)
        })?;
        let pipes = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(TargetError::new(TargetErrorKind::Unreachable, "it has no pipes"));
        };
        let shared = Arc::new(Shared::default());
        let (lines, outgoing) = bounded::<Vec<u8>>(MOST_WAITING);
        // A program that does not read must not hold up whoever asks.
        std::thread::spawn(move || {
            for line in outgoing {
                if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        *lock(&shared.lines) = Some(lines);
        let own = shared.clone();
        std::thread::spawn(move || own.listen(stdout, router));
        let own = shared.clone();
        std::thread::spawn(move || own.overhear(stderr));
        Ok(Self {
            name,
            process: Mutex::new(process),
            next: AtomicU64::new(1),
            shared,
            surroundings: surroundings.clone(),
        })
    }

    /// Sends a message that nothing answers.
    pub(super) fn tell(&self, message: &Value) {
        self.shared.tell(message);
    }

    /// Sends a message with a number of its own, and waits for what answers it.
    pub(super) fn ask(
        &self,
        message: impl FnOnce(u64) -> Value,
        timeout: Duration,
    ) -> Result<Value, TargetError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = bounded(1);
        lock(&self.shared.waiting).insert(number, sender);
        let heard = self.shared.heard.load(Ordering::Relaxed);
        let until = Instant::now() + timeout;
        self.tell(&message(number));
        // The reader may have ended before the question was known to wait.
        if self.has_ended() {
            lock(&self.shared.waiting).remove(&number);
        }
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match answer.recv_timeout(left.min(GLANCE)) {
                Ok(answered) => return answered,
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
                Err(RecvTimeoutError::Timeout) if self.surroundings.is_over() => {
                    lock(&self.shared.waiting).remove(&number);
                    return Err(cancelled());
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    lock(&self.shared.waiting).remove(&number);
                    // It has not said a word since: it hangs, and will hang for others too.
                    if self.shared.heard.load(Ordering::Relaxed) == heard {
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

    /// Why it ended, as far as it said.
    fn ended(&self) -> TargetError {
        // Its last words may come a moment after its end.
        std::thread::sleep(Duration::from_millis(20));
        let said: Vec<String> = lock(&self.shared.said).iter().cloned().collect();
        let said = if said.is_empty() { "it said nothing".to_owned() } else { said.join(" / ") };
        let status = lock(&self.process).try_wait().ok().flatten();
        let status = status.map_or("ended".to_owned(), |status| format!("ended with {status}"));
        let message = format!("`{}` {status}: {said}", self.name);
        TargetError::new(TargetErrorKind::Unreachable, message)
    }

    /// Closes its input, waits so long, and then ends it.
    fn end(&self, farewell: Duration) {
        self.shared.has_ended.store(true, Ordering::SeqCst);
        drop(lock(&self.shared.lines).take());
        let mut process = lock(&self.process);
        let until = Instant::now() + farewell;
        while Instant::now() < until {
            if let Ok(Some(_)) = process.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // Nothing is left to do if it can't be ended.
        let _ = process.kill();
        let _ = process.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end(FAREWELL);
    }
}

impl Shared {
    fn tell(&self, message: &Value) {
        if let Some(lines) = &*lock(&self.lines) {
            // If nobody reads any more, whoever waits is told so by the reader, or by the clock.
            let _ = lines.try_send(line(message));
        }
    }

    /// Reads messages until there are none, and hands them to whoever waits.
    fn listen(&self, stdout: ChildStdout, router: Router) {
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
            self.heard.fetch_add(1, Ordering::Relaxed);
            match serde_json::from_slice(&buffer) {
                Ok(message) => self.take(message, router),
                Err(error) => {
                    let line = String::from_utf8_lossy(&buffer);
                    // Hidden before it is cut: half a password would not be known again.
                    let said: String = without_passwords(&line).chars().take(80).collect();
                    self.fail(&format!("a line is not JSON: {error}; it begins with {said:?}"));
                }
            }
        }
        self.has_ended.store(true, Ordering::SeqCst);
        // Whoever waits learns that nothing comes any more.
        lock(&self.waiting).clear();
    }

    fn take(&self, message: Value, router: Router) {
        match router(&message) {
            Route::Answer(number) => {
                // Nobody waits for an answer that comes too late.
                if let Some(waiting) = lock(&self.waiting).remove(&number) {
                    let _ = waiting.send(Ok(message));
                }
            }
            Route::Reply(reply) => self.tell(&reply),
            Route::Pass => (),
        }
    }

    /// Fails everybody who waits: nobody can tell whose answer it was.
    fn fail(&self, why: &str) {
        for (_, waiting) in lock(&self.waiting).drain() {
            let _ = waiting.send(Err(TargetError::malformed(why)));
        }
    }

    /// Keeps the last lines of its errors.
    fn overhear(&self, stderr: ChildStderr) {
        let mut reader = BufReader::new(stderr);
        let mut buffer = Vec::new();
        while let Ok(1..) = (&mut reader).take(1 << 16).read_until(b'\n', &mut buffer) {
            let text = String::from_utf8_lossy(&buffer).trim().to_owned();
            buffer.clear();
            if text.is_empty() {
                continue;
            }
            let mut said = lock(&self.said);
            said.push_back(text.chars().take(300).collect());
            if said.len() > LAST_LINES {
                said.pop_front();
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

/// The program in its directory; one that is named by a path is looked for from where the settings are.
fn command(program: &Program, surroundings: &Surroundings) -> Command {
    let Program { words, dir, env } = program;
    let dir = dir.as_ref().map_or_else(|| surroundings.dir.clone(), |dir| surroundings.path(dir));
    let name = if words[0].contains('/') { dir.join(&words[0]) } else { words[0].clone().into() };
    let mut command = Command::new(name);
    command.args(&words[1..]).current_dir(dir).envs(env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
