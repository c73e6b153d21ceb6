//! Baselines: frozen rows under a hash. The rows that name the page are written anew and the file is sealed again, but
//! only a file whose seal was right before: an edited one stays refused.

use serde_json::{Map, Value};

use super::{CaptureErasure, ErasedPage};
use crate::baseline::{BaselineKey, ResealOutcome, reseal};

/// Whether a baseline can be used after the page was erased from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaselineSeal {
    /// Its hash, and its signature if it has one, are those of the rows as they are now.
    Renewed,
    /// It is refused: it was edited before, or it is signed and the key is not at hand.
    Broken,
}

/// A baseline without the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineErasure {
    pub text: String,
    /// Whether it can be used.
    pub seal: BaselineSeal,
}

impl ErasedPage {
    /// A baseline, or a file of captures, without the page. `is_own` says whether a row is of the page's workspace.
    /// `None` if no row names the page.
    pub fn erase_from_baseline(
        &self,
        text: &str,
        key: Option<&BaselineKey>,
        is_own: &dyn Fn(&Map<String, Value>) -> bool,
    ) -> Option<BaselineErasure> {
        let mut erased = String::with_capacity(text.len());
        let mut is_changed = false;
        for line in text.split_inclusive('\n') {
            match self.line(line, is_own) {
                Some(row) => {
                    is_changed = true;
                    erased.push_str(&row);
                    erased.push_str(&line[line.trim_end().len()..]);
                }
                None => erased.push_str(line),
            }
        }
        if !is_changed {
            return None;
        }
        Some(match reseal(text, &erased, key) {
            ResealOutcome::NoSeal => BaselineErasure { text: erased, seal: BaselineSeal::Renewed },
            ResealOutcome::Sealed(text) => BaselineErasure { text, seal: BaselineSeal::Renewed },
            ResealOutcome::Refused => BaselineErasure { text: erased, seal: BaselineSeal::Broken },
        })
    }

    fn line(&self, line: &str, is_own: &dyn Fn(&Map<String, Value>) -> bool) -> Option<String> {
        let Ok(Value::Object(mut row)) = serde_json::from_str(line.trim_start_matches('\u{feff}'))
        else {
            return None;
        };
        let is_erased = is_own(&row) && self.erase_from_capture(&mut row) == CaptureErasure::Erased;
        is_erased.then(|| Value::from(row).to_string())
    }
}
