//! `gbrain put`: writes one page.

use std::io::Read as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gbrain_brain::wire::PutBody;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::page::PageFormat;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

/// The most that is read from stdin: one page.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  echo '# Ada' | gbrain put people/ada\n  \
    gbrain put chats/standup standup.jsonl --source journal")]
pub(crate) struct PutArgs {
    /// The page: a slug, or `source::slug`.
    slug: String,
    /// The file to read; stdin when left out or `-`.
    file: Option<PathBuf>,
    /// The source; made if it is not there.
    #[arg(long, value_name = "ID", default_value = "default")]
    source: String,
    /// markdown, text, chat-json or chat-jsonl [default: by the file's ending, else markdown].
    #[arg(long, value_name = "FORMAT")]
    format: Option<PageFormatArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PageFormatArg {
    Markdown,
    Text,
    ChatJson,
    ChatJsonl,
}

/// Writes the page; when it says so, the page is safe.
pub(crate) fn run(context: &CommandContext<'_>, args: &PutArgs) -> Result<Exit, CliError> {
    let key = PageKey::parse(&args.slug, &SourceId::new(&args.source)?)?;
    let content = read(args)?;
    let brain = context.brain_to_fill()?;
    brain.ensure_source(&key.source, context.now)?;
    let put = brain.put(&key, &content, format(args), context.now)?;
    for warning in &put.warnings {
        context.terminal.warn(warning);
    }
    if context.terminal.is_json() {
        context.terminal.json(&PutBody::new(&key, &put));
    } else {
        context
            .terminal
            .line(format!("{key} {} (version {})", put.outcome.kind, put.outcome.version));
    }
    Ok(Exit::Pass)
}

fn format(args: &PutArgs) -> PageFormat {
    match args.format {
        Some(PageFormatArg::Markdown) => PageFormat::Markdown,
        Some(PageFormatArg::Text) => PageFormat::Text,
        Some(PageFormatArg::ChatJson) => PageFormat::ChatJson,
        Some(PageFormatArg::ChatJsonl) => PageFormat::ChatJsonl,
        None => {
            let name = args.file.as_ref().and_then(|file| file.to_str());
            name.and_then(PageFormat::of_path).unwrap_or(PageFormat::Markdown)
        }
    }
}

fn read(args: &PutArgs) -> Result<String, CliError> {
    let mut bytes = Vec::new();
    let name = match &args.file {
        Some(file) if file.as_os_str() != "-" => {
            let opened =
                std::fs::File::open(file).map_err(|error| CliError::io(file.display(), &error))?;
            opened
                .take(MAX_BYTES + 1)
                .read_to_end(&mut bytes)
                .map_err(|error| CliError::io(file.display(), &error))?;
            file.display().to_string()
        }
        _ => {
            std::io::stdin()
                .take(MAX_BYTES + 1)
                .read_to_end(&mut bytes)
                .map_err(|error| CliError::io("stdin", &error))?;
            "stdin".to_owned()
        }
    };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(CliError::usage(format!(
            "{name} holds more than the {} MiB a page may have",
            MAX_BYTES >> 20
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        CliError::usage(format!(
            "{name} is not valid UTF-8 at byte {}",
            error.utf8_error().valid_up_to()
        ))
    })
}
