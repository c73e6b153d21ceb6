//! One prompt: a directory, read.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use gbrain_core::hash::Hash;

use jiff::Timestamp;

use super::hook::Hooks;
use super::new::replace;
use super::{PromptError, log};
use crate::domain::{self, Evaluation, Fingerprint, Inputs, Meta, PromptHashes, edited, flat};

/// A prompt.
#[derive(Debug, Clone)]
pub struct Prompt {
    pub dir: PathBuf,
    pub id: String,
    /// What `meta.yml` says.
    pub meta: Meta,
    pub template: Template,
    /// What runs before and after.
    pub(crate) hooks: Hooks,
}

/// A template.
#[derive(Debug, Clone)]
pub struct Template {
    pub path: PathBuf,
    pub text: String,
    /// Whether it is made of tags.
    pub is_xml: bool,
}

impl Prompt {
    /// Reads the prompt in a directory.
    pub fn read(dir: PathBuf) -> Result<Self, PromptError> {
        let id = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = dir.join("meta.yml");
        let text = optional(&path)?.ok_or_else(|| PromptError::NoMeta(id.clone()))?;
        let meta = Meta::parse(&text)
            .map_err(|source| PromptError::Meta { path: path.clone(), source })?;
        let template = template(&dir, &id)?;
        let hooks = Hooks::read(&dir)?;
        Ok(Self { dir, id, meta, template, hooks })
    }

    /// A file of the prompt.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The rows of its runs.
    pub fn usage_log(&self) -> PathBuf {
        self.file(".usage.jsonl")
    }

    /// The records of the text that each sent run was of.
    pub fn run_log(&self) -> PathBuf {
        self.file(".runs.jsonl")
    }

    /// The rows of its evaluations.
    pub fn eval_log(&self) -> PathBuf {
        self.file(".eval.jsonl")
    }

    /// The lines of its promotions.
    pub fn evidence_log(&self) -> PathBuf {
        self.file(".promotions.jsonl")
    }

    /// What names the prompt as it is: template, hooks, defaults and its own model.
    pub fn hash(&self) -> String {
        self.hash_with(self.meta.model.as_deref())
    }

    /// The same with the model that answers.
    pub fn hash_with(&self, model: Option<&str>) -> String {
        self.fingerprint(model).hash()
    }

    /// Its hashes with its own model.
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

    /// What names its cases: `eval.yml` and the files of inputs that it names. None without `eval.yml`.
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

    /// A file of inputs and its text: in the root of the library, or beside the prompt.
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
        // A case is a name, not a path to somewhere else.
        if case.is_empty() || case.contains(['/', '\\']) || case.starts_with('.') {
            return Err(missing());
        }
        let path = self.file("examples").join(case).join("inputs.yml");
        let text = optional(&path)?.ok_or_else(missing)?;
        flat(&text).map_err(|source| PromptError::Yaml { path, source })
    }

    /// Its aliases.
    pub fn aliases(&self) -> Result<Vec<String>, PromptError> {
        aliases(&self.dir)
    }

    /// The text of its `eval.yml`.
    pub fn eval_text(&self) -> Result<Option<String>, PromptError> {
        optional(&self.file("eval.yml"))
    }

    /// What its `eval.yml` asks for.
    pub fn evaluation(&self) -> Result<Evaluation, PromptError> {
        let text = self.eval_text()?.ok_or_else(|| PromptError::NoEval(self.id.clone()))?;
        let path = self.file("eval.yml");
        Evaluation::parse(&text).map_err(|source| PromptError::Yaml { path, source })
    }

    /// Changes values of keys of `meta.yml` while no promotion does.
    pub fn update_meta(&self, pairs: &[(&'static str, &str)]) -> Result<(), PromptError> {
        let _lock = super::promote::lock(self)?;
        self.edit_meta(pairs)?.save()
    }

    /// Prepares other values of keys of `meta.yml`; every other byte stays as it is.
    pub fn edit_meta(&self, pairs: &[(&'static str, &str)]) -> Result<MetaEdit, PromptError> {
        let path = self.file("meta.yml");
        let text = optional(&path)?.ok_or_else(|| PromptError::NoMeta(self.id.clone()))?;
        match edited(&text, pairs) {
            Ok(text) => Ok(MetaEdit { path, text }),
            Err(key) => Err(PromptError::Edit { path, key }),
        }
    }
}

/// A `meta.yml` that can be written.
#[derive(Debug)]
#[must_use = "nothing is written until it is saved"]
pub struct MetaEdit {
    path: PathBuf,
    text: String,
}

impl MetaEdit {
    /// Replaces the file, whole or not at all.
    pub fn save(self) -> Result<(), PromptError> {
        replace(&self.path, &self.text)
    }
}

/// A day as `meta.yml` has it.
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

/// The text of a file, if there is one.
pub(crate) fn optional(path: &Path) -> Result<Option<String>, PromptError> {
    let Some(mut file) = log::open(path)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(PromptError::io(path))?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(PromptError::NotText(path.to_owned())),
    }
}
