//! The file of suites: where it is, and what is in it.

use std::path::{Path, PathBuf};

use gbrain_core::format::suite::{Drift, SuiteEntry, SuiteFile};
use gbrain_core::id::WorkspaceId;
use gbrain_core::target::LOCAL;
use gbrain_eval::suite::drift;
use gbrain_store::Store;

use crate::commands::Context;
use crate::error::CliError;
use crate::home::{Home, Origin};

/// The names that are looked for in the home, in this order.
const NAMES: [&str; 2] = ["suites.yaml", "braintrust_suites.yaml"];

/// Where suites are described.
#[derive(Debug, Clone)]
pub(crate) struct SuiteSource {
    /// The file.
    pub(super) path: PathBuf,
    is_typed: bool,
}

impl SuiteSource {
    /// The file that was typed, or that of the home.
    pub(crate) fn new(home: &Home, typed: Option<&Path>) -> Self {
        let in_home = |name: &&str| home.dir.join(name);
        let found = || NAMES.iter().map(&in_home).find(|path| path.exists());
        match typed {
            Some(path) => Self { path: path.to_owned(), is_typed: true },
            None => {
                let path = found().unwrap_or_else(|| in_home(&NAMES[0]));
                Self { path, is_typed: false }
            }
        }
    }

    /// Where it is, or would be.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Its text; none if there is no file and none was typed.
    pub(super) fn text(&self) -> Result<Option<String>, CliError> {
        match std::fs::read_to_string(&self.path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !self.is_typed => {
                Ok(None)
            }
            Err(error) => Err(CliError::io(self.path.display(), &error)),
        }
    }

    /// What is in it.
    pub(crate) fn read(&self) -> Result<Option<SuiteFile>, CliError> {
        let Some(text) = self.text()? else { return Ok(None) };
        let file = SuiteFile::parse(&text).map_err(|error| {
            CliError::config(format!("{}: {error}", self.path.display()))
                .hint("`gbrain suites validate` says everything that is wrong with it")
        })?;
        Ok(Some(file))
    }
}

/// A suite that is meant, and where.
pub(super) struct Meant {
    /// Whose.
    pub(super) workspace: WorkspaceId,
    /// As it stands without its file.
    pub(super) entry: SuiteEntry,
}

/// The suite of a name: as the file has it, else as it is registered.
pub(super) fn meant(
    context: &Context<'_>,
    store: &Store,
    file: Option<&SuiteFile>,
    name: &str,
) -> Result<Meant, CliError> {
    let own = &context.home.workspace;
    let described = file.and_then(|file| {
        let found = file.find(name, own.as_str());
        // Where nobody says which workspace, it is the suite's.
        let is_said = context.home.workspace_origin != Origin::Default;
        let any = || file.suites.iter().find(|entry| entry.name == name);
        found.or_else(|| any().filter(|_| !is_said)).map(|entry| (file, entry))
    });
    if let Some((file, entry)) = described {
        let workspace = match entry.workspace.as_deref() {
            None if context.home.workspace_origin == Origin::Default => WorkspaceId::default(),
            Some(named) if named != "*" => WorkspaceId::new(named)?,
            _ => own.clone(),
        };
        let entry = file.standing(entry, workspace.as_str());
        return Ok(Meant { workspace, entry });
    }
    let stored = store.suite(own, name)?.ok_or_else(|| {
        CliError::usage(format!("there is no suite `{name}` in workspace {own}"))
            .hint("`gbrain suites list` shows those there are; `gbrain suites create` makes one")
    })?;
    let entry = serde_json::from_str(&stored.spec)
        .map_err(|error| CliError::config(format!("suite `{name}` can't be read: {error}")))?;
    Ok(Meant { workspace: own.clone(), entry })
}

/// The workspaces that a suite is for: its own, or all that there are.
pub(super) fn workspaces_of(store: &Store, meant: &Meant) -> Result<Vec<WorkspaceId>, CliError> {
    if meant.entry.workspace.as_deref() != Some("*") {
        return Ok(vec![meant.workspace.clone()]);
    }
    Ok(store.workspaces()?.into_iter().map(|workspace| workspace.id).collect())
}

/// What to do about a suite that is registered otherwise than the file has it.
pub(super) fn take_over(name: &str, drift: Drift, enabled: bool) -> String {
    match (drift, enabled) {
        (Drift::Differs, true) => format!("`gbrain suites enable {name}` takes the file's over"),
        (Drift::Differs, false) => {
            format!("`gbrain suites create --from {name}` takes the file's over")
        }
        (Drift::NotInFile, _) => format!("`gbrain suites remove {name}` takes it out"),
    }
}

/// Remarks that what is run is not what the scheduler runs.
pub(super) fn tell_drift(
    context: &Context<'_>,
    store: &Store,
    file: Option<&SuiteFile>,
    meant: &Meant,
) -> Result<(), CliError> {
    let name = &meant.entry.name;
    let stored = store.suite(&meant.workspace, name)?.filter(|stored| stored.enabled);
    let Some((file, stored)) = file.zip(stored) else { return Ok(()) };
    if drift(file, &stored, &meant.workspace) == Some(Drift::Differs) {
        let what = take_over(name, Drift::Differs, stored.enabled);
        context.terminal.remark(format!(
            "this run is of the suite as the file has it; what is registered and enabled differs: {what}"
        ));
    }
    Ok(())
}

/// Warns of a target that nobody describes: the suite is kept, and can't be run yet.
pub(super) fn tell_unknown_target(context: &Context<'_>, file: Option<&SuiteFile>, meant: &Meant) {
    let target = meant.entry.target.as_deref().unwrap_or(LOCAL);
    let is_known = target == LOCAL
        || context.home.targets.contains_key(target)
        || file.is_some_and(|file| file.targets.contains_key(target));
    if !is_known {
        context.terminal.warn(format!(
            "nobody describes the target `{target}` yet: describe it under `targets` in config.json or in the \
             file of suites (docs/targets.md), then try `gbrain targets check {target}`"
        ));
    }
}
