//! Judgements as lines: TREC's `query iteration document grade`, split at blanks, and BEIR's
//! `query-id corpus-id score`, split at tabs. Lines that start with `#` are remarks, as in
//! trec_eval 10.

use rustc_hash::FxHashMap;

use super::{
    JudgedQuery, Judgement, Qrels, QrelsError, QrelsFormat, QrelsLocation, QrelsWarning, settled,
    whole_grade,
};
use crate::address::without_passwords;
use crate::fields::FieldWalker;
use crate::reading::meter::ReadingMeter;

const EXPECTED: &str =
    "expected `query iteration document grade` (TREC) or `query-id<TAB>corpus-id<TAB>score` (BEIR)";

/// Memory of a query beside its first judgement, in its list and where ids are compared.
const QUERY_BYTES: usize = size_of::<JudgedQuery>() + 96;
/// Memory of a further judgement of a query beside the name of its document, while its list grows.
const JUDGEMENT_BYTES: usize = 3 * size_of::<Judgement>() + 28;

/// A row of either shape.
struct JudgementRow<'a> {
    query: &'a str,
    doc: &'a str,
    grade: &'a str,
}

pub(super) fn parse(text: &str, meter: &mut ReadingMeter<'_>) -> Result<Qrels, QrelsError> {
    let mut lines = lines(text).peekable();
    let Some((first, head)) = lines.peek().copied() else { return Err(QrelsError::Empty) };
    let mut lints = Vec::new();
    let shape = shape(head).ok_or_else(|| {
        QrelsError::malformed(QrelsLocation::Line(first), format!("`{}`: {EXPECTED}", shown(head)))
    })?;
    if shape == QrelsFormat::Beir {
        match beir_row(head) {
            Some(row) if row.grade.parse::<f64>().is_ok() => lints.push(QrelsWarning::NoHeader),
            _ => drop(lines.next()),
        }
    }
    // In a file without order there are fewer: room that is not used takes no memory.
    let runs = runs_of_queries(text);
    let places = FxHashMap::with_capacity_and_hasher(runs, rustc_hash::FxBuildHasher);
    let mut queries = QueryCollector { all: Vec::with_capacity(runs), places, last: None };
    for (line, text) in lines {
        let row = if shape == QrelsFormat::Beir { beir_row(text) } else { trec_row(text) };
        let place = QrelsLocation::Line(line);
        let row = row.ok_or_else(|| {
            QrelsError::malformed(place, format!("`{}`: {EXPECTED}", shown(text)))
        })?;
        queries.add(row, place, meter)?;
    }
    let queries = settled(queries.all, &mut lints, meter)?;
    Ok(Qrels { queries, shape, lints })
}

/// Queries in the order they first stand in.
struct QueryCollector<'a> {
    all: Vec<JudgedQuery>,
    places: FxHashMap<&'a str, usize>,
    last: Option<(&'a str, usize)>,
}

impl<'a> QueryCollector<'a> {
    fn add(
        &mut self,
        row: JudgementRow<'a>,
        place: QrelsLocation,
        meter: &mut ReadingMeter<'_>,
    ) -> Result<(), QrelsError> {
        let grade = whole_grade(row.grade, place, row.doc)?;
        let known = self.all.len();
        let at = self.place(row.query);
        let taken = if at == known {
            QUERY_BYTES + row.query.len() + size_of::<Judgement>() + 8
        } else {
            JUDGEMENT_BYTES
        };
        meter.count_held(taken + row.doc.len()).map_err(QrelsError::Interrupted)?;
        self.all[at].judgements.push(Judgement { doc: row.doc.to_owned(), grade });
        Ok(())
    }

    fn place(&mut self, query: &'a str) -> usize {
        if let Some((_, at)) = self.last.filter(|(last, _)| *last == query) {
            return at;
        }
        let next = self.all.len();
        let at = *self.places.entry(query).or_insert(next);
        if at == next {
            let (id, judgements) = (query.to_owned(), Vec::with_capacity(1));
            self.all.push(JudgedQuery { id, judgements, ..JudgedQuery::default() });
        }
        self.last = Some((query, at));
        at
    }
}

/// How many times the query changes from one line to the next: no fewer than there are queries.
fn runs_of_queries(text: &str) -> usize {
    let (mut runs, mut last) = (0, "");
    for (_, line) in lines(text) {
        let query = line.split_whitespace().next().unwrap_or_default();
        runs += usize::from(query != last);
        last = query;
    }
    runs
}

/// Lines that say something, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    numbered.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
}

fn shape(head: &str) -> Option<QrelsFormat> {
    if beir_row(head).is_some() {
        return Some(QrelsFormat::Beir);
    }
    trec_row(head).map(|_| QrelsFormat::Trec)
}

fn trec_row(line: &str) -> Option<JudgementRow<'_>> {
    let mut fields = FieldWalker::new(line);
    let (query, _) = (fields.field(), fields.field());
    let (doc, grade, more) = (fields.field(), fields.field(), fields.field());
    (!grade.is_empty() && more.is_empty()).then_some(JudgementRow { query, doc, grade })
}

fn beir_row(line: &str) -> Option<JudgementRow<'_>> {
    let mut fields = line.split('\t').map(str::trim);
    let (query, doc, grade) = (fields.next()?, fields.next()?, fields.next()?);
    let is_whole = !query.is_empty() && !doc.is_empty() && fields.next().is_none();
    is_whole.then_some(JudgementRow { query, doc, grade })
}

/// As much of a line as an error may hold. Passwords are hidden before it is cut: half of one would not be known again.
fn shown(line: &str) -> String {
    let mut shown = without_passwords(line).into_owned();
    shown.truncate(shown.floor_char_boundary(80));
    shown
}
