//! Violations, collected from many threads at once.

use std::sync::Mutex;

use anyhow::Result;
use gbrain_core::defect::reports_panic;

use gbrain_testkit::process::Output;

/// Everything that was found, in the order in which it was seen.
#[derive(Debug, Default)]
pub struct Violations(Mutex<Vec<String>>);

impl Violations {
    pub fn add(&self, text: impl Into<String>) {
        self.0.lock().expect("nobody panics while holding it").push(text.into());
    }

    /// Adds the error that stopped a thread.
    pub fn note(&self, who: &str, done: Result<()>) {
        if let Err(error) = done {
            self.add(format!("{who}: {error:#}"));
        }
    }

    /// Adds what is wrong with a process that should have done its work whole; whether it did.
    pub fn expect(&self, what: &str, output: &Output) -> bool {
        let complaint = output.complaint();
        if let Some(complaint) = &complaint {
            self.add(format!("{what} {complaint}"));
        }
        self.calm(what, &output.stderr);
        complaint.is_none()
    }

    /// Adds suspicious lines of a process's log, for any exit.
    pub fn calm(&self, what: &str, log: &str) {
        let is_alarm = |line: &&str| line.contains(" ERROR ") || reports_panic(line);
        log.lines().filter(is_alarm).for_each(|line| self.add(format!("{what} said: {line}")));
    }

    pub fn any(&self) -> bool {
        !self.0.lock().expect("nobody panics while holding it").is_empty()
    }

    pub fn into_list(self) -> Vec<String> {
        self.0.into_inner().expect("nobody panics while holding it")
    }
}
