//! Which writes were acknowledged, and what the store may therefore hold.

use std::collections::{BTreeMap, BTreeSet};

/// Every page that was written, with what its writer was told.
///
/// A write without an answer may take effect at any later time, so its page is not written again.
#[derive(Debug, Default)]
pub(super) struct WriteLog {
    pages: BTreeMap<String, PageWrites>,
    /// Pages whose last acknowledged text is private.
    private: BTreeSet<String>,
    /// Writes that were acknowledged.
    pub(super) acknowledged: usize,
    /// The page of the last of them.
    last: Option<String>,
}

#[derive(Debug, Default)]
struct PageWrites {
    acknowledged: Option<String>,
    unanswered: Vec<String>,
}

impl WriteLog {
    /// A write was sent.
    pub(super) fn begin(&mut self, slug: &str, text: &str) {
        self.pages.entry(slug.to_owned()).or_default().unanswered.push(text.to_owned());
    }

    pub(super) fn acknowledge(&mut self, slug: &str, text: &str) {
        let page = self.pages.entry(slug.to_owned()).or_default();
        page.unanswered.retain(|sent| sent != text);
        page.acknowledged = Some(text.to_owned());
        self.acknowledged += 1;
        self.last = Some(slug.to_owned());
    }

    /// The last acknowledged text is private.
    pub(super) fn hide(&mut self, slug: &str) {
        self.private.insert(slug.to_owned());
    }

    /// Public pages whose text is certain.
    pub(super) fn certain(&self) -> Vec<(&str, &str)> {
        let certain = self.pages.iter().filter_map(|(slug, page)| {
            let is_certain = page.unanswered.is_empty() && !self.private.contains(slug);
            Some((slug.as_str(), page.acknowledged.as_deref().filter(|_| is_certain)?))
        });
        certain.collect()
    }

    /// The page that was acknowledged last, with its text, if nothing was sent since.
    pub(super) fn last(&self) -> Option<(&str, &str)> {
        let slug = self.last.as_deref()?;
        let page = self.pages.get(slug).filter(|page| page.unanswered.is_empty())?;
        Some((slug, page.acknowledged.as_deref()?))
    }

    /// Violations in the pages that a reader of the store sees.
    pub(super) fn check(&self, seen: &BTreeMap<String, String>) -> Vec<String> {
        let mut wrong = Vec::new();
        for (slug, page) in &self.pages {
            let found = seen.get(slug);
            let is_allowed = found == page.acknowledged.as_ref()
                || found.is_some_and(|text| page.unanswered.contains(text));
            if !is_allowed {
                let found = found.map_or("is gone".to_owned(), |text| {
                    format!("has another text of {} bytes", text.len())
                });
                wrong.push(format!("{slug} was acknowledged and {found}"));
            }
        }
        let strange = seen.keys().filter(|slug| !self.pages.contains_key(*slug));
        wrong.extend(strange.map(|slug| format!("{slug} is there and was never written")));
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pages: &[(&str, &str)]) -> BTreeMap<String, String> {
        pages.iter().map(|(page, text)| ((*page).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn an_acknowledged_write_must_be_there() {
        let mut log = WriteLog::default();
        log.begin("a", "one");
        assert!(log.check(&seen(&[])).is_empty() && log.check(&seen(&[("a", "one")])).is_empty());
        log.acknowledge("a", "one");
        assert_eq!(log.check(&seen(&[])).len(), 1);
        assert_eq!(log.check(&seen(&[("a", "other")])).len(), 1);
        assert_eq!(log.check(&seen(&[("a", "one"), ("b", "x")])).len(), 1);
    }

    #[test]
    fn an_unanswered_write_may_take_effect_later() {
        let mut log = WriteLog::default();
        log.begin("a", "one");
        log.acknowledge("a", "one");
        assert_eq!(log.certain(), [("a", "one")]);
        log.begin("a", "two");
        assert!(log.certain().is_empty());
        assert!(log.check(&seen(&[("a", "one")])).is_empty());
        assert!(log.check(&seen(&[("a", "two")])).is_empty());
    }

    #[test]
    fn a_private_page_is_not_asked_for() {
        let mut log = WriteLog::default();
        log.begin("a", "one");
        log.acknowledge("a", "one");
        log.hide("a");
        assert!(log.certain().is_empty());
        assert_eq!(log.last(), Some(("a", "one")));
    }
}
