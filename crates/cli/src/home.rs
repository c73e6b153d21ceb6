//! Where things live, and what the file plane says: flag, environment, file, default, in this order.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gbrain_brain::atomic::AtomicFile;
use gbrain_core::id::WorkspaceId;
use gbrain_core::search::edit_distance;
use gbrain_store::{Location, masked_url};
use serde_json::{Map, Value};

use crate::error::CliError;

/// Keys that a process reads before it opens a database: they live in `config.json` only.
pub(crate) const FILE_KEYS: [&str; 19] = [
    "format",
    "engine",
    "database_url",
    "embedder.path",
    "embedder.runtime",
    "embedder.model",
    "embedder.dims",
    "llm.timeout_seconds",
    "llm.attempts",
    "llm.concurrency",
    "eval.capture",
    "eval.scrub_pii",
    "eval.scrub_patterns",
    "eval.sample_rate",
    "eval.retention_days",
    "eval.synthetic",
    "server.public_url",
    "alerts.cooldown",
    "alerts.include_query_text",
];

/// Where the store is; may hold a password.
pub(crate) const DATABASE_URL: &str = "database_url";

/// Whoever can be asked for models, each under a name of its own.
pub(crate) const PROVIDERS: &str = "llm.providers";

/// Whatever can be measured beside the local brain, each under a name of its own.
pub(crate) const TARGETS: &str = "targets";

/// Whoever can be told of alerts, each under a name of its own.
pub(crate) const CHANNELS: &str = "channels";

/// What `config.json` says under `format` when we wrote it: then an unknown key is a mistake.
const OUR_FORMAT: &str = "gbrain/1";

/// The environment, as far as it matters; an argument, so that tests need not change the process.
#[derive(Debug, Default, Clone)]
pub(crate) struct Environment {
    pub(crate) gbrain_home: Option<OsString>,
    pub(crate) home: Option<OsString>,
    pub(crate) database_url: Option<String>,
    pub(crate) workspace: Option<String>,
    pub(crate) contributor_mode: Option<String>,
    pub(crate) audit_dir: Option<OsString>,
    pub(crate) step_summary: Option<OsString>,
    pub(crate) token_key: Option<String>,
    pub(crate) identity_key: Option<String>,
    pub(crate) log: Option<String>,
    /// Every variable that begins with `OTEL_`.
    pub(crate) otel: BTreeMap<String, String>,
    /// Looks other variables up: those that hold keys of providers.
    pub(crate) variables: Variables,
}

/// Looks a variable up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variables(pub(crate) fn(&str) -> Option<String>);

impl Default for Variables {
    fn default() -> Self {
        Self(|_| None)
    }
}

impl Environment {
    /// The process's own.
    pub(crate) fn of_process() -> Self {
        let text = |name| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        Self {
            gbrain_home: std::env::var_os("GBRAIN_HOME").filter(|value| !value.is_empty()),
            home: std::env::var_os("HOME").filter(|value| !value.is_empty()),
            database_url: text("DATABASE_URL"),
            workspace: text("GBRAIN_WORKSPACE"),
            contributor_mode: std::env::var("GBRAIN_CONTRIBUTOR_MODE").ok(),
            audit_dir: std::env::var_os("GBRAIN_AUDIT_DIR").filter(|value| !value.is_empty()),
            step_summary: std::env::var_os("GITHUB_STEP_SUMMARY").filter(|value| !value.is_empty()),
            token_key: text("GBRAIN_TOKEN_KEY"),
            identity_key: text("GBRAIN_IDENTITY_KEY"),
            log: text("GBRAIN_LOG"),
            otel: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .filter(|(name, _)| name.starts_with("OTEL_"))
                .collect(),
            variables: Variables(|name| std::env::var(name).ok()),
        }
    }
}

/// Where a setting came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Flag,
    Environment(&'static str),
    File,
    Default,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Environment(name) => write!(f, "environment ({name})"),
            Self::File => f.write_str("config.json"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A brain's home directory and what its settings resolve to.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) dir: PathBuf,
    pub(crate) location: Location,
    pub(crate) location_origin: Origin,
    pub(crate) workspace: WorkspaceId,
    pub(crate) workspace_origin: Origin,
    /// What GBRAIN_CONTRIBUTOR_MODE says.
    pub(crate) contributor_mode: Option<String>,
    audit_dir: Option<PathBuf>,
    /// Where a CI job wants its summary.
    pub(crate) step_summary: Option<PathBuf>,
    /// The key of the tokens, as the environment gives it.
    pub(crate) token_key: Option<String>,
    /// The identity key, as the environment gives it.
    pub(crate) identity_key: Option<String>,
    /// What is logged, as the environment says.
    pub(crate) log: Option<String>,
    /// What the environment says of OpenTelemetry.
    pub(crate) otel: BTreeMap<String, String>,
    /// Looks keys of providers up.
    pub(crate) variables: Variables,
    /// The file plane, flattened to dotted keys.
    pub(crate) file: Map<String, Value>,
    /// Providers of models, as the file plane describes them.
    pub(crate) providers: Map<String, Value>,
    /// Targets, as the file plane describes them.
    pub(crate) targets: Map<String, Value>,
    /// Channels, as the file plane describes them.
    pub(crate) channels: Map<String, Value>,
    /// What the user should know about the file.
    pub(crate) warnings: Vec<String>,
    /// The flags that it was resolved from.
    flags: HomeFlags,
}

/// What was typed.
#[derive(Debug, Default, Clone)]
pub(crate) struct HomeFlags {
    pub(crate) home: Option<PathBuf>,
    pub(crate) database_url: Option<String>,
    pub(crate) workspace: Option<String>,
}

impl Home {
    /// Resolves flags, environment and file.
    pub(crate) fn resolve(flags: &HomeFlags, environment: &Environment) -> Result<Self, CliError> {
        let dir = directory(flags, environment)?;
        let FilePlane { file, providers, targets, channels, warnings } =
            read_file(&dir.join("config.json"))?;
        let (location, location_origin) = location(flags, environment, &file, &dir)?;
        let (workspace, workspace_origin) = workspace(flags, environment)?;
        Ok(Self {
            dir,
            location,
            location_origin,
            workspace,
            workspace_origin,
            contributor_mode: environment.contributor_mode.clone(),
            audit_dir: environment.audit_dir.clone().map(PathBuf::from),
            step_summary: environment.step_summary.clone().map(PathBuf::from),
            token_key: environment.token_key.clone(),
            identity_key: environment.identity_key.clone(),
            log: environment.log.clone(),
            otel: environment.otel.clone(),
            variables: environment.variables,
            file,
            providers,
            targets,
            channels,
            warnings,
            flags: flags.clone(),
        })
    }

    /// A command line for this brain, ready to be pasted: with the flags that were typed. What the environment says holds
    /// for it too. A password is not repeated.
    pub(crate) fn command_line(&self, arguments: &str) -> String {
        let HomeFlags { home, database_url, workspace } = &self.flags;
        let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
        let mut line = "gbrain".to_owned();
        if let Some(home) = home {
            line += &format!(" --home {}", quoted(&home.to_string_lossy()));
        }
        if let Some(url) = database_url {
            let url = if masked_url(url) == *url { quoted(url) } else { "<URL>".to_owned() };
            line += &format!(" --database-url {url}");
        }
        if let Some(workspace) = workspace {
            line += &format!(" --workspace {}", quoted(workspace));
        }
        format!("{line} {arguments}")
    }

    /// The file plane as it may be shown: without the password of the database.
    pub(crate) fn shown_file(&self) -> Map<String, Value> {
        let shown = |(key, value): (&String, &Value)| (key.clone(), shown_value(key, value));
        self.file.iter().map(shown).collect()
    }

    /// The file plane's path.
    pub(crate) fn config_path(&self) -> PathBuf {
        self.dir.join("config.json")
    }

    /// Where indexes live.
    pub(crate) fn index_dir(&self) -> PathBuf {
        self.dir.join("index")
    }

    /// Where the owner's own baselines live.
    pub(crate) fn baselines_dir(&self) -> PathBuf {
        self.dir.join("baselines")
    }

    /// Where records of runs live.
    pub(crate) fn runs_dir(&self) -> PathBuf {
        self.dir.join("runs")
    }

    /// Where receipts of judgements live.
    pub(crate) fn receipts_dir(&self) -> PathBuf {
        self.runs_dir().join("cross-modal")
    }

    /// Where what happened is written down.
    pub(crate) fn audit_dir(&self) -> PathBuf {
        self.audit_dir.clone().unwrap_or_else(|| self.dir.join("audit"))
    }

    /// Writes the file plane for a new home. An existing file is left alone.
    pub(crate) fn write_config(&self) -> Result<bool, CliError> {
        let path = self.config_path();
        if path.exists() {
            return Ok(false);
        }
        let (engine, url) = match &self.location {
            Location::Sqlite(path) if *path == self.dir.join("brain.db") => ("sqlite", None),
            Location::Sqlite(path) => ("sqlite", Some(path.to_string_lossy().into_owned())),
            Location::Postgres(url) => ("postgres", Some(url.clone())),
        };
        let mut config = serde_json::json!({ "format": OUR_FORMAT, "engine": engine });
        if let Some(url) = url {
            config["database_url"] = url.into();
        }
        let text = format!("{config:#}\n");
        write_private(&path, &text).map_err(|error| CliError::io(path.display(), &error))?;
        Ok(true)
    }

    /// Makes the home directory, for its owner only.
    pub(crate) fn create(&self) -> Result<(), CliError> {
        create_private(&self.dir).map_err(|error| CliError::io(self.dir.display(), &error))
    }
}

/// A value of the file plane as it may be shown.
pub(crate) fn shown_value(key: &str, value: &Value) -> Value {
    let below = key.strip_prefix(DATABASE_URL);
    match value {
        Value::String(url) if below == Some("") => masked_url(url).into(),
        Value::Null => Value::Null,
        _ if below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) => {
            "(not shown: not a database URL)".into()
        }
        value => value.clone(),
    }
}

/// Makes a directory for its owner only.
pub(crate) fn create_private(dir: &Path) -> std::io::Result<()> {
    gbrain_store::private::create_dir(dir)
}

/// Writes a file that only its owner may read, whole or not at all.
pub(crate) fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    private(path, text)?.replace(path)
}

/// The same, unless there is one.
pub(crate) fn write_private_new(path: &Path, text: &str) -> std::io::Result<()> {
    private(path, text)?.create_new(path)
}

fn private(path: &Path, text: &str) -> std::io::Result<AtomicFile> {
    use std::io::Write as _;
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = AtomicFile::create_in(dir)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

fn directory(flags: &HomeFlags, environment: &Environment) -> Result<PathBuf, CliError> {
    let named = flags.home.clone().or_else(|| environment.gbrain_home.clone().map(PathBuf::from));
    if let Some(dir) = named {
        return std::path::absolute(&dir).map_err(|error| CliError::io(dir.display(), &error));
    }
    match &environment.home {
        Some(home) => Ok(Path::new(home).join(".gbrain")),
        None => {
            Err(CliError::config("there is no home directory: neither GBRAIN_HOME nor HOME is set")
                .hint("set GBRAIN_HOME to the directory that holds the brain"))
        }
    }
}

fn location(
    flags: &HomeFlags,
    environment: &Environment,
    file: &Map<String, Value>,
    dir: &Path,
) -> Result<(Location, Origin), CliError> {
    let parse = |name: &str, url: &str| {
        Location::parse(url).map_err(|error| CliError::config(format!("{name}: {error}")))
    };
    if let Some(url) = &flags.database_url {
        return Ok((parse("--database-url", url)?, Origin::Flag));
    }
    if let Some(url) = &environment.database_url {
        return Ok((parse("DATABASE_URL", url)?, Origin::Environment("DATABASE_URL")));
    }
    let (engine, url) = (text_of(file, "engine")?, text_of(file, "database_url")?);
    let location = url.map(|url| parse("config.json: database_url", url)).transpose()?;
    match (engine, location) {
        (Some("postgres"), None) => {
            Err(CliError::config("config.json says engine `postgres` but has no database_url")
                .hint("add \"database_url\": \"postgres://user@host/database\""))
        }
        (Some("postgres"), Some(Location::Sqlite(_)))
        | (Some("sqlite"), Some(Location::Postgres(_))) => {
            Err(CliError::config("config.json: engine and database_url name different databases")
                .hint("correct one of them, or remove `engine`"))
        }
        (None | Some("postgres" | "sqlite"), Some(location)) => Ok((location, Origin::File)),
        (None, None) => Ok((Location::Sqlite(dir.join("brain.db")), Origin::Default)),
        (Some("sqlite"), None) => Ok((Location::Sqlite(dir.join("brain.db")), Origin::File)),
        (Some(engine), _) => {
            let message = format!("config.json: unknown engine `{engine}`");
            Err(CliError::config(message).hint("use `sqlite` or `postgres`"))
        }
    }
}

/// A setting of the file that is text; one that is not text is an error, not a default.
fn text_of<'a>(file: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, CliError> {
    match file.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        // Its value may hold a password.
        Some(_) => Err(CliError::config(format!("config.json: `{key}` is not text"))),
    }
}

fn workspace(
    flags: &HomeFlags,
    environment: &Environment,
) -> Result<(WorkspaceId, Origin), CliError> {
    if let Some(name) = &flags.workspace {
        return Ok((WorkspaceId::new(name)?, Origin::Flag));
    }
    if let Some(name) = &environment.workspace {
        return Ok((WorkspaceId::new(name)?, Origin::Environment("GBRAIN_WORKSPACE")));
    }
    Ok((WorkspaceId::default(), Origin::Default))
}

#[derive(Debug, Default)]
struct FilePlane {
    file: Map<String, Value>,
    providers: Map<String, Value>,
    targets: Map<String, Value>,
    channels: Map<String, Value>,
    warnings: Vec<String>,
}

fn read_file(path: &Path) -> Result<FilePlane, CliError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(FilePlane::default());
        }
        Err(error) => return Err(CliError::io(path.display(), &error)),
    };
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| CliError::config(format!("{} is not JSON: {error}", path.display())))?;
    let Value::Object(object) = value else {
        return Err(CliError::config(format!("{} is not a JSON object", path.display())));
    };
    let mut plane = FilePlane::default();
    plane.flatten("", &object);
    plane.warnings = check_keys(path, &plane.file)?;
    Ok(plane)
}

impl FilePlane {
    /// Takes keys in with dots between them; what has names of its own below stays whole.
    fn flatten(&mut self, prefix: &str, object: &Map<String, Value>) {
        for (key, value) in object {
            let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            match value {
                Value::Object(named) if key == PROVIDERS => self.providers.extend(named.clone()),
                Value::Object(named) if key == TARGETS => self.targets.extend(named.clone()),
                Value::Object(named) if key == CHANNELS => self.channels.extend(named.clone()),
                Value::Object(inner) => self.flatten(&key, inner),
                other => {
                    self.file.insert(key, other.clone());
                }
            }
        }
    }
}

/// In our own file an unknown key is an error; in one that another gbrain wrote, a warning.
fn check_keys(path: &Path, flat: &Map<String, Value>) -> Result<Vec<String>, CliError> {
    let ours = flat.get("format").and_then(Value::as_str) == Some(OUR_FORMAT);
    let unknown: Vec<&String> =
        flat.keys().filter(|key| !FILE_KEYS.contains(&key.as_str())).collect();
    if let (true, Some(key)) = (ours, unknown.first()) {
        let nearest =
            FILE_KEYS.iter().min_by_key(|known| edit_distance(known, key)).unwrap_or(&"engine");
        return Err(CliError::config(format!("{}: unknown key `{key}`", path.display()))
            .hint(format!("did you mean `{nearest}`?")));
    }
    Ok(unknown
        .iter()
        .map(|key| format!("{}: key `{key}` is not ours and is ignored", path.display()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home_with(config: &str) -> (tempfile::TempDir, HomeFlags) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.json"), config).unwrap();
        let flags = HomeFlags { home: Some(dir.path().to_owned()), ..HomeFlags::default() };
        (dir, flags)
    }

    #[test]
    fn a_flag_beats_the_environment_beats_the_file() {
        let (_dir, mut flags) =
            home_with(r#"{"engine":"postgres","database_url":"postgres://file/x"}"#);
        let mut environment = Environment::default();
        assert_eq!(Home::resolve(&flags, &environment).unwrap().location_origin, Origin::File);
        environment.database_url = Some("postgres://env/x".to_owned());
        let home = Home::resolve(&flags, &environment).unwrap();
        assert_eq!(home.location, Location::Postgres("postgres://env/x".to_owned()));
        flags.database_url = Some("postgres://flag/x".to_owned());
        assert_eq!(Home::resolve(&flags, &environment).unwrap().location_origin, Origin::Flag);
    }

    #[test]
    fn nothing_said_is_sqlite_in_the_home() {
        let environment = Environment { home: Some("/home/ada".into()), ..Environment::default() };
        let home = Home::resolve(&HomeFlags::default(), &environment).unwrap();
        assert_eq!(home.location, Location::Sqlite("/home/ada/.gbrain/brain.db".into()));
        assert_eq!(home.workspace, WorkspaceId::default());
    }

    #[test]
    fn unknown_keys_are_errors_in_our_file_and_warnings_in_others() {
        let (_dir, flags) = home_with(r#"{"format":"gbrain/1","databse_url":"x"}"#);
        let error = Home::resolve(&flags, &Environment::default()).unwrap_err();
        assert_eq!(error.hints, ["did you mean `database_url`?"]);
        let (_dir, flags) = home_with(r#"{"embedding_model":"x","eval":{"capture":true}}"#);
        let home = Home::resolve(&flags, &Environment::default()).unwrap();
        assert_eq!(home.warnings.len(), 1);
        let (_dir, flags) = home_with(
            r#"{"format":"gbrain/1","llm":{"providers":{"lab":{"base_url":"http://lab"}}}}"#,
        );
        let home = Home::resolve(&flags, &Environment::default()).unwrap();
        assert_eq!(home.providers["lab"]["base_url"], "http://lab");
        let (_dir, flags) = home_with(
            r#"{"format":"gbrain/1","targets":{"prod":{"kind":"run","file":"bm25.run"}}}"#,
        );
        let home = Home::resolve(&flags, &Environment::default()).unwrap();
        assert_eq!(home.targets["prod"]["file"], "bm25.run");
        let (_dir, flags) = home_with(r#"{"format":"gbrain/1","targets":3}"#);
        assert!(Home::resolve(&flags, &Environment::default()).is_err());
        let (_dir, flags) = home_with(r#"{"embedding_model":"x","eval":{"capture":true}}"#);
        let home = Home::resolve(&flags, &Environment::default()).unwrap();
        assert_eq!(home.file["eval.capture"], Value::Bool(true));
    }

    #[test]
    fn a_broken_file_is_an_error() {
        for config in [
            "{",
            "[]",
            "",
            r#"{"engine":"postgres"}"#,
            r#"{"engine":"mysql"}"#,
            r#"{"engine":"postgres","database_url":"brain.db"}"#,
            r#"{"engine":"sqlite","database_url":"postgres://h/d"}"#,
            r#"{"database_url":"mysql://h/d"}"#,
            r#"{"database_url":7}"#,
        ] {
            let (_dir, flags) = home_with(config);
            assert!(Home::resolve(&flags, &Environment::default()).is_err(), "{config:?}");
        }
    }

    #[test]
    fn no_home_is_an_error_with_a_remedy() {
        let error = Home::resolve(&HomeFlags::default(), &Environment::default()).unwrap_err();
        assert!(error.hints[0].contains("GBRAIN_HOME"));
    }
}
