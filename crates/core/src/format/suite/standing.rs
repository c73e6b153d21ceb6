//! Compares a registered suite with the suites file, and resolves an entry of the file for a
//! workspace.

use super::{SuiteEntry, SuiteFile, ThresholdsEntry};
use crate::named;

named! {
    /// How a registered suite differs from the suites file.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Drift {
        /// The file defines it differently.
        Differs = "differs",
        /// The file does not define it.
        NotInFile = "not_in_file",
    }
}

impl Drift {
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Differs => "differs from the file",
            Self::NotInFile => "not in the file",
        }
    }
}

impl SuiteFile {
    /// The entry for a workspace, with the thresholds of the file and of the workspace below its
    /// own.
    pub fn standing(&self, entry: &SuiteEntry, workspace: &str) -> SuiteEntry {
        let own = self.workspaces.get(workspace);
        let layers = [self.thresholds.as_ref(), own, entry.thresholds.as_ref()];
        let mut thresholds = ThresholdsEntry::default();
        for layer in layers.into_iter().flatten().cloned() {
            thresholds.all.extend(layer.all);
            for (mode, rows) in layer.modes {
                thresholds.modes.entry(mode).or_default().extend(rows);
            }
        }
        let is_any = thresholds != ThresholdsEntry::default();
        SuiteEntry { thresholds: is_any.then_some(thresholds), ..entry.clone() }
    }

    /// How a registered suite of a workspace differs from this file. Different spellings of the
    /// same value do not differ.
    pub fn drift(&self, kept: &SuiteEntry, workspace: &str) -> Option<Drift> {
        let Some(entry) = self.find(&kept.name, workspace) else { return Some(Drift::NotInFile) };
        let described = self.standing(entry, workspace);
        let is_same = match (described.suite(), kept.suite()) {
            (Ok(described), Ok(kept)) => described == kept,
            _ => described == *kept,
        };
        (!is_same).then_some(Drift::Differs)
    }

    /// The suite of this name in a workspace: its own, else the one for every workspace.
    pub fn find(&self, name: &str, workspace: &str) -> Option<&SuiteEntry> {
        let of = |wanted: &str| {
            let is_it = |entry: &&SuiteEntry| {
                entry.name == name && entry.workspace.as_deref().unwrap_or("default") == wanted
            };
            self.suites.iter().find(is_it)
        };
        of(workspace).or_else(|| of("*"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::measure::SuiteMeasure;

    #[test]
    fn a_suite_takes_its_thresholds_with_it() {
        let file = SuiteFile::parse(
            "thresholds: { all: { recall@5: { target: 90%, alert: 80% }, recall@10: { target: 91%, alert: 81% } } }\n\
             workspaces: { team-a: { all: { recall@5: { target: 70%, alert: 60% } } } }\n\
             suites: [{ name: s, type: smoke, workspace: '*', owners: [x] }, { name: s, type: smoke, workspace: team-b, owners: [y] }]\n",
        )
        .unwrap();
        let entry = file.find("s", "team-a").unwrap();
        let suite = file.standing(entry, "team-a").suite().unwrap();
        let target = |measure| format!("{:?}", suite.thresholds.of(measure, None).unwrap().bound);
        assert!(
            target(SuiteMeasure::RecallAt5).contains("7000"),
            "{}",
            target(SuiteMeasure::RecallAt5)
        );
        assert!(target(SuiteMeasure::RecallAt10).contains("9100"));
        assert_eq!(file.find("s", "team-b").unwrap().owners, ["y"]);
        assert_eq!(file.find("t", "team-b"), None);
    }
    #[test]
    fn registered_suites_are_compared_with_the_file() {
        let file = |more: &str| {
            let text = format!("suites: [{{ name: s, type: smoke, owners: [x]{more} }}]\n");
            SuiteFile::parse(&text).unwrap()
        };
        let was = file("");
        let kept = was.standing(&was.suites[0], "default");
        let check = |now: &SuiteFile, expected| assert_eq!(now.drift(&kept, "default"), expected);
        check(&was, None);
        check(&file(", target: local, max_duration: 300s"), None);
        check(&file(", target: prod"), Some(Drift::Differs));
        check(&file(", alerts: { page: [pd] }"), Some(Drift::Differs));
        check(&SuiteFile::default(), Some(Drift::NotInFile));
        let mut thresholds = file("");
        thresholds.workspaces = SuiteFile::parse(
            "workspaces: { default: { all: { recall@5: { target: 70%, alert: 60% } } } }",
        )
        .unwrap()
        .workspaces;
        check(&thresholds, Some(Drift::Differs));
    }
}
