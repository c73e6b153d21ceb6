//! The least a search can be: tantivy's own scorer over the same words in the same index.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use gbrain_core::text::QueryTerms;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, Index, ReloadPolicy, Score, Searcher, Term};

/// The field of stems in gbrain's index: an ordinary text field with frequencies and lengths.
const STEMS: &str = "text";
const LIMIT: usize = 10;

/// An open index, searched as tantivy is.
pub(crate) struct TantivyIndex {
    searcher: Searcher,
    field: Field,
}

impl TantivyIndex {
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        let index = Index::open_in_dir(dir)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { searcher: reader.searcher(), field: index.schema().get_field(STEMS)? })
    }

    /// The ten best chunks for the stems of a query.
    pub(crate) fn search(&self, terms: &QueryTerms) -> Result<Vec<(Score, DocAddress)>> {
        let clauses = terms.terms.iter().map(|term| {
            let term = Term::from_field_text(self.field, &term.stem);
            let query: Box<dyn Query> =
                Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
            (Occur::Should, query)
        });
        let query = BooleanQuery::new(clauses.collect());
        Ok(self.searcher.search(&query, &TopDocs::with_limit(LIMIT).order_by_score())?)
    }

    pub(crate) fn segments(&self) -> usize {
        self.searcher.segment_readers().len()
    }
}

/// Opens, searches, prints: the process that a cold start is compared with.
pub(crate) fn run(dir: &Path, terms: &[String]) -> Result<ExitCode> {
    let found = TantivyIndex::open(dir)?.search(&QueryTerms::of(&terms.join(" ")))?;
    let mut stdout = std::io::stdout().lock();
    for (score, address) in found {
        writeln!(stdout, "{score}\t{}\t{}", address.segment_ord, address.doc_id)?;
    }
    Ok(ExitCode::SUCCESS)
}
