//! The built-in model, a static table of vectors.

use crate::adder::VectorAdder;
use crate::embedder::{EmbedError, Embedder};
use crate::layout::TableLayout;
use crate::vocabulary::Vocabulary;
use crate::wordpiece::WordPiece;

static MODEL: &[u8] = include_bytes!("../model/static-256.bin");
static OFFSETS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/offsets.bin"));
static SLOTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/slots.bin"));
const ID: &str = include_str!(concat!(env!("OUT_DIR"), "/model_id.txt"));

/// A table with one vector per word piece. A text's vector is the sum over its pieces, brought to
/// length one; the weight of a piece is part of its vector.
#[derive(Debug, Clone)]
pub struct StaticTable {
    wordpiece: WordPiece,
    centre: Vec<f32>,
    scales: &'static [u8],
    rows: &'static [u8],
    dims: usize,
    adder: VectorAdder,
}

impl StaticTable {
    /// The model in the binary. Costs next to nothing: nothing is read before it is asked for.
    pub fn built_in() -> Self {
        let layout = TableLayout::read(MODEL).expect("the build script read it");
        let vocabulary = Vocabulary::new(&MODEL[layout.vocabulary.clone()], OFFSETS, SLOTS);
        let centre = MODEL[layout.centre.clone()].chunks_exact(4).map(float).collect();
        Self {
            wordpiece: WordPiece::new(vocabulary),
            centre,
            scales: &MODEL[layout.scales],
            rows: &MODEL[layout.rows],
            dims: layout.dims,
            adder: VectorAdder::fastest(),
        }
    }

    /// Cuts texts into the model's pieces.
    pub fn wordpiece(&self) -> &WordPiece {
        &self.wordpiece
    }

    /// The vector of one text.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut pieces = Vec::with_capacity(text.len() / 4 + 1);
        self.wordpiece.pieces(text, |piece| pieces.push(piece.0));
        // A piece that comes again is added once, as often as it comes; in the order of numbers,
        // so that the sum is the same however the text is put.
        pieces.sort_unstable();
        let mut sum = vec![0.0; self.dims];
        for same in pieces.chunk_by(|a, b| a == b) {
            let at = usize::from(same[0]);
            let scale = float(&self.scales[4 * at..4 * at + 4]);
            if scale != 0.0 {
                let row = &self.rows[at * self.dims..(at + 1) * self.dims];
                self.adder.add(scale * same.len() as f32, row, &mut sum);
            }
        }
        normalise(&mut sum);
        sum
    }
}

impl Embedder for StaticTable {
    fn id(&self) -> &str {
        ID
    }

    fn dims(&self) -> usize {
        self.dims
    }

    fn centre(&self) -> &[f32] {
        &self.centre
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

/// Brings a vector to length one; one without direction to zero.
pub(crate) fn normalise(vector: &mut [f32]) {
    let squares: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    let factor = if squares > 0.0 && squares.is_finite() { 1.0 / squares.sqrt() } else { 0.0 };
    vector.iter_mut().for_each(|x| *x = (f64::from(*x) * factor) as f32);
}

fn float(bytes: &[u8]) -> f32 {
    f32::from_le_bytes(bytes.try_into().expect("four bytes are asked for"))
}
