//! `docs/configuration.md`: every key of `config.json`, every setting of the database and every environment variable.
//!
//! Keys, defaults and ranges of the settings in the database come from the tables in `gbrain-core`. The keys of
//! `config.json` and the environment variables are described here; the tests compare them with the sources, so that
//! neither a missing nor a superfluous entry passes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use gbrain_core::config::{ConfigValueType, KEYS};
use gbrain_core::search::Settings;
use serde_json::Value;

use super::{check_generated, root};

// The tables hold rows of the page as they are printed there: name, default, meaning, example.

const FILE_KEYS: &str = r#"
| `format` |  | the layout of the file; with `gbrain/1` an unknown key is an error, without it a warning | `"gbrain/1"` |
| `engine` | `sqlite` | `sqlite` or `postgres`; must agree with `database_url` | `"postgres"` |
| `database_url` | `brain.db` in the home | a PostgreSQL URL, or the path of an SQLite file | `"postgres://gbrain@db.example/gbrain"` |
| `embedder.path` | the built-in model | the directory of a sentence transformer (builds with `--features onnx`) | `"/models/gte-small"` |
| `embedder.runtime` |  | the ONNX Runtime library; required with `embedder.path` | `"/usr/lib/libonnxruntime.so"` |
| `embedder.model` | the built-in model | a remote embedding model ([models](models.md)); excludes `embedder.path` | `"voyage:voyage-3-large"` |
| `embedder.dims` |  | the length of its vectors, a multiple of 8; required with `embedder.model` | `1024` |
| `llm.timeout_seconds` | `120` | the timeout of one attempt to call a model, 1 to 3600 | `60` |
| `llm.attempts` | `4` | the attempts for one model call, 1 to 3600 | `2` |
| `llm.concurrency` | `8` | the model calls at a time, 1 to 3600 | `4` |
| `eval.capture` | `GBRAIN_CONTRIBUTOR_MODE` | whether queries are captured; takes precedence over the variable in both directions | `true` |
| `eval.scrub_pii` | `true` | whether personal data and secrets are removed from captures | `true` |
| `eval.scrub_patterns` | `[]` | regular expressions that are removed in addition ([scrubbing](scrubbing.md)) | `["CUST-[0-9]{6}"]` |
| `eval.sample_rate` | `1.0` | the share of requests that are captured, 0 to 1 | `0.1` |
| `eval.retention_days` | keep all | the number of days after which captures are erased | `90` |
| `eval.synthetic` | `false` | whether all captures come from made-up data, so that baselines of them may be published | `true` |
| `server.public_url` |  | the address of the server in alert messages; must begin with `http://` or `https://` | `"https://gbrain.example"` |
| `alerts.cooldown` | `"4h"` | the time until a channel is notified again of an alert that keeps firing | `"1h"` |
| `alerts.include_query_text` | `false` | whether alert messages contain the text of failing queries | `true` |
"#;

const PROVIDER_KEYS: &str = r#"
| `api` | that of the built-in provider | the API format: `anthropic`, `openai`, `openai-compatible`, `gemini`, `cohere`, `voyage` or `jina` | `"openai-compatible"` |
| `base_url` | that of the built-in provider | the address of the API | `"http://10.0.0.2:8000/v1"` |
| `key_env` | that of the built-in provider | the environment variable that holds the key | `"LAB_KEY"` |
| `key_file` |  | a file that holds the key; excludes `key_env` | `"/run/secrets/lab"` |
"#;

const TARGET_KEYS: &str = r#"
| `kind` | required | `http`, `mcp`, `command` or `run` | `"http"` |
| `api` | required for `http` | `lightfast-internal`, `lightfast-v1`, `lightfast-2026`, `gbrain` or `custom` | `"gbrain"` |
| `url` |  | the server of a ready API, or the whole address of a custom one | `"https://api.example.com"` |
| `path` | that of the API | another path on the server of a ready API | `"/v2/search"` |
| `method` | `POST` | `GET` or `POST` for a custom API | `"GET"` |
| `headers` | `{}` | headers that contain no secret | `{ "x-team": "search" }` |
| `headers_env` | `{}` | headers whose values are in environment variables | `{ "x-api-key": "SEARCH_KEY" }` |
| `key_env` |  | the environment variable that holds the key, sent as `authorization: Bearer` | `"PROD_KEY"` |
| `key_file` |  | a file that holds the key; excludes `key_env` | `"prod.key"` |
| `ca_file` | the system's | the only certificate authorities to trust, in PEM format | `"ca.pem"` |
| `params` | `{}` | the query parameters of a custom API, with placeholders | `{ "q": "{{query}}" }` |
| `body` |  | the body of a custom API, with placeholders | `{ "text": "{{query}}" }` |
| `response` |  | paths of the fields in a response of a custom API or MCP tool | `{ "results": "$.data[*]" }` |
| `mode_means` | `retrieval_mode` | the meaning of `mode` in `lightfast-internal`: `retrieval_mode` or `query_kind` | `"query_kind"` |
| `tier` |  | the search effort of `lightfast-2026`: `fast`, `balanced` or `thorough` | `"thorough"` |
| `command` |  | the program of a command or MCP server, with its arguments | `["gbrain", "mcp"]` |
| `cwd` | the directory of the file | the working directory of the program | `"/srv/search"` |
| `env` | `{}` | additional environment variables of the program | `{ "MODE": "test" }` |
| `tool` | `query` | the tool of an MCP server | `"search"` |
| `arguments` | those of `query` | the arguments of the tool, with placeholders | `{ "text": "{{query}}" }` |
| `file` | required for `run` | the file of a saved run | `"bm25.run"` |
| `queries` |  | the texts of the queries of a saved run, in BEIR's format | `"queries.jsonl"` |
| `ids` |  | how document ids become names: `field`, `strip_prefix`, and `source` or `source_of_result` | `{ "source": "wiki" }` |
| `workspace` |  | the workspace to search, as the target calls it | `"ws_1"` |
| `max_k` | that of the API | the largest number of results to request | `50` |
| `timeout_seconds` | `10` | the timeout of one attempt | `5` |
| `deadline_seconds` | `60` | the timeout of one query with all its attempts | `30` |
| `attempts` | `3` | the attempts for one query | `1` |
| `concurrency` | `8` | the queries at a time | `4` |
| `per_second` | no limit | the attempts per second | `20` |
"#;

const CHANNEL_KEYS: &str = r#"
| `kind` | required | `pagerduty`, `slack`, `webhook` or `email` | `"slack"` |
| `routing_key_env` | required for `pagerduty` | the environment variable that holds PagerDuty's routing key | `"PD_ROUTING_KEY"` |
| `url_env` | required for `slack` | the environment variable that holds the address of the Slack webhook | `"CHAT_WEBHOOK"` |
| `url` | required for `webhook` | the address of a webhook; for PagerDuty another address of the Events API | `"https://ops.example/gbrain"` |
| `secret_env` | required for `webhook` | the environment variable that holds the signing secret | `"GBRAIN_HOOK_SECRET"` |
| `host` | required for `email` | the mail server | `"smtp.example"` |
| `port` | `587` | the port of the mail server | `465` |
| `tls` | `starttls` | `starttls`, `tls` or `none` | `"tls"` |
| `username_env` |  | the environment variable that holds the user name of the mail server | `"SMTP_USER"` |
| `password_env` |  | the environment variable that holds the password of the mail server | `"SMTP_PASSWORD"` |
| `from` | required for `email` | the sender | `"gbrain@example.com"` |
| `to` | required for `email` | the receivers | `["ops@example.com"]` |
"#;

const VARIABLES: &str = r#"
| `GBRAIN_HOME` | `~/.gbrain` | the directory that holds the brain; `--home` takes precedence | `/var/lib/gbrain` |
| `DATABASE_URL` | `database_url` of `config.json` | a PostgreSQL URL, or the path of an SQLite file; `--database-url` takes precedence | `postgres://gbrain@db.example/gbrain` |
| `GBRAIN_WORKSPACE` | `default` | the workspace; `--workspace` takes precedence | `team-a` |
| `GBRAIN_CONTRIBUTOR_MODE` | off | `1` turns capture on unless `eval.capture` is set in `config.json` | `1` |
| `GBRAIN_AUDIT_DIR` | `audit/` in the home | the directory of audit logs | `/var/log/gbrain` |
| `GBRAIN_TOKEN_KEY` | `token.key` in the home | the key of API tokens, 64 hexadecimal digits; the same on all servers of a database | 64 digits |
| `GBRAIN_IDENTITY_KEY` | `identity.key` in the home | the key of page hashes in captures, 64 hexadecimal digits | 64 digits |
| `GBRAIN_BASELINE_KEY` | none | the key that signs baselines, at least 16 bytes; `--key-file` takes precedence; empty is an error | `openssl rand -hex 32` |
| `GBRAIN_MODEL` | none | the model of every task whose command and setting name none | `openai:gpt-5-mini` |
| `GBRAIN_LOG` | `info` | the log filter of `gbrain serve`, `worker` and `mcp` ([telemetry](telemetry.md)) | `info,gbrain_server=debug` |
| `GBRAIN_PAGER` | `PAGER` | the command that shows long output on a terminal; empty or `cat` for none | `less -S` |
| `PAGER` | `less` | used if `GBRAIN_PAGER` is not set | `more` |
| `LESS` | `FRX` | the options of `less` | `FRX` |
| `NO_COLOR` | off | any value turns colours off | `1` |
| `CLICOLOR_FORCE` | off | any value but `0` turns colours on where output is not a terminal | `1` |
| `HOME` |  | the parent of `.gbrain` if `GBRAIN_HOME` is not set | `/home/ada` |
| `PATH` |  | where programs of targets and hooks are looked up |  |
| `USER` | `unknown` | the author of incident notes and of changes to prompts | `ada` |
| `LOGNAME` | `unknown` | used by `eva` if neither `EVA_USER` nor `USER` is set | `ada` |
| `GITHUB_STEP_SUMMARY` | none | the file that `eval gate --github` appends its summary to; set by GitHub |  |
| `SSL_CERT_FILE` | built-in authorities | the certificate authorities to trust, in PEM format | `/etc/ssl/corp.pem` |
| `SSL_CERT_DIR` | built-in authorities | a directory of certificate authorities to trust | `/etc/ssl/certs` |
| `ANTHROPIC_API_KEY` | none | the key of the provider `anthropic` |  |
| `OPENAI_API_KEY` | none | the key of the provider `openai` |  |
| `GEMINI_API_KEY` | none | the key of the provider `google` |  |
| `COHERE_API_KEY` | none | the key of the provider `cohere` |  |
| `VOYAGE_API_KEY` | none | the key of the provider `voyage` |  |
| `JINA_API_KEY` | none | the key of the provider `jina` |  |
| `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` | none | the address that spans are sent to, used as it is | `http://127.0.0.1:4318/v1/traces` |
| `OTEL_EXPORTER_OTLP_ENDPOINT` | none | the base address of the collector; spans go to `/v1/traces` below it | `http://127.0.0.1:4318` |
| `OTEL_EXPORTER_OTLP_TRACES_HEADERS` | none | headers for spans: `name=value` pairs, percent-encoded | `x-key=abc` |
| `OTEL_EXPORTER_OTLP_HEADERS` | none | used if the variable for traces is not set | `x-key=abc` |
| `OTEL_SERVICE_NAME` | `gbrain` | the name of the service in spans | `gbrain-staging` |
| `OTEL_RESOURCE_ATTRIBUTES` | none | attributes of the service: `name=value` pairs, percent-encoded | `deployment.environment=staging` |
| `OTEL_SDK_DISABLED` | `false` | `true` turns spans off unless a flag names an endpoint | `true` |
| `OTEL_TRACES_EXPORTER` | `otlp` | `none` turns spans off unless a flag names an endpoint | `none` |
| `EVA_ROOT` | the nearest `prompts` here or above | the directory that holds the prompt library; `--root` takes precedence | `~/prompts` |
| `EVA_SEND_CMD` | `send` of `eva.yml` | the command that prompts are sent to | `claude -p` |
| `EVA_JUDGE_CMD` | `judge` of `eva.yml` | the command that judges outputs | `claude -p` |
| `EVA_USER` | `USER` | the name that is recorded with a change of a prompt's status | `ada` |
| `VISUAL` | `EDITOR` | the editor of `eva edit` | `code --wait` |
| `EDITOR` | `vi` | used if `VISUAL` is not set | `vim` |
"#;

/// Variables that `kick` and `eva` set for the commands and hooks they run.
const SET_FOR_HOOKS: &str = r#"
| `EVA_PROMPT_ID` |  | the id of the prompt | `greet` |
| `EVA_PROMPT_DIR` |  | the directory of the prompt | `/srv/prompts/greet` |
| `EVA_CASE` |  | the name of the case; empty without one | `happy-path` |
| `EVA_VAR_` |  | followed by a name: the value of the variable with this name | `EVA_VAR_name=Ada` |
| `EVA_VAR_FILE_` |  | followed by a name: a file with the value, where it is longer than 32 KiB | `/tmp/value` |
| `EVA_OUTPUT_FILE` |  | `verify.sh` only: the file with the model's output | `/tmp/output` |
| `EVA_MODEL` |  | the model that was chosen with `--model` or `meta.yml` | `claude-haiku-4-5` |
"#;

/// Variables of a build of gbrain, which a running program does not read.
const OF_BUILDS: [&str; 3] = ["GBRAIN_CODE", "CARGO_PKG_VERSION", "OUT_DIR"];

#[test]
fn the_configuration_reference_is_current() {
    let mut page = String::from(INTRODUCTION);
    page += "## config.json\n\n";
    page += FILE_TEXT;
    table(&mut page, "key", FILE_KEYS);
    page += "\n### `llm.providers.NAME`\n\nProviders of models ([models](models.md)).\n\n";
    table(&mut page, "key", PROVIDER_KEYS);
    page += "\n### `targets.NAME`\n\nRetrieval systems that can be measured ([targets](targets.md)).\n\n";
    table(&mut page, "key", TARGET_KEYS);
    page += "\n### `channels.NAME`\n\nReceivers of alerts ([alerts](alerts.md)).\n\n";
    table(&mut page, "key", CHANNEL_KEYS);
    page += DATABASE_TEXT;
    stored_settings(&mut page);
    page += "\n### Retrieval\n\nThe reason says why the default is what it is.\n\n";
    search_settings(&mut page);
    page += VARIABLE_TEXT;
    table(&mut page, "variable", VARIABLES);
    page += "\n### Set for commands and hooks of prompts\n\n`kick` and `eva` set these for `guard.sh`, `verify.sh` and the \
             model's command ([prompts](prompts.md)).\n\n";
    table(&mut page, "variable", SET_FOR_HOOKS);
    check_generated("configuration.md", &page);
}

const INTRODUCTION: &str = "\
# Configuration

With this page you can look up every setting of gbrain: the keys of `config.json`, the settings in the database and the
environment variables, each with its default, meaning and an example. It is generated from the sources. A flag takes
precedence over the environment, the environment over `config.json`, and `config.json` over the default.

```sh
export GBRAIN_HOME=$(mktemp -d)/home
gbrain init
cat > \"$GBRAIN_HOME/config.json\" <<'JSON'
{ \"format\": \"gbrain/1\", \"eval\": { \"capture\": true, \"retention_days\": 90 } }
JSON
gbrain config set search.pool 60          # a setting in the database
gbrain config get search.pool
gbrain config list                        # every setting with its value, default and reason
gbrain config unset search.pool
gbrain doctor --offline                   # checks the settings too
```

";

const FILE_TEXT: &str = "\
The file in the home that a process reads before it opens a database. Nested objects and dotted keys mean the same:
`\"eval\": { \"capture\": true }` is the key `eval.capture`. Secrets are never in the file: `*_env` keys name environment
variables.

";

const DATABASE_TEXT: &str = "
## Settings in the database

`gbrain config set KEY VALUE` changes them for one workspace; all processes use the new value with their next request.

### Models, money and scheduled work

";

const VARIABLE_TEXT: &str = "
A setting `search.source_weight.SOURCE`, or `search.source_weight.SOURCE::PREFIX`, multiplies the scores of a source or of a
part of it, from 0.5 to 2 (default 1): `gbrain config set search.source_weight.journal 0.8`.

## Environment variables

";

fn table(page: &mut String, name: &str, rows: &str) {
    write!(page, "| {name} | default | meaning | example |\n|---|---|---|---|{rows}").unwrap();
}

/// Writes the table of settings that are not numbers of the pipeline.
fn stored_settings(page: &mut String) {
    page.push_str("| key | default | meaning | example |\n|---|---|---|---|\n");
    for key in KEYS {
        let default = match key.default {
            "" => "none".to_owned(),
            default => format!("`{default}`"),
        };
        let example = match key.kind {
            ConfigValueType::Flag => "true",
            ConfigValueType::Usd => "2.50",
            ConfigValueType::Model if key.name.contains("rerank") => "cohere:rerank-v3.5",
            ConfigValueType::Model => "openai:gpt-5-mini",
            ConfigValueType::Share => "0.42",
            ConfigValueType::Days => "90",
        };
        writeln!(page, "| `{}` | {default} | {} | `{example}` |", key.name, key.reason).unwrap();
    }
}

/// Writes the table of the numbers of the pipeline; the example of each is the end of its range.
fn search_settings(page: &mut String) {
    page.push_str("| key | default | range | reason | example |\n|---|---|---|---|---|\n");
    for info in Settings::ALL {
        let (name, default, reason) = (info.name, info.default, info.reason);
        let (low, high) = (info.range.start(), info.range.end());
        let example = if default == *high { low } else { high };
        let example = format!("gbrain config set search.{name} {example}");
        writeln!(
            page,
            "| `search.{name}` | {default} | {low} to {high} | {reason} | `{example}` |"
        )
        .unwrap();
    }
}

#[test]
fn every_key_of_the_file_is_listed() {
    let source = fs::read_to_string(root().join("crates/cli/src/home.rs")).unwrap();
    let table = source.split("const FILE_KEYS").nth(1).unwrap().split("];").next().unwrap();
    let known = quoted(table.split(" = ").nth(1).unwrap(), |_| true);
    assert_eq!(names(FILE_KEYS), known);
    let source = fs::read_to_string(root().join("crates/llm/src/provider.rs")).unwrap();
    let fields =
        source.split("struct ProviderSettings {").nth(1).unwrap().split('}').next().unwrap();
    let known: BTreeSet<String> = fields
        .lines()
        .filter_map(|line| line.trim().split_once(':').map(|(name, _)| name.to_owned()))
        .collect();
    assert_eq!(names(PROVIDER_KEYS), known);
}

#[test]
fn every_key_of_targets_and_channels_is_listed() {
    let text = fs::read_to_string(root().join("docs/suites.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let keys = |value: &Value| -> Vec<String> {
        value["properties"].as_object().unwrap().keys().cloned().collect()
    };
    let target: BTreeSet<String> = keys(&schema["$defs"]["Target"]).into_iter().collect();
    assert_eq!(names(TARGET_KEYS), target);
    let kinds = schema["$defs"]["AlertChannel"]["oneOf"].as_array().unwrap();
    let channel: BTreeSet<String> = kinds.iter().flat_map(keys).collect();
    assert_eq!(names(CHANNEL_KEYS), channel);
}

/// Every string in the product's sources that looks like one of our variables, or is read as a variable, is listed.
#[test]
fn every_environment_variable_is_listed() {
    let mut found = BTreeSet::new();
    for name in [
        "core", "embed", "store", "index", "net", "llm", "brain", "eval", "prompts", "server",
        "cli",
    ] {
        collect_variables(&root().join("crates").join(name).join("src"), &mut found);
    }
    let mut listed = names(VARIABLES);
    listed.extend(names(SET_FOR_HOOKS));
    let missing: Vec<&String> = found.difference(&listed).collect();
    assert!(
        missing.is_empty(),
        "environment variables that docs/configuration.md does not list: {missing:?}"
    );
    let ours = |name: &&String| {
        ["GBRAIN_", "EVA_", "KICK_", "OTEL_"].iter().any(|own| name.starts_with(own))
    };
    let superfluous: Vec<&String> =
        listed.iter().filter(ours).filter(|name| !found.contains(*name)).collect();
    assert!(
        superfluous.is_empty(),
        "docs/configuration.md lists variables that nothing reads: {superfluous:?}"
    );
}

/// Adds the variables that the sources below a directory name.
fn collect_variables(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_variables(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            // Unit tests name variables of their own.
            let product = source.split("#[cfg(test)]\nmod tests").next().unwrap();
            found.extend(quoted(product, is_variable));
        }
    }
    for build in OF_BUILDS {
        found.remove(build);
    }
}

/// Whether a string is the name of an environment variable of gbrain, of a provider or of OpenTelemetry.
fn is_variable(text: &str) -> bool {
    let is_name = text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let begins = ["GBRAIN_", "EVA_", "KICK_", "OTEL_", "SSL_CERT_", "GITHUB_", "DATABASE_URL"];
    // The prefix by which all variables of OpenTelemetry are collected names none of them.
    let is_prefix = text == "OTEL_";
    is_name
        && !is_prefix
        && (begins.iter().any(|begin| text.starts_with(begin)) || text.ends_with("_API_KEY"))
}

/// The strings between quotation marks, up to a `{` where a name is completed.
fn quoted(source: &str, is_wanted: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let parts = source.split('"').map(|part| part.split('{').next().unwrap_or_default());
    let parts = parts.filter(|part| !part.is_empty() && !part.contains(char::is_whitespace));
    parts.filter(|part| *part != ",").filter(|part| is_wanted(part)).map(str::to_owned).collect()
}

/// The names in the first column.
fn names(rows: &str) -> BTreeSet<String> {
    rows.trim().lines().map(|row| row.split('`').nth(1).unwrap().to_owned()).collect()
}
