//! Logs: one line per event, to stderr, as text or JSON.
//!
//! Guarantees: an event is always one line; fields with private names are replaced by
//! their length; passwords in URLs and tokens are masked everywhere. The fields of `tracing` spans
//! are added to their events under the same rules.
//!
//! Non-goals: files and rotation (redirect stderr), colours, and filters by field value.

mod line;
mod redact;

use std::fmt;
use std::io::Write;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use gbrain_core::clock::moment;
use gbrain_core::named;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_global_default;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use line::LogLine;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

named! { LogFormat { Text = "text", Json = "json" } }

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOptions {
    pub format: LogFormat,
    /// A level, or targets with levels: `info`, `warn,gbrain_server=debug`.
    pub filter: String,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self { format: LogFormat::Text, filter: "info".to_owned() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    #[error(
        "{part:?} is not a log filter; use a level (off, error, warn, info, debug, trace), or \
         a target with one, such as `warn,gbrain_server=debug`"
    )]
    Filter {
        /// The part of the filter that cannot be parsed.
        part: String,
    },
    /// Logging was already set up.
    #[error("logging is set up already")]
    Twice,
}

/// Sets up logging to `sink` for the whole process.
pub fn init(options: &LogOptions, sink: impl Write + Send + 'static) -> Result<(), LogError> {
    set_global_default(subscriber(options, sink)?).map_err(|_| LogError::Twice)
}

/// The subscriber that [`init`] installs.
pub fn subscriber(
    options: &LogOptions,
    sink: impl Write + Send + 'static,
) -> Result<impl Subscriber + Send + Sync, LogError> {
    let filter = filter(&options.filter)?;
    let lines = LogLayer { format: options.format, sink: Mutex::new(sink) };
    Ok(Registry::default().with(lines.with_filter(filter)))
}

/// A library that logs whole client messages, including queries and pages. Only its errors, which
/// do not, are logged unless a filter names it.
const CONTENT_LOGGING_TARGET: &str = "rmcp";

/// Parses a filter. A word that is not a level is refused, because it would be read as a target: a
/// misspelt `inof` would silence everything.
fn filter(text: &str) -> Result<Targets, LogError> {
    let mut targets = Targets::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let wrong = || LogError::Filter { part: part.to_owned() };
        let (target, level) = part.rsplit_once('=').unwrap_or(("", part));
        let level = LevelFilter::from_str(level.trim()).map_err(|_| wrong())?;
        targets = match target.trim() {
            "" if part.contains('=') => return Err(wrong()),
            "" => targets.with_default(level),
            target if target.chars().all(is_of_a_target) => targets.with_target(target, level),
            _ => return Err(wrong()),
        };
    }
    let is_named = targets.iter().any(|(target, _)| target == CONTENT_LOGGING_TARGET);
    Ok(match targets.default_level() {
        Some(level) if !is_named => {
            targets.with_target(CONTENT_LOGGING_TARGET, level.min(LevelFilter::ERROR))
        }
        _ => targets,
    })
}

fn is_of_a_target(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '-')
}

struct LogLayer<W> {
    format: LogFormat,
    sink: Mutex<W>,
}

impl<S, W> Layer<S> for LogLayer<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: Write + Send + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = LogFields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<LogFields>() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = LogFields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        let mut line = LogLine::new(
            self.format,
            moment(std::time::SystemTime::now()),
            *metadata.level(),
            metadata.target(),
        );
        line.fields(&fields);
        for span in context.event_scope(event).into_iter().flat_map(|scope| scope.from_root()) {
            let held = span.extensions();
            line.span(span.name(), held.get::<LogFields>().unwrap_or(&LogFields::default()));
        }
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        // A failed write to the log cannot be reported anywhere.
        let _ = sink.write_all(line.finish().as_bytes());
    }
}

/// The redacted fields of an event or span.
#[derive(Debug, Default)]
struct LogFields {
    message: Option<String>,
    named: Vec<(&'static str, serde_json::Value)>,
}

impl LogFields {
    fn text(&mut self, field: &Field, text: &str) {
        match field.name() {
            "message" => self.message = Some(redact::text(text)),
            name => self.set(name, redact::value(name, text).into()),
        }
    }

    /// A value that is not text is redacted only by its name.
    fn plain(&mut self, field: &Field, value: serde_json::Value) {
        match redact::is_private(field.name()) {
            true => self.text(field, &value.to_string()),
            false => self.set(field.name(), value),
        }
    }

    fn set(&mut self, name: &'static str, value: serde_json::Value) {
        match self.named.iter_mut().find(|(held, _)| *held == name) {
            Some((_, held)) => *held = value,
            None => self.named.push((name, value)),
        }
    }
}

impl Visit for LogFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.text(field, &value.to_string());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.plain(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.plain(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.plain(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.plain(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, wrong: Option<&str>) {
        let found = filter(text).err().map(|error| match error {
            LogError::Filter { part } => part,
            LogError::Twice => "twice".to_owned(),
        });
        assert_eq!(found.as_deref(), wrong, "{text}");
    }

    #[test]
    fn reads_filters_and_names_what_is_wrong() {
        check("info", None);
        check("WARN", None);
        check("off", None);
        check("", None);
        check("warn, gbrain_server=debug,hyper::proto=off", None);
        check("inof", Some("inof"));
        check("info,gbrain_server", Some("gbrain_server"));
        check("gbrain_server=loud", Some("gbrain_server=loud"));
        check("=info", Some("=info"));
        check("[span{query=x}]=info", Some("[span{query=x}]=info"));
    }
}
