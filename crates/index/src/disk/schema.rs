//! The fields of a document. One document is one chunk; the first chunk of a page also carries
//! the page, and a page without chunks is a document without words.
//!
//! Documents of a page are written together and deleted together, so they stand side by side in
//! one segment, in the order of the chunks.

use gbrain_core::page::Visibility;
use tantivy::schema::{
    BytesOptions, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer, TokenizerManager};

use crate::bm25::Form;

/// Between tokens that are handed over in one text. No token holds it: it is no part of a word,
/// and folding never makes it.
pub const SEPARATOR: char = '\u{1f}';
const SPLIT: &str = "split";
const RAW: &str = "raw";

/// Names of the columns.
pub(super) mod column {
    pub(crate) const PAGE: &str = "page";
    /// `source`, a zero byte, `slug`: orders as pages do.
    pub(crate) const KEY: &str = "key";
    pub(crate) const TYPE: &str = "type";
    pub(crate) const TAG: &str = "tag";
    /// The page's date as days from year 1.
    pub(crate) const DATE: &str = "date";
    pub(crate) const CHUNK: &str = "chunk";
    pub(crate) const TOKENS: &str = "tokens";
}

/// The fields, by what they hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
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

impl Fields {
    /// The field of words in a form. Words of private pages have fields of their own, so that
    /// nothing an untrusted caller sees counts them.
    pub(super) fn words(&self, form: Form, visibility: Visibility) -> Field {
        match (form, visibility) {
            (Form::Stem, Visibility::World) => self.text,
            (Form::Stem, Visibility::Private) => self.text_private,
            (Form::Exact, Visibility::World) => self.exact,
            (Form::Exact, Visibility::Private) => self.exact_private,
        }
    }

    /// The field of link targets.
    pub(super) fn targets(&self, visibility: Visibility) -> Field {
        match visibility {
            Visibility::World => self.target,
            Visibility::Private => self.target_private,
        }
    }
}

/// The schema and its fields.
pub(super) fn schema() -> (Schema, Fields) {
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
    let fields = Fields {
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

/// Words with frequencies. Lengths are those of the stems, so exact forms have none.
fn words(with_lengths: bool) -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(SPLIT)
        .set_fieldnorms(with_lengths)
        .set_index_option(IndexRecordOption::WithFreqs);
    TextOptions::default().set_indexing_options(indexing)
}

/// The tokenizers that the schema names.
pub(super) fn tokenizers() -> TokenizerManager {
    let tokenizers = TokenizerManager::default();
    tokenizers.register(SPLIT, Split::default());
    tokenizers
}

/// Takes tokens apart that the analyser made and [`SEPARATOR`] ends.
#[derive(Clone, Default)]
struct Split {
    token: Token,
}

/// The tokens of a text in which [`SEPARATOR`] ends each.
#[derive(Debug)]
pub struct SplitStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl<'a> SplitStream<'a> {
    /// The tokens of a text, one after another in the same place.
    pub fn new(text: &'a str, token: &'a mut Token) -> Self {
        token.reset();
        Self { rest: text, token }
    }
}

impl Tokenizer for Split {
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
