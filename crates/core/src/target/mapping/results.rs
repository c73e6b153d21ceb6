//! Reading results: from rows, or from columns side by side.

use serde_json::Value;

use crate::fault::{message_in, one_line};
use crate::target::path::{LookupError, Path};
use crate::target::{DocumentIdRule, TargetError, TargetResult};

use super::value::{column, id, must, number, number_or_null, one, text, text_or_null};
use super::{ResultPaths, ScoreKind};

/// A field of a result.
type Field = fn(&mut TargetResult) -> &mut Option<String>;

impl ResultPaths {
    pub(super) fn read(
        &self,
        answer: &Value,
        ids: &DocumentIdRule,
        k: usize,
    ) -> Result<Vec<TargetResult>, TargetError> {
        let found = match &self.rows {
            Some(rows) => {
                let rows = rows.all(answer).map_err(|error| no_results(answer, &error))?;
                let rows = rows.into_iter().take(k).enumerate();
                rows.map(|(at, row)| self.row(row).map_err(|error| in_result(at, error)))
                    .collect::<Result<Vec<_>, _>>()?
            }
            None => self.columns(answer, k)?,
        };
        let named = found.into_iter().enumerate();
        named.map(|(at, one)| ids.apply(one).map_err(|error| in_result(at, error))).collect()
    }

    fn row(&self, row: &Value) -> Result<TargetResult, TargetError> {
        let score = one(row, self.score.as_ref(), number)?;
        Ok(TargetResult {
            document: must(row, &self.document)?,
            chunk: one(row, self.chunk.as_ref(), id)?,
            source: one(row, self.source.as_ref(), id)?,
            score: score.map(|score| self.score_kind.of(score)),
            title: one(row, self.title.as_ref(), text)?,
            snippet: one(row, self.snippet.as_ref(), text)?,
            text: one(row, self.text.as_ref(), text)?,
        })
    }

    /// Columns: each path gives one value a result, null where there is none.
    fn columns(&self, answer: &Value, k: usize) -> Result<Vec<TargetResult>, TargetError> {
        let documents = self.document.all(answer).map_err(|error| no_results(answer, &error))?;
        let length = documents.len();
        let mut found: Vec<TargetResult> = Vec::new();
        for (at, document) in documents.into_iter().take(k).enumerate() {
            let document = id(document).map_err(|wrong| in_result(at, wrong.at(&self.document)))?;
            found.push(TargetResult { document, ..TargetResult::default() });
        }
        let scores = column(answer, self.score.as_ref(), length, number_or_null)?;
        for (one, score) in found.iter_mut().zip(scores) {
            one.score = score.map(|score| self.score_kind.of(score));
        }
        let texts: [(&Option<Path>, Field); 5] = [
            (&self.chunk, |found| &mut found.chunk),
            (&self.source, |found| &mut found.source),
            (&self.title, |found| &mut found.title),
            (&self.snippet, |found| &mut found.snippet),
            (&self.text, |found| &mut found.text),
        ];
        for (path, field) in texts {
            let texts = column(answer, path.as_ref(), length, text_or_null)?;
            for (one, text) in found.iter_mut().zip(texts) {
                *field(one) = text;
            }
        }
        Ok(found)
    }
}

impl ScoreKind {
    fn of(self, number: f64) -> f64 {
        match self {
            Self::Score => number,
            Self::Distance => -number,
        }
    }
}

fn in_result(at: usize, error: TargetError) -> TargetError {
    TargetError { message: format!("result {}: {}", at + 1, error.message), ..error }
}

/// An answer without results may say why.
fn no_results(answer: &Value, error: &LookupError) -> TargetError {
    let message = message_in(answer).map(one_line);
    let message = message.map(|text| format!("; it says: {text}")).unwrap_or_default();
    TargetError::malformed(format!("no results: {error}{message}"))
}
