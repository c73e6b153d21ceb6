//! The home directory and its settings. A flag wins over the environment, config.json and the default, in
//! this order.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gbrain_brain::atomic::AtomicFile;
use gbrain_core::id::WorkspaceId;
use gbrain_core::search::edit_distance;
use gbrain_store::{Location, masked_url};
use serde_json::{Map, Value};

use crate::error::CliError;

/// The keys of `config.json`: settings that a process reads before it opens a database.
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

/// The key of the database URL, which may hold a password.
pub(crate) const DATABASE_URL: &str = "database_url";

/// The key of model providers by name.
pub(crate) const PROVIDERS: &str = "llm.providers";

/// The key of targets by name.
pub(crate) const TARGETS: &str = "targets";

/// The key of alert channels by name.
pub(crate) const CHANNELS: &str = "channels";

/// The `format` of a `config.json` that gbrain wrote: an unknown key in it is an error.
const OUR_FORMAT: &str = "gbrain/1";

/// The environment variables that gbrain reads. They are passed as an argument so that tests need not change
/// the process.
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
    /// Looks up other variables, such as API keys of providers.
    pub(crate) variables: Variables,
}

/// A function that looks up an environment variable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variables(pub(crate) fn(&str) -> Option<String>);

impl Default for Variables {
    fn default() -> Self {
        Self(|_| None)
    }
}

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn from_process() -> Self {
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
pub(crate) enum SettingOrigin {
    Flag,
    Environment(&'static str),
    File,
    Default,
}

impl std::fmt::Display for SettingOrigin {
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
    pub(crate) location_origin: SettingOrigin,
    pub(crate) workspace: WorkspaceId,
    pub(crate) workspace_origin: SettingOrigin,
    /// The value of GBRAIN_CONTRIBUTOR_MODE.
    pub(crate) contributor_mode: Option<String>,
    audit_dir: Option<PathBuf>,
    /// The file of GITHUB_STEP_SUMMARY.
    pub(crate) step_summary: Option<PathBuf>,
    /// The value of GBRAIN_TOKEN_KEY.
    pub(crate) token_key: Option<String>,
    /// The value of GBRAIN_IDENTITY_KEY.
    pub(crate) identity_key: Option<String>,
    /// The log filter of GBRAIN_LOG.
    pub(crate) log: Option<String>,
    /// The variables that begin with `OTEL_`.
    pub(crate) otel: BTreeMap<String, String>,
    pub(crate) variables: Variables,
    /// config.json, flattened to dotted keys.
    pub(crate) file: Map<String, Value>,
    /// Model providers by name, as in config.json.
    pub(crate) providers: Map<String, Value>,
    /// Targets by name, as in config.json.
    pub(crate) targets: Map<String, Value>,
    /// Alert channels by name, as in config.json.
    pub(crate) channels: Map<String, Value>,
    /// Warnings about config.json, such as ignored keys.
    pub(crate) warnings: Vec<String>,
    /// The flags that the home was resolved from.
    flags: HomeFlags,
}

/// The flags that locate the brain.
#[derive(Debug, Default, Clone)]
pub(crate) struct HomeFlags {
    pub(crate) home: Option<PathBuf>,
    pub(crate) database_url: Option<String>,
    pub(crate) workspace: Option<String>,
}

impl Home {
    /// Resolves the flags, the environment and config.json.
    pub(crate) fn resolve(flags: &HomeFlags, environment: &Environment) -> Result<Self, CliError> {
        let dir = directory(flags, environment)?;
        let ConfigFile { file, providers, targets, channels, warnings } =
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

    /// A command line for this brain that can be pasted into a shell: it repeats the flags of this call. A URL
    /// with a password is replaced by `<URL>`.
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

    /// config.json without the database password, for display.
    pub(crate) fn shown_file(&self) -> Map<String, Value> {
        let shown = |(key, value): (&String, &Value)| (key.clone(), shown_value(key, value));
        self.file.iter().map(shown).collect()
    }

    pub(crate) fn config_path(&self) -> PathBuf {
        self.dir.join("config.json")
    }

    pub(crate) fn index_dir(&self) -> PathBuf {
        self.dir.join("index")
    }

    /// The directory of the owner's baselines.
    pub(crate) fn baselines_dir(&self) -> PathBuf {
        self.dir.join("baselines")
    }

    /// The directory of run records.
    pub(crate) fn runs_dir(&self) -> PathBuf {
        self.dir.join("runs")
    }

    /// The directory of judgement receipts.
    pub(crate) fn receipts_dir(&self) -> PathBuf {
        self.runs_dir().join("cross-modal")
    }

    /// The directory of audit logs.
    pub(crate) fn audit_dir(&self) -> PathBuf {
        self.audit_dir.clone().unwrap_or_else(|| self.dir.join("audit"))
    }

    /// Writes config.json for a new home; returns whether it did. An existing file is not changed.
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

    /// Creates the home directory, readable by its owner only.
    pub(crate) fn create(&self) -> Result<(), CliError> {
        create_private(&self.dir).map_err(|error| CliError::io(self.dir.display(), &error))
    }
}

/// A value of config.json without the database password, for display.
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

/// Creates a directory that only its owner can read.
pub(crate) fn create_private(dir: &Path) -> std::io::Result<()> {
    gbrain_store::private::create_dir(dir)
}

/// Writes a file atomically, readable by its owner only.
pub(crate) fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    private_file(path, text)?.replace(path)
}

/// Like [`write_private`], but fails if the file exists.
pub(crate) fn write_private_new(path: &Path, text: &str) -> std::io::Result<()> {
    private_file(path, text)?.create_new(path)
}

fn private_file(path: &Path, text: &str) -> std::io::Result<AtomicFile> {
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
) -> Result<(Location, SettingOrigin), CliError> {
    let parse = |name: &str, url: &str| {
        Location::parse(url).map_err(|error| CliError::config(format!("{name}: {error}")))
    };
    if let Some(url) = &flags.database_url {
        return Ok((parse("--database-url", url)?, SettingOrigin::Flag));
    }
    if let Some(url) = &environment.database_url {
        return Ok((parse("DATABASE_URL", url)?, SettingOrigin::Environment("DATABASE_URL")));
    }
    let (engine, url) = (text_setting(file, "engine")?, text_setting(file, "database_url")?);
    let location = url.map(|url| parse("config.json: database_url", url)).transpose()?;
    match (engine, location) {
        (Some("postgres"), None) => {
            Err(CliError::config("config.json has engine `postgres` but no database_url")
                .hint("add \"database_url\": \"postgres://user@host/database\""))
        }
        (Some("postgres"), Some(Location::Sqlite(_)))
        | (Some("sqlite"), Some(Location::Postgres(_))) => {
            Err(CliError::config("config.json: engine and database_url name different databases")
                .hint("correct one of them, or remove `engine`"))
        }
        (None | Some("postgres" | "sqlite"), Some(location)) => Ok((location, SettingOrigin::File)),
        (None, None) => Ok((Location::Sqlite(dir.join("brain.db")), SettingOrigin::Default)),
        (Some("sqlite"), None) => Ok((Location::Sqlite(dir.join("brain.db")), SettingOrigin::File)),
        (Some(engine), _) => {
            let message = format!("config.json: unknown engine `{engine}`");
            Err(CliError::config(message).hint("use `sqlite` or `postgres`"))
        }
    }
}

/// A string of config.json. A value of another type is an error.
fn text_setting<'a>(file: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, CliError> {
    match file.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        // The value may hold a password, so it is not shown.
        Some(_) => Err(CliError::config(format!("config.json: `{key}` must be a string"))),
    }
}

fn workspace(
    flags: &HomeFlags,
    environment: &Environment,
) -> Result<(WorkspaceId, SettingOrigin), CliError> {
    if let Some(name) = &flags.workspace {
        return Ok((WorkspaceId::new(name)?, SettingOrigin::Flag));
    }
    if let Some(name) = &environment.workspace {
        return Ok((WorkspaceId::new(name)?, SettingOrigin::Environment("GBRAIN_WORKSPACE")));
    }
    Ok((WorkspaceId::default(), SettingOrigin::Default))
}

#[derive(Debug, Default)]
struct ConfigFile {
    file: Map<String, Value>,
    providers: Map<String, Value>,
    targets: Map<String, Value>,
    channels: Map<String, Value>,
    warnings: Vec<String>,
}

fn read_file(path: &Path) -> Result<ConfigFile, CliError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(ConfigFile::default());
        }
        Err(error) => return Err(CliError::io(path.display(), &error)),
    };
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| CliError::config(format!("{} is not JSON: {error}", path.display())))?;
    let Value::Object(object) = value else {
        return Err(CliError::config(format!("{} is not a JSON object", path.display())));
    };
    let mut config_file = ConfigFile::default();
    config_file.flatten("", &object);
    config_file.warnings = check_keys(path, &config_file.file)?;
    Ok(config_file)
}

impl ConfigFile {
    /// Flattens nested objects to dotted keys. Objects whose keys are user-chosen names stay whole.
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

/// An unknown key is an error in a file that gbrain wrote (`format`), and a warning in any other.
fn check_keys(path: &Path, flat: &Map<String, Value>) -> Result<Vec<String>, CliError> {
    let ours = flat.get("format").and_then(Value::as_str) == Some(OUR_FORMAT);
    let unknown: Vec<&String> =
        flat.keys().filter(|key| !FILE_KEYS.contains(&key.as_str())).collect();
    if let (true, Some(key)) = (ours, unknown.first()) {
        let error = CliError::config(format!("{}: unknown key `{key}`", path.display()));
        return Err(error.hint(unknown_key_hint(key, flat)));
    }
    Ok(unknown
        .iter()
        .map(|key| {
            let hint = stored_setting_hint(key, flat).map(|hint| format!("; {hint}"));
            let hint = hint.unwrap_or_default();
            format!("{}: unknown key `{key}` is ignored{hint}", path.display())
        })
        .collect())
}

/// The remedy for a key that config.json does not take.
fn unknown_key_hint(key: &str, flat: &Map<String, Value>) -> String {
    if let Some(hint) = stored_setting_hint(key, flat) {
        return hint;
    }
    let nearest =
        FILE_KEYS.iter().min_by_key(|known| edit_distance(known, key)).unwrap_or(&"engine");
    format!("did you mean `{nearest}`?")
}

/// The remedy for a setting that belongs in the database, such as `search.pool`.
fn stored_setting_hint(key: &str, flat: &Map<String, Value>) -> Option<String> {
    let is_stored = key.starts_with("search.") || gbrain_core::config::find(key).is_some();
    is_stored.then(|| {
        let value = flat.get(key).map(Value::to_string).unwrap_or_default();
        format!(
            "this setting is stored in the database: remove it here and run `gbrain config set {key} {value}`"
        )
    })
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
        assert_eq!(
            Home::resolve(&flags, &environment).unwrap().location_origin,
            SettingOrigin::File
        );
        environment.database_url = Some("postgres://env/x".to_owned());
        let home = Home::resolve(&flags, &environment).unwrap();
        assert_eq!(home.location, Location::Postgres("postgres://env/x".to_owned()));
        flags.database_url = Some("postgres://flag/x".to_owned());
        assert_eq!(
            Home::resolve(&flags, &environment).unwrap().location_origin,
            SettingOrigin::Flag
        );
    }

    #[test]
    fn the_default_is_sqlite_in_the_home() {
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
        let (_dir, flags) = home_with(r#"{"format":"gbrain/1","search":{"pool":60}}"#);
        let error = Home::resolve(&flags, &Environment::default()).unwrap_err();
        assert!(error.hints[0].contains("gbrain config set search.pool 60"), "{:?}", error.hints);
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
