//! Reports of contradictions: findings name two pages, quote both and give commands for them.

use serde_json::{Map, Value};

use super::{ErasedPage, PURGED};

impl ErasedPage {
    /// A report without the page: its statements, and what the judge said of pairs with it, become markers. Counts,
    /// rates and the verdict stay. `None` if the report does not name the page.
    pub fn erase_from_contradiction_report(&self, body: &str) -> Option<String> {
        let mut report: Value = serde_json::from_str(body).ok()?;
        let mut renamed = Vec::new();
        if let Some(findings) = report.get_mut("findings").and_then(Value::as_array_mut) {
            for finding in findings.iter_mut().filter_map(Value::as_object_mut) {
                if let Some(pair) = self.finding(finding, renamed.len()) {
                    renamed.push(pair);
                }
            }
        }
        let is_hot = self.hot_pages(&mut report);
        self.pair_ids(&mut report, &renamed);
        let is_mentioned = self.replace_in_strings(&mut report);
        (is_hot || is_mentioned || !renamed.is_empty()).then(|| report.to_string())
    }

    /// Erases the page from a finding; the old and the new id of the pair, which is a hash of both texts.
    fn finding(&self, finding: &mut Map<String, Value>, nth: usize) -> Option<(Value, Value)> {
        let mut is_of_page = false;
        for side in ["a", "b"] {
            let member = finding.get_mut(side).and_then(Value::as_object_mut);
            if let Some(member) = member.filter(|member| self.is_member(member)) {
                self.member(member);
                is_of_page = true;
            }
        }
        if !is_of_page {
            return None;
        }
        finding.insert("axis".to_owned(), PURGED.into());
        for proposal in ["resolution_advice", "resolution_command"] {
            finding.insert(proposal.to_owned(), Value::Null);
        }
        let id = Value::from(format!("{}.{}", self.pseudonym(), nth + 1));
        let old = finding.insert("pair_id".to_owned(), id.clone()).unwrap_or_default();
        Some((old, id))
    }

    fn is_member(&self, member: &Map<String, Value>) -> bool {
        let text = |name: &str| member.get(name).and_then(Value::as_str);
        text("source_id") == Some(self.key.source.as_str())
            && text("slug") == Some(self.key.slug.as_str())
    }

    fn member(&self, member: &mut Map<String, Value>) {
        member.insert("slug".to_owned(), self.pseudonym().into());
        member.insert("text".to_owned(), PURGED.into());
        for derived in ["holder", "effective_date", "effective_date_source"] {
            member.insert(derived.to_owned(), Value::Null);
        }
        if member.get("chunk_id").is_some_and(Value::is_string) {
            member.insert("chunk_id".to_owned(), self.pseudonym().into());
        }
    }

    fn hot_pages(&self, report: &mut Value) -> bool {
        let pages = report.get_mut("hot_pages").and_then(Value::as_array_mut);
        let mut is_changed = false;
        for page in pages.into_iter().flatten().filter_map(Value::as_object_mut) {
            if self.is_member(page) {
                page.insert("slug".to_owned(), self.pseudonym().into());
                is_changed = true;
            }
        }
        is_changed
    }

    fn pair_ids(&self, report: &mut Value, renamed: &[(Value, Value)]) {
        let queries = report.get_mut("per_query").and_then(Value::as_array_mut);
        for query in queries.into_iter().flatten() {
            let ids = query.get_mut("contradictions").and_then(Value::as_array_mut);
            for id in ids.into_iter().flatten() {
                if let Some((_, new)) = renamed.iter().find(|(old, _)| old == id) {
                    *id = new.clone();
                }
            }
        }
    }
}
