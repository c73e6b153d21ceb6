//! What the brain may hold, given what it has acknowledged.

use std::collections::BTreeMap;

/// A page's text, or none when there is no page.
type State = Option<String>;

/// The states that every page may be in.
///
/// A write that was begun adds a state; one that was acknowledged leaves that state alone; what a
/// reader has seen is as good as acknowledged.
#[derive(Debug, Default)]
pub(super) struct Model {
    pages: BTreeMap<String, Vec<State>>,
}

/// How far the writes have come that were begun and not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Begun {
    /// Pages that are as they were.
    pub(super) old: usize,
    /// Pages that are as they were to become.
    pub(super) new: usize,
}

impl Model {
    /// A write was begun.
    pub(super) fn may_be(&mut self, page: &str, state: State) {
        let states = self.pages.entry(page.to_owned()).or_insert_with(|| vec![None]);
        if !states.contains(&state) {
            states.push(state);
        }
    }

    /// A write was acknowledged.
    pub(super) fn is(&mut self, page: &str, state: State) {
        self.pages.insert(page.to_owned(), vec![state]);
    }

    /// The pages that are certain to be there, with their texts.
    pub(super) fn certain(&self) -> Vec<(&str, &str)> {
        let certain = self.pages.iter().filter_map(|(page, states)| match states.as_slice() {
            [Some(text)] => Some((page.as_str(), text.as_str())),
            _ => None,
        });
        certain.collect()
    }

    /// The pages that may be there.
    pub(super) fn names(&self) -> Vec<String> {
        self.pages.keys().cloned().collect()
    }

    /// How far unacknowledged writes have come.
    pub(super) fn begun(&self, seen: &BTreeMap<String, String>) -> Begun {
        let undecided = self.pages.iter().filter(|(_, states)| states.len() > 1);
        let (new, old): (Vec<_>, Vec<_>) = undecided
            .partition(|(page, states)| states.last().and_then(Option::as_ref) == seen.get(*page));
        Begun { old: old.len(), new: new.len() }
    }

    /// Compares with what a reader sees, and believes it. Returns what should not be.
    pub(super) fn observe(&mut self, seen: &BTreeMap<String, String>) -> Vec<String> {
        let mut wrong = Vec::new();
        for page in seen.keys().filter(|page| !self.pages.contains_key(*page)) {
            wrong.push(format!("{page} is there, and nobody wrote it"));
        }
        for (page, states) in &mut self.pages {
            let state = seen.get(page).cloned();
            if !states.contains(&state) {
                wrong.push(complaint(page, state.as_deref(), states));
            }
            *states = vec![state];
        }
        wrong
    }
}

fn complaint(page: &str, seen: Option<&str>, states: &[State]) -> String {
    let size = |text: Option<&str>| {
        text.map_or_else(|| "gone".to_owned(), |text| format!("{} bytes", text.len()))
    };
    let allowed: Vec<String> = states.iter().map(|state| size(state.as_deref())).collect();
    format!("{page} is {}, and should be {}", size(seen), allowed.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pages: &[(&str, &str)]) -> BTreeMap<String, String> {
        pages.iter().map(|(page, text)| ((*page).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn acknowledged_writes_must_exist() {
        let mut model = Model::default();
        model.is("a", Some("one".to_owned()));
        assert_eq!(model.observe(&seen(&[])).len(), 1);
        model.is("a", Some("one".to_owned()));
        assert_eq!(model.observe(&seen(&[("a", "other")])).len(), 1);
        model.is("a", None);
        assert_eq!(model.observe(&seen(&[("a", "one")])).len(), 1);
    }

    #[test]
    fn an_unacknowledged_write_is_old_or_new_until_read() {
        let mut model = Model::default();
        model.is("a", Some("old".to_owned()));
        model.may_be("a", Some("new".to_owned()));
        assert!(model.certain().is_empty());
        assert!(model.observe(&seen(&[("a", "new")])).is_empty());
        assert_eq!(model.observe(&seen(&[("a", "old")])).len(), 1);
    }

    #[test]
    fn an_unwritten_page_is_reported() {
        assert_eq!(Model::default().observe(&seen(&[("a", "one")])).len(), 1);
    }
}
