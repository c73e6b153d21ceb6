//! tantivy's own indexing, with gbrain's analyser as its tokenizer.

use std::path::Path;

use anyhow::Result;
use gbrain_core::text::{TokenKind, analyse};
use gbrain_index::{SEPARATOR, SplitStream};
use tantivy::schema::{IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{Token, Tokenizer};
use tantivy::{Index, IndexWriter, TantivyDocument, doc};

const ANALYSED: &str = "analysed";
const THREADS: usize = 2;
const BYTES: usize = 2 * (128 << 20);

/// Indexes chunks, each a title and a text, into an empty directory, until nothing is left to
/// merge.
pub(crate) fn index_chunks(dir: &Path, chunks: Vec<(String, String)>) -> Result<()> {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(ANALYSED)
        .set_index_option(IndexRecordOption::WithFreqs);
    let mut schema = Schema::builder();
    let options = TextOptions::default().set_indexing_options(indexing);
    let title = schema.add_text_field("title", options.clone());
    let text = schema.add_text_field("text", options.set_stored());
    let index = Index::create_in_dir(dir, schema.build())?;
    index.tokenizers().register(ANALYSED, Analysed::default());
    let mut writer: IndexWriter<TantivyDocument> = index.writer_with_num_threads(THREADS, BYTES)?;
    for (chunk_title, chunk_text) in chunks {
        writer.add_document(doc!(title => chunk_title, text => chunk_text))?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(())
}

#[derive(Clone, Default)]
struct Analysed {
    stems: String,
    token: Token,
}

impl Tokenizer for Analysed {
    type TokenStream<'a> = SplitStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> SplitStream<'a> {
        self.stems.clear();
        let stems = &mut self.stems;
        analyse(text, &mut |token| {
            if token.kind != TokenKind::Stop {
                stems.push_str(token.stem);
                stems.push(SEPARATOR);
            }
        });
        SplitStream::new(&self.stems, &mut self.token)
    }
}
