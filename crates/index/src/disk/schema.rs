//! The fields of a document. One document is one chunk; the first chunk of a page also carries the
//! page's fields, and a page without chunks is a document without words.
//!
//! Documents of a page are written and deleted together, so they are adjacent in one segment, in
//! the order of the chunks.

use gbrain_core::page::Visibility;
use tantivy::schema::{
    BytesOptions, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer, TokenizerManager};

use crate::bm25::TermForm;

/// Separates tokens that are passed in one text. No token contains it: it is not a word character,
/// and folding never produces it.
pub const SEPARATOR: char = '\u{1f}';
const SPLIT: &str = "split";
const RAW: &str = "raw";

pub(super) mod column {
    pub(crate) const PAGE: &str = "page";
    /// `source`, a zero byte, `slug`: has the same order as pages.
    pub(crate) const KEY: &str = "key";
    pub(crate) const TYPE: &str = "type";
    pub(crate) const TAG: &str = "tag";
    /// The page's date as a number that orders like the date.
    pub(crate) const DATE: &str = "date";
    pub(crate) const CHUNK: &str = "chunk";
    pub(crate) const TOKENS: &str = "tokens";
}

#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaFields {
    pub(super) page: Field,
    pub(super) key: Field,
    pub(super) page_type: Field,
    pub(super) tag: Field,
    pub(super) date: Field,
    pub(super) chunk: Field,
    pub(super) tokens: Field,
    pub(super) name: Field,
    pub(super) target: Field,
    pub(super) target_private: Field,
    pub(super) text: Field,
    pub(super) text_private: Field,
    pub(super) exact: Field,
    pub(super) exact_private: Field,
    pub(super) body: Field,
    pub(super) passage: Field,
    pub(super) entry: Field,
    pub(super) links: Field,
}

impl SchemaFields {
    /// The field of words in a form. Words of private pages have separate fields, so that they are
    /// not counted in anything an untrusted caller sees.
    pub(super) fn words(&self, form: TermForm, visibility: Visibility) -> Field {
        match (form, visibility) {
            (TermForm::Stem, Visibility::World) => self.text,
            (TermForm::Stem, Visibility::Private) => self.text_private,
            (TermForm::Exact, Visibility::World) => self.exact,
            (TermForm::Exact, Visibility::Private) => self.exact_private,
        }
    }

    pub(super) fn targets(&self, visibility: Visibility) -> Field {
        match visibility {
            Visibility::World => self.target,
            Visibility::Private => self.target_private,
        }
    }
}

pub(super) fn schema() -> (Schema, SchemaFields) {
    let mut schema = Schema::builder();
    let column = NumericOptions::default().set_fast();
    let label = TextOptions::default().set_fast(RAW);
    let stored = BytesOptions::default().set_stored();
    let lookup = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default()
            .set_tokenizer(RAW)
            .set_fieldnorms(false)
            .set_index_option(IndexRecordOption::Basic),
    );
    let fields = SchemaFields {
        page: schema.add_i64_field(column::PAGE, column.clone().set_indexed()),
        key: schema.add_text_field(column::KEY, label.clone()),
        page_type: schema.add_text_field(column::TYPE, label.clone()),
        tag: schema.add_text_field(column::TAG, label),
        date: schema.add_i64_field(column::DATE, column.clone()),
        chunk: schema.add_u64_field(column::CHUNK, column.clone()),
        tokens: schema.add_u64_field(column::TOKENS, column),
        name: schema.add_text_field("name", lookup.clone()),
        target: schema.add_text_field("target", lookup.clone()),
        target_private: schema.add_text_field("target_private", lookup),
        text: schema.add_text_field("text", words(true)),
        text_private: schema.add_text_field("text_private", words(true)),
        exact: schema.add_text_field("exact", words(false)),
        exact_private: schema.add_text_field("exact_private", words(false)),
        body: schema.add_text_field("body", TextOptions::default().set_stored()),
        passage: schema.add_bytes_field("passage", stored.clone()),
        entry: schema.add_bytes_field("entry", stored.clone()),
        links: schema.add_bytes_field("links", stored),
    };
    (schema.build(), fields)
}

/// Options of a field of words with frequencies. Lengths are those of the stems, so exact forms
/// store none.
fn words(with_lengths: bool) -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(SPLIT)
        .set_fieldnorms(with_lengths)
        .set_index_option(IndexRecordOption::WithFreqs);
    TextOptions::default().set_indexing_options(indexing)
}

pub(super) fn tokenizers() -> TokenizerManager {
    let tokenizers = TokenizerManager::default();
    tokenizers.register(SPLIT, AnalysedTokenizer::default());
    tokenizers
}

/// Splits text into analysed tokens that end with [`SEPARATOR`].
#[derive(Clone, Default)]
struct AnalysedTokenizer {
    token: Token,
}

/// The tokens of a text in which [`SEPARATOR`] ends each token.
#[derive(Debug)]
pub struct SplitStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl<'a> SplitStream<'a> {
    /// Iterates over the tokens of a text, reusing one token buffer.
    pub fn new(text: &'a str, token: &'a mut Token) -> Self {
        token.reset();
        Self { rest: text, token }
    }
}

impl Tokenizer for AnalysedTokenizer {
    type TokenStream<'a> = SplitStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> SplitStream<'a> {
        SplitStream::new(text, &mut self.token)
    }
}

impl TokenStream for SplitStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((token, rest)) = self.rest.split_once(SEPARATOR) else { return false };
        self.rest = rest;
        self.token.text.clear();
        self.token.text.push_str(token);
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}
