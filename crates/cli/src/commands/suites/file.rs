//! The file of suites: where it is, and what is in it.

use std::path::{Path, PathBuf};

use gbrain_core::format::suite::{Drift, SuiteEntry, SuiteFile};
use gbrain_core::id::WorkspaceId;
use gbrain_core::reading::suggest::nearest;
use gbrain_core::target::LOCAL;
use gbrain_eval::suite::drift;
use gbrain_store::Store;

use crate::commands::CommandContext;
use crate::error::CliError;
use crate::home::{Home, SettingOrigin};

/// The names that are looked for in the home, in this order.
const NAMES: [&str; 2] = ["suites.yaml", "braintrust_suites.yaml"];

/// Where suites are described.
#[derive(Debug, Clone)]
pub(crate) struct SuiteSource {
    /// The path of the suites file.
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

    /// The parsed content of the file.
    pub(crate) fn read(&self) -> Result<Option<SuiteFile>, CliError> {
        let Some(text) = self.text()? else { return Ok(None) };
        let file = SuiteFile::parse(&text).map_err(|error| {
            CliError::config(format!("{}: {error}", self.path.display()))
                .hint("`gbrain suites validate` says everything that is wrong with it")
        })?;
        Ok(Some(file))
    }
}

/// A suite that a name resolves to, and its workspace.
pub(super) struct ResolvedSuite {
    /// The workspace of the suite.
    pub(super) workspace: WorkspaceId,
    /// The suite with the defaults of its file applied.
    pub(super) entry: SuiteEntry,
}

/// The suite of a name: as the file has it, else as it is registered.
pub(super) fn meant(
    context: &CommandContext<'_>,
    store: &Store,
    file: Option<&SuiteFile>,
    name: &str,
) -> Result<ResolvedSuite, CliError> {
    let own = &context.home.workspace;
    let described = file.and_then(|file| {
        let found = file.find(name, own.as_str());
        // Without a workspace from the command line or the environment, the suite's own is used.
        let is_said = context.home.workspace_origin != SettingOrigin::Default;
        let any = || file.suites.iter().find(|entry| entry.name == name);
        found.or_else(|| any().filter(|_| !is_said)).map(|entry| (file, entry))
    });
    if let Some((file, entry)) = described {
        let workspace = match entry.workspace.as_deref() {
            None if context.home.workspace_origin == SettingOrigin::Default => {
                WorkspaceId::default()
            }
            Some(named) if named != "*" => WorkspaceId::new(named)?,
            _ => own.clone(),
        };
        let entry = file.standing(entry, workspace.as_str());
        return Ok(ResolvedSuite { workspace, entry });
    }
    let Some(stored) = store.suite(own, name)? else {
        let of_file = file.map(|file| file.suites.as_slice()).unwrap_or_default();
        let mut known: Vec<String> = of_file.iter().map(|entry| entry.name.clone()).collect();
        known.extend(store.suites(own)?.into_iter().map(|suite| suite.name));
        known.sort();
        known.dedup();
        let hint = match known.is_empty() {
            true => {
                "there are no suites yet: `gbrain suites create --help` shows how to create one"
                    .to_owned()
            }
            false => {
                let near = nearest(name, known.iter().map(String::as_str));
                let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
                format!("{near}the suites are {}", known.join(", "))
            }
        };
        let message = format!("unknown suite `{name}`: workspace {own} has none of this name");
        return Err(CliError::usage(message).hint(hint));
    };
    let entry = serde_json::from_str(&stored.spec)
        .map_err(|error| CliError::config(format!("suite `{name}` can't be read: {error}")))?;
    Ok(ResolvedSuite { workspace: own.clone(), entry })
}

/// The workspaces that a suite is for: its own, or all that there are.
pub(super) fn workspaces_of(
    store: &Store,
    meant: &ResolvedSuite,
) -> Result<Vec<WorkspaceId>, CliError> {
    if meant.entry.workspace.as_deref() != Some("*") {
        return Ok(vec![meant.workspace.clone()]);
    }
    Ok(store.workspaces()?.into_iter().map(|workspace| workspace.id).collect())
}

/// The remedy for a suite whose registered form differs from the file's.
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
    context: &CommandContext<'_>,
    store: &Store,
    file: Option<&SuiteFile>,
    meant: &ResolvedSuite,
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

/// Warns of an unknown target: the suite is stored, but can't run yet.
pub(super) fn tell_unknown_target(
    context: &CommandContext<'_>,
    file: Option<&SuiteFile>,
    meant: &ResolvedSuite,
) {
    let target = meant.entry.target.as_deref().unwrap_or(LOCAL);
    let is_known = target == LOCAL
        || context.home.targets.contains_key(target)
        || file.is_some_and(|file| file.targets.contains_key(target));
    if !is_known {
        context.terminal.warn(format!(
            "unknown target `{target}`: add it to `targets` in config.json or in the suites file \
             (docs/targets.md), then try `gbrain targets check {target}`"
        ));
    }
}
