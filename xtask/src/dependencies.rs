//! Checks the dependencies: licences, duplicates, unmaintained crates, advisories.
//!
//! The first three need nothing but cargo and are checked in every run. `cargo tree` lists what is really built on this
//! platform with all features, tests included. Known vulnerabilities need a copy of the RustSec database and a program
//! that reads it: where both are on the machine they are used, and where not the run says so.

mod accepted;
mod licence;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::cargo;
use accepted::{AcceptedDuplicate, DUPLICATES, LICENCES, UNMAINTAINED, UnmaintainedCrate};

const TREE: [&str; 9] = [
    "tree",
    "--workspace",
    "--all-features",
    "--locked",
    "--edges=normal,build,dev",
    "--prefix=none",
    "--charset=ascii",
    "--format={p}\t{l}",
    "--color=never",
];

/// A directory with a copy of the RustSec advisory database.
const DATABASE: &str = "GBRAIN_ADVISORY_DB";

/// A package of the graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    licence: String,
}

/// Whether known vulnerabilities were looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Advisories {
    Checked,
    /// They were not, and why.
    NotChecked(String),
}

/// Checks the graph; what is wrong with it is an error that lists everything.
pub(crate) fn check() -> Result<Advisories> {
    let packages = graph()?;
    let problems = problems(&packages);
    ensure!(
        problems.is_empty(),
        "the dependencies need a decision (xtask/src/dependencies/accepted.rs):\n  {}",
        problems.join("\n  ")
    );
    eprintln!("{} packages: licences, duplicates and maintenance are as accepted", packages.len());
    check_advisories()
}

/// Every package that is built here.
fn graph() -> Result<BTreeSet<Package>> {
    let output = cargo::command(&TREE).output().context("could not run `cargo tree`")?;
    ensure!(
        output.status.success(),
        "`cargo tree` failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    read(&String::from_utf8(output.stdout).context("`cargo tree` wrote no text")?)
}

/// Every problem that is not accepted.
fn problems(packages: &BTreeSet<Package>) -> Vec<String> {
    [
        wrong_licences(packages, &LICENCES),
        wrong_duplicates(packages, DUPLICATES),
        wrong_unmaintained(packages, UNMAINTAINED),
    ]
    .concat()
}

/// Reads lines such as `serde v1.0.0 (proc-macro)<tab>MIT OR Apache-2.0 (*)`.
fn read(tree: &str) -> Result<BTreeSet<Package>> {
    let mut packages = BTreeSet::new();
    for line in tree.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('[')) {
        let (package, licence) =
            line.split_once('\t').with_context(|| format!("`cargo tree` wrote {line:?}"))?;
        let mut words = package.split(' ');
        let (Some(name), Some(version)) = (words.next(), words.next()) else {
            bail!("`cargo tree` wrote {line:?}");
        };
        let licence = licence.trim_end().trim_end_matches("(*)").trim();
        packages.insert(Package {
            name: name.to_owned(),
            version: version.trim_start_matches('v').to_owned(),
            licence: licence.to_owned(),
        });
    }
    ensure!(!packages.is_empty(), "`cargo tree` listed no package");
    Ok(packages)
}

fn wrong_licences(packages: &BTreeSet<Package>, allowed: &[&str]) -> Vec<String> {
    let of = |package: &Package| {
        let Package { name, version, licence } = package;
        match licence::is_satisfied(licence, allowed) {
            Ok(true) => None,
            Ok(false) => Some(format!("{name} {version}: licence `{licence}` is not allowed")),
            Err(why) => Some(format!("{name} {version}: licence `{licence}`: {why}")),
        }
    };
    packages.iter().filter_map(of).collect()
}

/// The part of a version that marks incompatible releases: 1.x, 0.2.x, 0.0.3.
fn series(version: &str) -> String {
    let mut parts = version.split(['.', '-', '+']);
    let mut series = parts.next().unwrap_or_default().to_owned();
    while series.ends_with('0') && series.split('.').all(|part| part == "0") {
        let Some(part) = parts.next() else { break };
        series = format!("{series}.{part}");
    }
    series
}

/// Numbers for comparison of versions.
fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-', '+']).map_while(|part| part.parse().ok()).collect()
}

fn wrong_duplicates(packages: &BTreeSet<Package>, accepted: &[AcceptedDuplicate]) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<Vec<u64>>> = BTreeMap::new();
    let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for Package { name, version, .. } in packages {
        versions.entry(name).or_default().insert(numbers(version));
        found.entry(name).or_default().insert(series(version));
    }
    let mut problems = Vec::new();
    for (name, series_of) in &found {
        let newest = versions[name].last().map(|numbers| {
            series(&numbers.iter().map(u64::to_string).collect::<Vec<_>>().join("."))
        });
        let older: BTreeSet<&str> = series_of
            .iter()
            .map(String::as_str)
            .filter(|series| Some(*series) != newest.as_deref())
            .collect();
        let known: BTreeSet<&str> = accepted
            .iter()
            .filter(|entry| entry.name == *name)
            .flat_map(|entry| entry.older.iter().copied())
            .collect();
        for series in older.difference(&known) {
            problems.push(format!(
                "{name} {series} is built beside {}: `cargo tree -i {name}` says for whom; update it, or accept it \
                 with its reason",
                newest.as_deref().unwrap_or("another")
            ));
        }
    }
    problems.extend(stale_duplicates(&found, &versions, accepted));
    problems
}

/// Entries whose duplicate is gone: left in the list, they would accept it when it comes back.
fn stale_duplicates(
    found: &BTreeMap<&str, BTreeSet<String>>,
    versions: &BTreeMap<&str, BTreeSet<Vec<u64>>>,
    accepted: &[AcceptedDuplicate],
) -> Vec<String> {
    let mut problems = Vec::new();
    for AcceptedDuplicate { name, older, reason } in accepted {
        let series_of = found.get(name);
        for series in *older {
            let is_there = series_of.is_some_and(|series_of| series_of.contains(*series));
            let is_beside = versions.get(name).is_some_and(|versions| versions.len() > 1);
            if !is_there || !is_beside {
                problems.push(format!(
                    "{name} {series} is accepted as a duplicate ({reason}) and is none any more: remove the entry"
                ));
            }
        }
    }
    problems
}

fn wrong_unmaintained(packages: &BTreeSet<Package>, known: &[UnmaintainedCrate]) -> Vec<String> {
    let mut problems = Vec::new();
    for UnmaintainedCrate { name, since, source, accepted } in known {
        let used = packages.iter().find(|package| package.name == *name);
        match (used, accepted) {
            (Some(package), None) => problems.push(format!(
                "{name} {} is unmaintained since {since} ({source}): replace it, or accept it with a reason",
                package.version
            )),
            (None, Some(reason)) => problems.push(format!(
                "{name} is accepted although it is unmaintained ({reason}) and is not used any more: remove the reason"
            )),
            (Some(_), Some(_)) | (None, None) => (),
        }
    }
    problems
}

/// Looks known vulnerabilities up, if this machine can do it without the network.
fn check_advisories() -> Result<Advisories> {
    let Some(database) = database(env::var_os(DATABASE).map(PathBuf::from), env::home_dir()) else {
        return Ok(Advisories::NotChecked(format!(
            "there is no copy of the RustSec advisory database (set {DATABASE} to one)"
        )));
    };
    let Some(mut command) = advisory_command(&database) else {
        return Ok(Advisories::NotChecked(
            "neither cargo-audit nor cargo-deny is installed".to_owned(),
        ));
    };
    let status = command.status().with_context(|| format!("could not run {command:?}"))?;
    ensure!(status.success(), "a dependency has a known vulnerability, or {command:?} failed");
    Ok(Advisories::Checked)
}

/// The copy that the variable names, or one where cargo-audit or cargo-deny keep theirs. One that is named and not
/// there is used all the same, so that its absence is an error.
fn database(named: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let usual = || {
        let cargo = home?.join(".cargo");
        let is_database = |path: &PathBuf| path.join("crates").is_dir();
        let below = std::fs::read_dir(cargo.join("advisory-dbs")).into_iter().flatten().flatten();
        let all = [cargo.join("advisory-db")].into_iter().chain(below.map(|entry| entry.path()));
        all.into_iter().find(is_database)
    };
    named.or_else(usual)
}

fn advisory_command(database: &std::path::Path) -> Option<Command> {
    if cargo::has("audit") {
        let mut command = cargo::command(&["audit", "--no-fetch", "--stale", "--db"]);
        command.arg(database);
        return Some(command);
    }
    let deny = ["deny", "--offline", "check", "--disable-fetch", "advisories"];
    cargo::has("deny").then(|| cargo::command(&deny))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages(tree: &str) -> BTreeSet<Package> {
        read(tree).unwrap()
    }

    fn duplicate(name: &'static str, older: &'static [&'static str]) -> AcceptedDuplicate {
        AcceptedDuplicate { name, older, reason: "because" }
    }

    #[test]
    fn reads_what_cargo_writes() {
        let found = packages(
            "gbrain v0.1.0 (/x/crates/cli)\tMIT OR Apache-2.0\nserde v1.0.0\tMIT\nmac v2.0.0 (proc-macro)\tMIT (*)\n\
             bare v1.0.0\t\n\n[dev-dependencies]\nserde v1.0.0\tMIT (*)\n",
        );
        let of = |name: &str| found.iter().find(|package| package.name == name).unwrap();
        assert_eq!(found.len(), 4);
        assert_eq!(of("gbrain").licence, "MIT OR Apache-2.0");
        assert_eq!((of("mac").version.as_str(), of("mac").licence.as_str()), ("2.0.0", "MIT"));
        assert_eq!(of("bare").licence, "");
        assert!(read("").is_err());
        assert!(read("no tab").is_err());
    }

    #[test]
    fn a_licence_that_is_not_allowed_fails() {
        let tree = packages(
            "a v1.0.0\tMIT\nb v1.0.0\tGPL-3.0-only\nc v1.0.0\t\nd v1.0.0\tGPL-2.0 OR MIT\n",
        );
        let problems = wrong_licences(&tree, &["MIT"]);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("b 1.0.0") && problems[1].starts_with("c 1.0.0"));
    }

    #[test]
    fn versions_that_can_be_one_are_one_series() {
        for (version, expected) in [
            ("1.2.3", "1"),
            ("0.2.3", "0.2"),
            ("0.0.3", "0.0.3"),
            ("10.0.0", "10"),
            ("2.0.0-rc.1", "2"),
        ] {
            assert_eq!(series(version), expected, "{version}");
        }
    }

    #[test]
    fn a_new_duplicate_and_a_stale_entry_fail() {
        let tree = packages(
            "a v0.2.1\tMIT\na v0.10.0\tMIT\nb v1.0.0\tMIT\nb v2.1.0\tMIT\nc v3.0.0\tMIT\n",
        );
        let check = |accepted: &[AcceptedDuplicate], expected: &[&str]| {
            let problems = wrong_duplicates(&tree, accepted);
            assert_eq!(problems.len(), expected.len(), "{problems:?}");
            for (problem, start) in problems.iter().zip(expected) {
                assert!(problem.starts_with(start), "{problem}");
            }
        };
        check(&[duplicate("a", &["0.2"]), duplicate("b", &["1"])], &[]);
        check(&[duplicate("a", &["0.2"])], &["b 1 is built beside 2"]);
        check(&[], &["a 0.2 is built beside 0.10", "b 1 is built beside 2"]);
        let both = || vec![duplicate("a", &["0.2"]), duplicate("b", &["1"])];
        let and = |more| both().into_iter().chain([more]).collect::<Vec<_>>();
        check(&and(duplicate("c", &["3"])), &["c 3 is accepted"]);
        check(&and(duplicate("gone", &["1"])), &["gone 1 is accepted"]);
        check(&and(duplicate("a", &["0.1"])), &["a 0.1 is accepted"]);
    }

    #[test]
    fn an_unmaintained_crate_needs_a_reason_and_a_reason_needs_its_crate() {
        let entry =
            |name, accepted| UnmaintainedCrate { name, since: "2024-01-01", source: "X", accepted };
        let tree = packages("old v1.0.0\tMIT\n");
        assert_eq!(wrong_unmaintained(&tree, &[entry("old", None)]).len(), 1);
        assert_eq!(wrong_unmaintained(&tree, &[entry("old", Some("why"))]).len(), 0);
        assert_eq!(wrong_unmaintained(&tree, &[entry("other", None)]).len(), 0);
        assert_eq!(wrong_unmaintained(&tree, &[entry("other", Some("why"))]).len(), 1);
    }

    #[test]
    fn entries_are_complete() {
        for AcceptedDuplicate { name, older, reason } in DUPLICATES {
            assert!(!older.is_empty() && !reason.is_empty(), "{name}");
        }
        for UnmaintainedCrate { name, since, source, accepted } in UNMAINTAINED {
            assert!(since.len() == 10 && source.starts_with("RUSTSEC-"), "{name}");
            assert_ne!(*accepted, Some(""), "{name}");
        }
    }

    #[test]
    fn this_workspace_is_as_accepted() {
        let packages = graph().unwrap();
        assert!(packages.iter().any(|package| package.name == "gbrain-cli"), "{packages:?}");
        assert_eq!(problems(&packages), Vec::<String>::new());
    }

    #[test]
    fn a_database_is_found_where_it_is() {
        let home = tempfile::tempdir().unwrap();
        let own = Some(home.path().to_owned());
        assert_eq!(database(None, own.clone()), None);
        assert_eq!(database(None, None), None);
        assert_eq!(database(Some("/db".into()), own.clone()), Some("/db".into()));
        let below = home.path().join(".cargo/advisory-dbs/rustsec-1");
        std::fs::create_dir_all(below.join("crates")).unwrap();
        assert_eq!(database(None, own.clone()), Some(below));
        let usual = home.path().join(".cargo/advisory-db");
        std::fs::create_dir_all(usual.join("crates")).unwrap();
        assert_eq!(database(None, own), Some(usual));
    }
}
