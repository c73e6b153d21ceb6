//! Paired differences: each query against itself.

use rustc_hash::FxHashMap;

use crate::named;
use crate::reading::meter::{ReadingMeter, ReadingMeterError};
use crate::stats::{
    Interval, bounded_mean, holm, mcnemar, mean, paired_permutation_until,
    smallest_paired_drop_until,
};

use super::decision::{level, primary};
use super::{IncomparableReason, MeasureColumn, MeasureRole, ResultRow, ResultTable, incomparable};

/// The error rate of all tests of a comparison together.
pub const ALPHA: f64 = 0.05;
/// Random signs drawn by the permutation test where not all are counted.
pub const ROUNDS: u32 = 10_000;
const SEED: u64 = 42;

/// Memory of two matching rows, beside a list of labels or moves.
const PAIR_BYTES: usize = 144;
/// Memory of a query that moved, here and in the output, beside its texts.
const MOVE_BYTES: usize = 400;

/// Options of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompareOptions {
    /// Whether to compare although a condition differs.
    pub is_forced: bool,
    /// The measures that decide; by default one that fits the kind of result.
    pub primary: Vec<String>,
}

named! {
    /// The test that gave a p-value.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum SignificanceTest {
        /// Paired randomisation of signs.
        Permutation = "paired_permutation",
        McNemar = "mcnemar",
        /// None: latencies are not tested.
        None = "none",
    }
}

/// One measure, before and after.
#[derive(Debug, Clone, PartialEq)]
pub struct Delta {
    pub column: MeasureColumn,
    /// Whether it decides about a regression.
    pub decides: bool,
    /// Queries that have a value on both sides.
    pub n: usize,
    /// Shared queries that have a value in the reference alone.
    pub missing: usize,
    /// Mean of the reference over these.
    pub before: Option<f64>,
    /// Mean of the other over these.
    pub after: Option<f64>,
    pub delta: Option<f64>,
    /// Its 95% interval; none below two queries and for values without bounds, such as times.
    pub interval: Option<Interval>,
    /// The test that was made.
    pub test: SignificanceTest,
    /// The p-value; none where nothing is tested.
    pub p: Option<f64>,
    /// The p-value after Holm's correction over the tests that decide; none where this one does
    /// not.
    pub p_adjusted: Option<f64>,
    /// The smallest drop that the test would have found with a power of .8, if queries lose their
    /// whole value; none where it does not decide or no such drop exists.
    pub smallest_drop: Option<f64>,
    /// Queries that are better, worse and the same.
    pub better_worse_same: [usize; 3],
    /// Queries that fell by at least a tenth of the largest fall: those that a test of the fall rests on.
    pub large_falls: usize,
}

impl Delta {
    /// Whether it decides and got worse, surely enough.
    pub(crate) fn is_regression(&self) -> bool {
        self.is_significant() && self.delta.is_some_and(|delta| delta < 0.0)
    }

    /// Whether it fell by its own p-value, which decides nothing.
    pub(crate) fn fell_without_deciding(&self) -> bool {
        let is_small = self.p.is_some_and(|p| p <= ALPHA);
        !self.decides && is_small && self.delta.is_some_and(|delta| delta < 0.0)
    }

    /// Whether it decides and got better, surely enough.
    pub(crate) fn is_improvement(&self) -> bool {
        self.is_significant() && self.delta.is_some_and(|delta| delta > 0.0)
    }

    fn is_significant(&self) -> bool {
        self.p_adjusted.is_some_and(|p| p <= ALPHA)
    }
}

/// A query whose value moved: the measure of it that moved most.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryMove {
    pub key: String,
    /// The name that reports show.
    pub label: String,
    pub measure: String,
    /// Its value in the reference.
    pub before: f64,
    /// Its value in the other.
    pub after: f64,
}

/// A result compared with the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultComparison {
    /// The name of the result.
    pub name: String,
    /// Every measure that both have, in the order of the reference.
    pub deltas: Vec<Delta>,
    /// Queries that both have.
    pub shared: usize,
    /// Queries that only the reference has.
    pub only_reference: Vec<String>,
    /// Queries that only this one has.
    pub only_this: Vec<String>,
    /// Queries that the reference answered and this one did not.
    pub unanswered: Vec<String>,
    /// Measures that only one side has.
    pub unshared_measures: Vec<String>,
    /// Queries that moved: the largest drop first, the largest gain last.
    pub moves: Vec<QueryMove>,
    /// Why they should not have been compared, where that was forced.
    pub forced: Vec<IncomparableReason>,
}

impl ResultComparison {
    /// Queries that got worse, the worst first.
    pub fn drops(&self) -> impl Iterator<Item = &QueryMove> {
        self.moves.iter().filter(|one| one.after < one.before)
    }

    /// Queries that got better, the best first.
    pub(crate) fn gains(&self) -> impl Iterator<Item = &QueryMove> {
        self.moves.iter().rev().filter(|one| one.after > one.before)
    }
}

/// Results compared with the first of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The name of the reference.
    pub reference: String,
    /// The kind of all results.
    pub kind: super::EvalResultKind,
    /// Remarks about the results, by name.
    pub notes: Vec<(String, String)>,
    /// The measures that decide.
    pub primary: Vec<String>,
    pub against: Vec<ResultComparison>,
}

impl Comparison {
    /// Whether a measure that decides got worse, surely enough.
    pub(crate) fn has_regression(&self) -> bool {
        self.against.iter().flat_map(|one| &one.deltas).any(Delta::is_regression)
    }

    /// Whether every query of the reference was answered and tested everywhere: without that, no
    /// regression found is no evidence of none.
    pub fn is_whole(&self) -> bool {
        self.against.iter().all(|one| {
            one.only_reference.is_empty()
                && one.unanswered.is_empty()
                && one.deltas.iter().all(|delta| !delta.decides || delta.missing == 0)
                && one.deltas.iter().any(|delta| delta.decides && delta.p.is_some())
        })
    }
}

/// Why there is no comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum CompareError {
    /// The results can't be compared.
    Incomparable(Vec<IncomparableReason>),
    /// It was stopped, or would take too much memory.
    Interrupted(ReadingMeterError),
}

impl From<ReadingMeterError> for CompareError {
    fn from(error: ReadingMeterError) -> Self {
        Self::Interrupted(error)
    }
}

/// Compares results with the reference. Results that can't be compared, unless forced, are an
/// error.
pub fn compare(
    reference: &ResultTable,
    others: &[ResultTable],
    options: &CompareOptions,
) -> Result<Comparison, Vec<IncomparableReason>> {
    let compared = compare_metered(reference, others, options, &mut ReadingMeter::unlimited());
    compared.map_err(|error| match error {
        CompareError::Incomparable(reasons) => reasons,
        CompareError::Interrupted(_) => unreachable!("a meter without limits never interrupts"),
    })
}

/// The same within limits.
pub fn compare_metered(
    reference: &ResultTable,
    others: &[ResultTable],
    options: &CompareOptions,
    meter: &mut ReadingMeter<'_>,
) -> Result<Comparison, CompareError> {
    let mut reasons: Vec<Vec<IncomparableReason>> = Vec::with_capacity(others.len());
    for other in others {
        meter.count_temporary((reference.rows.len() + other.rows.len()) * PAIR_BYTES)?;
        reasons.push(incomparable(reference, other));
    }
    let stands = |reason: &&IncomparableReason| !options.is_forced || !reason.can_be_forced();
    let standing: Vec<IncomparableReason> =
        reasons.iter().flatten().filter(stands).cloned().collect();
    if !standing.is_empty() {
        return Err(CompareError::Incomparable(standing));
    }
    let primary = primary(reference, others, &options.primary)
        .map_err(|reason| CompareError::Incomparable(vec![reason]))?;
    let deciding =
        DecidingMeasures { level: level(primary.len() * others.len()), measures: &primary };
    let mut against: Vec<ResultComparison> = Vec::with_capacity(others.len());
    for (other, forced) in others.iter().zip(reasons) {
        against.push(ResultComparison { forced, ..pair(reference, other, &deciding, meter)? });
    }
    adjust(&mut against);
    let notes = [reference]
        .into_iter()
        .chain(others)
        .flat_map(|one| one.notes.iter().map(|note| (one.name.clone(), note.clone())));
    let (name, kind) = (reference.name.clone(), reference.kind);
    Ok(Comparison { notes: notes.collect(), reference: name, kind, primary, against })
}

/// The measures that decide, and the level of each of their tests.
struct DecidingMeasures<'a> {
    level: f64,
    measures: &'a [String],
}

fn pair(
    reference: &ResultTable,
    other: &ResultTable,
    deciding: &DecidingMeasures<'_>,
    meter: &mut ReadingMeter<'_>,
) -> Result<ResultComparison, ReadingMeterError> {
    let (of_reference, of_other) = (by_key(&reference.rows), by_key(&other.rows));
    let rows: Vec<(&ResultRow, &ResultRow)> = reference
        .rows
        .iter()
        .filter_map(|row| Some((row, &other.rows[*of_other.get(row.key.as_str())?])))
        .collect();
    let columns = shared_columns(reference, other);
    let mut deltas = Vec::with_capacity(columns.len());
    for column in &columns {
        deltas.push(delta(&rows, column, deciding, meter)?);
    }
    Ok(ResultComparison {
        name: other.name.clone(),
        deltas,
        shared: rows.len(),
        only_reference: labels(
            &reference.rows,
            |row| !of_other.contains_key(row.key.as_str()),
            meter,
        )?,
        only_this: labels(&other.rows, |row| !of_reference.contains_key(row.key.as_str()), meter)?,
        unanswered: labels(
            rows.iter().filter(|(a, b)| a.is_answered && !b.is_answered).map(|(row, _)| *row),
            |_| true,
            meter,
        )?,
        unshared_measures: unshared(reference, other),
        moves: moves(&rows, &columns, meter)?,
        forced: Vec::new(),
    })
}

fn by_key(rows: &[ResultRow]) -> FxHashMap<&str, usize> {
    rows.iter().enumerate().map(|(at, row)| (row.key.as_str(), at)).collect()
}

/// The labels of those rows that are wanted.
fn labels<'a>(
    rows: impl IntoIterator<Item = &'a ResultRow>,
    is_wanted: impl Fn(&ResultRow) -> bool,
    meter: &mut ReadingMeter<'_>,
) -> Result<Vec<String>, ReadingMeterError> {
    let mut labels = Vec::new();
    for row in rows.into_iter().filter(|row| is_wanted(row)) {
        // The label here, and where the report is written.
        meter.count_held(3 * (size_of::<String>() + row.label.len()))?;
        labels.push(row.label.clone());
    }
    Ok(labels)
}

/// A measure with its place in both results.
struct SharedColumn<'a> {
    column: &'a MeasureColumn,
    places: (usize, usize),
}

impl SharedColumn<'_> {
    fn values(&self, (a, b): (&ResultRow, &ResultRow)) -> Option<(f64, f64)> {
        a.values[self.places.0].zip(b.values[self.places.1])
    }

    fn is_lost(&self, (a, b): (&ResultRow, &ResultRow)) -> bool {
        a.values[self.places.0].is_some() && b.values[self.places.1].is_none()
    }
}

fn shared_columns<'a>(reference: &'a ResultTable, other: &ResultTable) -> Vec<SharedColumn<'a>> {
    let place =
        |column: &MeasureColumn| other.columns.iter().position(|c| c.measure == column.measure);
    let columns = reference.columns.iter().enumerate();
    columns
        .filter_map(|(at, column)| Some(SharedColumn { column, places: (at, place(column)?) }))
        .collect()
}

fn unshared(reference: &ResultTable, other: &ResultTable) -> Vec<String> {
    let missing = |from: &ResultTable, of: &ResultTable| -> Vec<String> {
        let is_missing =
            |column: &&MeasureColumn| !of.columns.iter().any(|c| c.measure == column.measure);
        from.columns.iter().filter(is_missing).map(|column| column.measure.clone()).collect()
    };
    [missing(reference, other), missing(other, reference)].concat()
}

fn delta(
    rows: &[(&ResultRow, &ResultRow)],
    shared: &SharedColumn<'_>,
    deciding: &DecidingMeasures<'_>,
    meter: &ReadingMeter<'_>,
) -> Result<Delta, ReadingMeterError> {
    meter.check()?;
    let is_stopped = || meter.is_stopped();
    let decides = deciding.measures.contains(&shared.column.measure);
    let pairs = rows.iter().filter_map(|pair| shared.values(*pair));
    let (before, after): (Vec<f64>, Vec<f64>) = pairs.unzip();
    let differences: Vec<f64> = before.iter().zip(&after).map(|(b, a)| a - b).collect();
    let (test, p) = tested(shared.column.role, &differences, &is_stopped);
    let higher = differences.iter().filter(|d| **d > 0.0).count();
    let lower = differences.iter().filter(|d| **d < 0.0).count();
    let (better, worse) =
        if shared.column.role == MeasureRole::Timing { (lower, higher) } else { (higher, lower) };
    let smallest_drop = || smallest_paired_drop_until(&before, &after, deciding.level, &is_stopped);
    let delta = Delta {
        column: shared.column.clone(),
        decides,
        n: differences.len(),
        missing: rows.iter().filter(|pair| shared.is_lost(**pair)).count(),
        before: mean(&before),
        after: mean(&after),
        delta: mean(&differences),
        interval: interval(shared.column, &before, &after),
        test,
        p,
        p_adjusted: None,
        smallest_drop: decides.then(smallest_drop).flatten(),
        better_worse_same: [better, worse, differences.len() - higher - lower],
        large_falls: large_falls(&differences),
    };
    // A cancelled comparison reports no difference.
    meter.check()?;
    Ok(delta)
}

fn large_falls(differences: &[f64]) -> usize {
    let largest = differences.iter().copied().fold(0.0, f64::min);
    let is_large = |difference: &&f64| **difference < 0.0 && **difference <= largest / 10.0;
    differences.iter().filter(is_large).count()
}

fn tested(
    role: MeasureRole,
    differences: &[f64],
    is_stopped: &dyn Fn() -> bool,
) -> (SignificanceTest, Option<f64>) {
    let some = |p: f64| (!differences.is_empty()).then_some(p);
    match role {
        MeasureRole::Timing => (SignificanceTest::None, None),
        MeasureRole::Quality => {
            let p = paired_permutation_until(differences, ROUNDS, SEED, is_stopped);
            (SignificanceTest::Permutation, p.and_then(some))
        }
        MeasureRole::Binary => {
            let lost = differences.iter().filter(|d| **d < 0.0).count() as u64;
            let won = differences.iter().filter(|d| **d > 0.0).count() as u64;
            (SignificanceTest::McNemar, some(mcnemar(lost, won)))
        }
    }
}

/// The interval of the mean difference, where values have bounds. Values between 0 and 1 differ by 1 at
/// most, correlations by 2.
fn interval(column: &MeasureColumn, before: &[f64], after: &[f64]) -> Option<Interval> {
    let lowest = if column.measure.starts_with("kendall") { -1.0 } else { 0.0 };
    let range = Interval { low: lowest - 1e-9, high: 1.0 + 1e-9 };
    let is_bounded = before.iter().chain(after).all(|value| range.contains(*value));
    if column.role == MeasureRole::Timing || !is_bounded {
        return None;
    }
    let differences: Vec<f64> = before.iter().zip(after).map(|(b, a)| a - b).collect();
    let widest = 1.0 - lowest;
    bounded_mean(&differences, Interval { low: -widest, high: widest }, 1.0 - ALPHA)
}

/// Holm's correction over the tests that decide.
fn adjust(against: &mut [ResultComparison]) {
    let mut deciding: Vec<&mut Delta> = against
        .iter_mut()
        .flat_map(|one| &mut one.deltas)
        .filter(|delta| delta.decides && delta.p.is_some())
        .collect();
    let p_values: Vec<f64> = deciding.iter().filter_map(|delta| delta.p).collect();
    for (delta, p) in deciding.iter_mut().zip(holm(&p_values)) {
        delta.p_adjusted = Some(p);
    }
}

/// Queries that moved, each by the measure that moved most; a drop counts before any gain.
fn moves(
    rows: &[(&ResultRow, &ResultRow)],
    columns: &[SharedColumn<'_>],
    meter: &mut ReadingMeter<'_>,
) -> Result<Vec<QueryMove>, ReadingMeterError> {
    let quality: Vec<&SharedColumn<'_>> =
        columns.iter().filter(|shared| shared.column.role != MeasureRole::Timing).collect();
    let mut moves: Vec<(f64, QueryMove)> = Vec::new();
    for pair in rows {
        meter.check()?;
        let changes = quality.iter().filter_map(|shared| {
            let (before, after) = shared.values(*pair)?;
            Some((after - before, shared, before, after))
        });
        let changes: Vec<_> = changes.filter(|(change, ..)| *change != 0.0).collect();
        let lowest = changes.iter().filter(|(change, ..)| *change < 0.0);
        let lowest = lowest.min_by(|a, b| a.0.total_cmp(&b.0));
        let highest = || changes.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((change, shared, before, after)) = lowest.or_else(highest) {
            let ResultRow { key, label, .. } = pair.0;
            let texts = key.len() + label.len() + shared.column.measure.len();
            meter.count_held(MOVE_BYTES + 4 * texts)?;
            let (key, label) = (key.clone(), label.clone());
            let measure = shared.column.measure.clone();
            moves
                .push((*change, QueryMove { key, label, measure, before: *before, after: *after }));
        }
    }
    // Sorting is stable: equal drops keep the order of the file.
    moves.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(moves.into_iter().map(|(_, one)| one).collect())
}
