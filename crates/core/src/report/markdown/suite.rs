//! A suite run as Markdown. Contains no queries, so it can be shared.

use crate::report::suite::{HEADS, cells, failing, headline, shown_measures, why, word, wrong};
use crate::suite::SuiteRun;

use super::{WORST, code, list, table};

/// The report of a run.
pub fn suite(run: &SuiteRun) -> String {
    let mut text =
        format!("## gbrain suites run: {}\n\n{}\n", word(run.verdict), code(&headline(run)));
    let reasons: Vec<String> = why(run).iter().map(|reason| code(reason)).collect();
    text.push_str(&list("Why", &reasons));
    let rows = shown_measures(run).map(|one| cells(one).map(|cell| code(&cell)).to_vec());
    text.push_str("\n### Measures\n\n");
    text.push_str(&table(&HEADS.map(str::to_owned), rows));
    let cases: Vec<String> = failing(run)
        .take(WORST)
        .map(|case| format!("{}: {}", code(&case.query_id), code(&wrong(case))))
        .collect();
    text.push_str(&list("Failing cases", &cases));
    let left = failing(run).count().saturating_sub(WORST);
    if left > 0 {
        text.push_str(&format!("\n{left} more not shown.\n"));
    }
    text
}
