//! A sentence transformer on disk, through ONNX Runtime: slower and better than the built-in
//! table, for those who have the files.
//!
//! The directory holds `model.onnx` (or `onnx/model.onnx`) and `vocab.txt`, as exports of MiniLM
//! and gte-small do. Passages are cut at 256 pieces; a vector is the mean over the pieces. The
//! runtime's library is loaded when the first text is embedded. Its sums may differ in the last
//! bits from machine to machine, so rankings are the same only on machines of one kind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::Tensor;
use sha2::{Digest as _, Sha256};

use crate::embedder::{EmbedError, Embedder};
use crate::table::{StaticTable, normalise};
use crate::wordpiece::WordPiece;

const MAX_PIECES: usize = 256;
const BATCH: usize = 16;
const BEGIN: i64 = 101;
const END: i64 = 102;
/// Texts whose mean stands for the middle of what the model makes.
const CENTRE_TEXTS: usize = 64;

/// A model in a directory.
pub struct OnnxModel {
    id: String,
    dims: usize,
    centre: Vec<f32>,
    wordpiece: WordPiece,
    session: Mutex<Session>,
    _environment: Environment,
}

impl OnnxModel {
    /// Opens the model in `dir` with the runtime's library at `runtime`.
    pub fn open(dir: &Path, runtime: &Path) -> Result<Self, EmbedError> {
        let load = |reason: String| EmbedError::Load { model: dir.display().to_string(), reason };
        let file = model_file(dir)
            .ok_or_else(|| load("it has neither model.onnx nor onnx/model.onnx".to_owned()))?;
        let wordpiece = *StaticTable::built_in().wordpiece();
        check_vocabulary(&wordpiece, &dir.join("vocab.txt")).map_err(load)?;
        let bytes = fs::read(&file).map_err(|e| load(e.to_string()))?;
        let digest: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
        let environment = environment(runtime).map_err(load)?;
        let session = session(&environment, &file).map_err(|e| load(e.to_string()))?;
        let name = dir.file_name().map(|name| name.to_string_lossy().to_lowercase());
        let name: String =
            name.unwrap_or_default().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let mut model = Self {
            id: format!("onnx-{name}-{}", &digest[..12]),
            dims: 0,
            centre: Vec::new(),
            wordpiece,
            session: Mutex::new(session),
            _environment: environment,
        };
        model.learn_centre()?;
        Ok(model)
    }

    /// The mean of words from all over the vocabulary, and with it the number of dimensions.
    fn learn_centre(&mut self) -> Result<(), EmbedError> {
        let vocabulary = self.wordpiece.vocabulary();
        let step = (vocabulary.len() - 2000) / CENTRE_TEXTS;
        let texts: Vec<String> = (0..CENTRE_TEXTS)
            .map(|at| crate::vocabulary::PieceId((2000 + at * step) as u16))
            .map(|piece| String::from_utf8_lossy(vocabulary.text_of(piece)).into_owned())
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = self.embed(&texts)?;
        self.dims = vectors.first().map_or(0, Vec::len);
        self.centre = vec![0.0; self.dims];
        for vector in &vectors {
            self.centre.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x / CENTRE_TEXTS as f32);
        }
        Ok(())
    }

    fn run(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ort::Error> {
        let rows: Vec<Vec<i64>> = texts.iter().map(|text| self.pieces(text)).collect();
        let width = rows.iter().map(Vec::len).max().unwrap_or_default();
        let (mut ids, mut mask) = (Vec::new(), Vec::new());
        for row in &rows {
            let padding = width - row.len();
            ids.extend(row.iter().copied().chain(std::iter::repeat_n(0, padding)));
            mask.extend(row.iter().map(|_| 1).chain(std::iter::repeat_n(0i64, padding)));
        }
        let shape = [rows.len(), width];
        let inputs = ort::inputs! {
            "input_ids" => Tensor::from_array((shape, ids))?,
            "attention_mask" => Tensor::from_array((shape, mask))?,
            "token_type_ids" => Tensor::from_array((shape, vec![0i64; rows.len() * width]))?,
        };
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = session.run(inputs)?;
        let (shape, values) = outputs[0].try_extract_tensor::<f32>()?;
        let dims = shape[2] as usize;
        let texts = rows.iter().zip(values.chunks_exact(width * dims));
        Ok(texts.map(|(row, states)| mean(&states[..row.len() * dims], dims)).collect())
    }

    fn pieces(&self, text: &str) -> Vec<i64> {
        let mut pieces = vec![BEGIN];
        self.wordpiece.pieces(text, |piece| {
            if pieces.len() < MAX_PIECES - 1 {
                pieces.push(i64::from(piece.0));
            }
        });
        pieces.push(END);
        pieces
    }
}

impl Embedder for OnnxModel {
    fn id(&self) -> &str {
        &self.id
    }

    fn dims(&self) -> usize {
        self.dims
    }

    fn centre(&self) -> &[f32] {
        &self.centre
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let run = self.run(batch);
            vectors.extend(
                run.map_err(|e| EmbedError::Run { model: self.id.clone(), reason: e.to_string() })?,
            );
        }
        Ok(vectors)
    }

    fn has_threads(&self) -> bool {
        true
    }
}

fn mean(states: &[f32], dims: usize) -> Vec<f32> {
    let mut sum = vec![0.0; dims];
    for state in states.chunks_exact(dims) {
        sum.iter_mut().zip(state).for_each(|(sum, x)| *sum += x);
    }
    normalise(&mut sum);
    sum
}

fn model_file(dir: &Path) -> Option<PathBuf> {
    [dir.join("model.onnx"), dir.join("onnx/model.onnx")].into_iter().find(|path| path.is_file())
}

/// Models of this family share one vocabulary, which is the built-in one; others are refused.
fn check_vocabulary(wordpiece: &WordPiece, path: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let vocabulary = wordpiece.vocabulary();
    let ours =
        (0..vocabulary.len()).map(|n| vocabulary.text_of(crate::vocabulary::PieceId(n as u16)));
    if text.lines().map(str::as_bytes).eq(ours) {
        return Ok(());
    }
    Err("its vocabulary is not that of BERT uncased, which alone is supported".to_owned())
}

fn environment(runtime: &Path) -> Result<Environment, String> {
    let builder = ort::init_from(runtime)
        .map_err(|e| format!("the runtime {} can't be loaded: {e}", runtime.display()))?;
    builder.with_telemetry(false).build().map_err(|e| e.to_string())
}

fn session(environment: &Environment, file: &Path) -> Result<Session, ort::Error> {
    Session::builder(environment)?
        .with_optimization_level(GraphOptimizationLevel::Level3)?
        .commit_from_file(file)
}
