//! `eva new`: creates a sample prompt, or a copy of another.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use gbrain_brain::atomic::{AtomicFile, TemporaryKind, TemporaryNames, remove_stale};
use jiff::Timestamp;

use super::library::is_id;
use super::prompt::day;
use super::{Library, LibraryPrompt, PromptError};

/// The parameters of a new prompt.
#[derive(Debug, Clone, Default)]
pub struct NewPrompt {
    pub id: String,
    /// The prompt to copy.
    pub from: Option<String>,
    /// Creates a Markdown template instead of an XML one.
    pub is_markdown: bool,
}

/// The names of incomplete prompts.
const UNFINISHED: TemporaryNames<'_> = TemporaryNames {
    kind: TemporaryKind::Directory,
    prefix: ".gbrain-new-",
    random: 6,
    suffix: "",
};

/// Creates a draft, completely or not at all.
pub fn new(
    library: &Library,
    new: &NewPrompt,
    now: Timestamp,
) -> Result<LibraryPrompt, PromptError> {
    if !is_id(&new.id) {
        return Err(PromptError::Id(new.id.clone()));
    }
    let dir = library.prompts().join(&new.id);
    if dir.exists() {
        return Err(PromptError::Exists(new.id.clone()));
    }
    let prompts = library.prompts();
    std::fs::create_dir_all(&prompts).map_err(PromptError::io(&prompts))?;
    remove_stale(&prompts, &UNFINISHED);
    let temporary = UNFINISHED.builder().tempdir_in(&prompts).map_err(PromptError::io(&prompts))?;
    // The lock keeps other processes from deleting it.
    let lock = File::open(temporary.path()).map_err(PromptError::io(&prompts))?;
    let _ = lock.try_lock();
    let today = day(now);
    match &new.from {
        None => write_sample(temporary.path(), new, &today)?,
        Some(from) => copy(&library.prompt(from)?, temporary.path(), &new.id, &today)?,
    }
    let temporary = temporary.keep();
    let permissions = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&temporary, permissions).map_err(PromptError::io(&temporary))?;
    std::fs::rename(&temporary, &dir).map_err(PromptError::io(&dir))?;
    LibraryPrompt::read(dir)
}

fn write_sample(dir: &Path, new: &NewPrompt, today: &str) -> Result<(), PromptError> {
    let id = &new.id;
    let meta = format!(
        "id: {id}\ntitle: {id}\nsummary: Says hello to somebody.\nstatus: draft\nversion: 0.1.0\ncreated: {today}\n\
         updated: {today}\ntags: []\n# What an agent reads to choose this prompt; needed for `eva export-skill`.\n\
         description: Greets somebody by name. Use when a greeting is wanted.\ntriggers:\n  - say hello\nnot_for:\n  \
         - anything but greetings\ninputs:\n  - name: name\n    required: true\n  - name: tone\n    default: warm\n"
    );
    let (template, text) = match new.is_markdown {
        true => (
            "prompt.md",
            "# Role\n\nYou greet people.\n\n# Task\n\nGreet {{name}} in a {{tone}} tone, in one sentence.\n",
        ),
        false => (
            "prompt.xml",
            "<prompt>\n  <role>You greet people.</role>\n  <task>Greet {{name}} in a {{tone}} tone.</task>\n  \
             <output_format>One sentence.</output_format>\n</prompt>\n",
        ),
    };
    let eval = "cases:\n  - name: names-the-person\n    inputs_from: examples/basic/inputs.yml\n    assert:\n      \
        contains: Ada\n      max_tokens: 60\n";
    let verify = "#!/bin/sh\n# Ends with 0 if the answer in $EVA_OUTPUT_FILE is good.\ngrep -q \"$EVA_VAR_name\" \"$EVA_OUTPUT_FILE\"\n";
    std::fs::create_dir_all(dir.join("examples/basic")).map_err(PromptError::io(dir))?;
    write(&dir.join("meta.yml"), &meta)?;
    write(&dir.join(template), text)?;
    write(&dir.join("examples/basic/inputs.yml"), "name: Ada\n")?;
    write(&dir.join("eval.yml"), eval)?;
    write(&dir.join("verify.sh"), verify)?;
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir.join("verify.sh"), executable).map_err(PromptError::io(dir))
}

/// Copies everything but the logs.
fn copy(from: &LibraryPrompt, to: &Path, id: &str, today: &str) -> Result<(), PromptError> {
    copy_dir(&from.dir, to)?;
    let pairs = [("id", id), ("status", "draft"), ("created", today), ("updated", today)];
    LibraryPrompt::read(to.to_owned())?.edit_meta(&pairs)?.save()?;
    // An alias belongs to one prompt.
    let _ = std::fs::remove_file(to.join("aliases"));
    Ok(())
}

fn copy_dir(from: &Path, to: &Path) -> Result<(), PromptError> {
    std::fs::create_dir_all(to).map_err(PromptError::io(to))?;
    for entry in std::fs::read_dir(from).map_err(PromptError::io(from))? {
        let entry = entry.map_err(PromptError::io(from))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            copy_dir(&path, &target)?;
        } else {
            std::fs::copy(&path, &target).map_err(PromptError::io(&path))?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), PromptError> {
    std::fs::write(path, text).map_err(PromptError::io(path))
}

/// Replaces a file, completely or not at all. The target of a symbolic link is replaced, not the
/// link; a device or a pipe is refused.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), PromptError> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let path = real.as_path();
    let failed = || PromptError::io(path);
    if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(PromptError::NotAFile(path.to_owned()));
    }
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = AtomicFile::create_in(dir).map_err(failed())?;
    file.write_all(text.as_bytes()).map_err(failed())?;
    if let Ok(metadata) = std::fs::metadata(path) {
        file.file().set_permissions(metadata.permissions()).map_err(failed())?;
    } else {
        let open = std::fs::Permissions::from_mode(0o644);
        file.file().set_permissions(open).map_err(failed())?;
    }
    file.replace(path).map_err(failed())
}
