//! A suite that stands without its file: what the store keeps.

use super::{SuiteEntry, SuiteFile, ThresholdsEntry};

impl SuiteFile {
    /// A suite for a workspace, with the thresholds of the file and of the workspace below its own.
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

    /// The suite of a name that is meant in a workspace: its own, else the one of every workspace.
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
    use crate::suite::measure::Measure;

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
        assert!(target(Measure::RecallAt5).contains("7000"), "{}", target(Measure::RecallAt5));
        assert!(target(Measure::RecallAt10).contains("9100"));
        assert_eq!(file.find("s", "team-b").unwrap().owners, ["y"]);
        assert_eq!(file.find("t", "team-b"), None);
    }
}
