//! Reads a prompt from its directory.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use gbrain_core::hash::Hash;

use jiff::Timestamp;

use super::hook::PromptHooks;
use super::new::replace;
use super::{PromptError, log};
use crate::domain::{self, Evaluation, Fingerprint, Inputs, Meta, PromptHashes, edited, flat};

/// A prompt of a library, read from its directory.
#[derive(Debug, Clone)]
pub struct LibraryPrompt {
    pub dir: PathBuf,
    pub id: String,
    /// The content of `meta.yml`.
    pub meta: Meta,
    pub template: Template,
    /// The scripts `guard.sh` and `verify.sh`.
    pub(crate) hooks: PromptHooks,
}

/// The template file of a prompt.
#[derive(Debug, Clone)]
pub struct Template {
    pub path: PathBuf,
    pub text: String,
    /// Whether it is XML rather than Markdown.
    pub is_xml: bool,
}

impl LibraryPrompt {
    /// Reads the prompt in a directory.
    pub fn read(dir: PathBuf) -> Result<Self, PromptError> {
        let id = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = dir.join("meta.yml");
        let text = optional(&path)?.ok_or_else(|| PromptError::NoMeta(id.clone()))?;
        let meta = Meta::parse(&text)
            .map_err(|source| PromptError::Meta { path: path.clone(), source })?;
        let template = template(&dir, &id)?;
        let hooks = PromptHooks::read(&dir)?;
        Ok(Self { dir, id, meta, template, hooks })
    }

    /// The path of a file of the prompt.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The path of the usage log.
    pub fn usage_log(&self) -> PathBuf {
        self.file(".usage.jsonl")
    }

    /// The path of the log of run texts.
    pub fn run_log(&self) -> PathBuf {
        self.file(".runs.jsonl")
    }

    /// The path of the evaluation log.
    pub fn eval_log(&self) -> PathBuf {
        self.file(".eval.jsonl")
    }

    /// The path of the promotion log.
    pub fn evidence_log(&self) -> PathBuf {
        self.file(".promotions.jsonl")
    }

    /// The hash of the prompt as it is: template, hooks, defaults and its own model.
    pub fn hash(&self) -> String {
        self.hash_with(self.meta.model.as_deref())
    }

    /// The hash of the prompt with another model.
    pub fn hash_with(&self, model: Option<&str>) -> String {
        self.fingerprint(model).hash()
    }

    /// The hashes of the prompt with its own model.
    pub(crate) fn hashes(&self) -> PromptHashes {
        self.fingerprint(self.meta.model.as_deref()).hashes()
    }

    fn fingerprint<'a>(&'a self, model: Option<&'a str>) -> Fingerprint<'a> {
        Fingerprint {
            template: &self.template.text,
            guard: self.hooks.guard.as_deref(),
            verifier: self.hooks.verifier.as_deref(),
            inputs: &self.meta.inputs,
            model,
        }
    }

    /// The hash of its cases: `eval.yml` and the input files that it names. `None` without
    /// `eval.yml`.
    pub(crate) fn cases_hash(&self, root: &Path) -> Result<Option<String>, PromptError> {
        let Some(text) = self.eval_text()? else { return Ok(None) };
        let cases = Evaluation::parse(&text).map(|evaluation| evaluation.cases).unwrap_or_default();
        let mut files = Vec::new();
        for case in &cases {
            if let Inputs::From(name) = &case.inputs {
                files.push(self.inputs_from(root, name)?.map(|(_, text)| text).unwrap_or_default());
            }
        }
        if files.is_empty() {
            return Ok(Some(Hash::of(text.as_bytes()).short()));
        }
        let parts: Vec<&[u8]> =
            std::iter::once(&text).chain(&files).map(|text| text.as_bytes()).collect();
        Ok(Some(Hash::of_parts(&parts).short()))
    }

    /// An input file with its text, relative to the root of the library or to the prompt.
    pub(crate) fn inputs_from(
        &self,
        root: &Path,
        name: &str,
    ) -> Result<Option<(PathBuf, String)>, PromptError> {
        for path in [root.join(name), self.file(name)] {
            if let Some(text) = optional(&path)? {
                return Ok(Some((path, text)));
            }
        }
        Ok(None)
    }

    /// The names of its cases.
    pub fn cases(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.file("examples")).into_iter().flatten().flatten();
        let has_inputs = |dir: &PathBuf| dir.join("inputs.yml").is_file();
        let dirs = entries.map(|entry| entry.path()).filter(has_inputs);
        let mut names: Vec<String> =
            dirs.filter_map(|dir| Some(dir.file_name()?.to_string_lossy().into_owned())).collect();
        names.sort_unstable();
        names
    }

    /// The inputs of a case.
    pub fn case(&self, case: &str) -> Result<Vec<(String, String)>, PromptError> {
        let missing = || PromptError::NoCase { id: self.id.clone(), case: case.to_owned() };
        // A case is a name, not a path outside the directory.
        if case.is_empty() || case.contains(['/', '\\']) || case.starts_with('.') {
            return Err(missing());
        }
        let path = self.file("examples").join(case).join("inputs.yml");
        let text = optional(&path)?.ok_or_else(missing)?;
        flat(&text).map_err(|source| PromptError::Yaml { path, source })
    }

    /// Reads its aliases from the `aliases` file.
    pub fn aliases(&self) -> Result<Vec<String>, PromptError> {
        aliases(&self.dir)
    }

    /// The text of its `eval.yml`.
    pub fn eval_text(&self) -> Result<Option<String>, PromptError> {
        optional(&self.file("eval.yml"))
    }

    /// Parses `eval.yml`; an error if there is none.
    pub fn evaluation(&self) -> Result<Evaluation, PromptError> {
        let text = self.eval_text()?.ok_or_else(|| PromptError::NoEval(self.id.clone()))?;
        let path = self.file("eval.yml");
        Evaluation::parse(&text).map_err(|source| PromptError::Yaml { path, source })
    }

    /// Changes values in `meta.yml` under the lock.
    pub fn update_meta(&self, pairs: &[(&'static str, &str)]) -> Result<(), PromptError> {
        let _lock = super::promote::lock(self)?;
        self.edit_meta(pairs)?.save()
    }

    /// Prepares new values in `meta.yml`; every other byte stays unchanged.
    pub fn edit_meta(&self, pairs: &[(&'static str, &str)]) -> Result<MetaEdit, PromptError> {
        let path = self.file("meta.yml");
        let text = optional(&path)?.ok_or_else(|| PromptError::NoMeta(self.id.clone()))?;
        match edited(&text, pairs) {
            Ok(text) => Ok(MetaEdit { path, text }),
            Err(key) => Err(PromptError::Edit { path, key }),
        }
    }
}

/// A prepared edit of `meta.yml`.
#[derive(Debug)]
#[must_use = "nothing is written until it is saved"]
pub struct MetaEdit {
    path: PathBuf,
    text: String,
}

impl MetaEdit {
    /// Replaces the file atomically.
    pub fn save(self) -> Result<(), PromptError> {
        replace(&self.path, &self.text)
    }
}

/// A date in the format of `meta.yml`.
pub fn day(now: Timestamp) -> String {
    now.strftime("%Y-%m-%d").to_string()
}

/// The aliases of the prompt in a directory.
pub(crate) fn aliases(dir: &Path) -> Result<Vec<String>, PromptError> {
    let text = optional(&dir.join("aliases"))?.unwrap_or_default();
    Ok(domain::aliases(&text).into_iter().map(str::to_owned).collect())
}

fn template(dir: &Path, id: &str) -> Result<Template, PromptError> {
    let [xml, md] = ["prompt.xml", "prompt.md"].map(|name| dir.join(name));
    match (optional(&xml)?, optional(&md)?) {
        (Some(_), Some(_)) => Err(PromptError::TwoTemplates(id.to_owned())),
        (Some(text), None) => Ok(Template { path: xml, text, is_xml: true }),
        (None, Some(text)) => Ok(Template { path: md, text, is_xml: false }),
        (None, None) => Err(PromptError::NoTemplate(id.to_owned())),
    }
}

/// Reads a text file; `None` if it does not exist.
pub(crate) fn optional(path: &Path) -> Result<Option<String>, PromptError> {
    let Some(mut file) = log::open(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(PromptError::io(path))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(PromptError::NotText(path.to_owned())),
    }
}
