//! Pages that reviewers graded differently, and the choice of the grade that counts.

use maud::{Markup, html};
use serde::Deserialize;

use super::captures::document_url;
use super::labels::{GRADES, Review, grade_tag};
use crate::part::{self, Tone, count, csrf_field, empty, heading, query, tag, url};
use crate::shell::{Page, Section};

/// `GET /v1/labels/conflicts`.
#[derive(Debug, Deserialize)]
pub struct ConflictList {
    pub conflicts: Vec<Conflict>,
    pub next_after: Option<i64>,
    pub total: u64,
}

/// A page with different grades.
#[derive(Debug, Deserialize)]
pub struct Conflict {
    pub id: i64,
    pub query: String,
    pub query_id: String,
    pub page: String,
    pub grade: i64,
    pub reviews: Vec<Review>,
}

/// `may_settle`: whether the reader's token may change labels.
pub fn page(list: &ConflictList, may_settle: bool) -> Page {
    let next = list.next_after.map(|after| format!("/labels/conflicts?after={after}"));
    let why = match list.total {
        0 => String::new(),
        n => format!(
            "{} graded differently. Choose the grade that counts.",
            count(n, "page was", "pages were")
        ),
    };
    Page {
        title: "Label conflicts".to_owned(),
        section: Section::Labels,
        header: heading("Labels", "Conflicts", None, &why),
        main: html! {
            @if list.conflicts.is_empty() { (empty("Reviewers agree on every page that several of them judged.", "")) }
            @for one in &list.conflicts { (conflict(one, may_settle)) }
        },
        pager: html! { a href="/labels" { "Labels" } (part::next_page(next.as_deref())) },
        ..Page::default()
    }
}

fn conflict(one: &Conflict, may_settle: bool) -> Markup {
    let Conflict { id, query: text, query_id, page, grade, reviews } = one;
    let heading = format!("conflict-{id}");
    html! {
        section aria-labelledby=(heading) {
            h2 id=(heading) { a href=(url("/labels", &[("query", query_id)])) { (query(text)) } }
            p { a href=(document_url(page)) { (part::page_name(page)) } }
            ul.plain {
                @for review in reviews {
                    li {
                        bdi { strong { (part::text(&review.reviewer)) } } " " (grade_tag(review.grade))
                        @if review.borderline { " " (tag(Tone::Warning, "borderline")) }
                        @if let Some(span) = &review.span { span.note { "Answering text: " mark.span { (part::text(span)) } } }
                    }
                }
            }
            p.more { "Counts now: " (grade_tag(*grade)) ", the latest judgement." }
            @if may_settle { (settle(*id)) } @else { p.more { "A token of scope write may settle it." } }
        }
    }
}

fn settle(id: i64) -> Markup {
    html! {
        form.buttons method="post" action={ "/labels/conflicts/" (id) } {
            (csrf_field())
            span { "Settle on" }
            @for (grade, word) in GRADES {
                button type="submit" name="grade" value=(grade) { (grade) " " (word) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"{"conflicts":[{"id":7,"query":"who <b>?","query_id":"aa","page":"wiki::a","grade":0,"reviews":[
        {"reviewer":"ada","grade":3,"borderline":false,"span":null,"created_at":"2026-05-01T10:00:00Z"},
        {"reviewer":"bo <i>","grade":0,"borderline":true,"span":"x","created_at":"2026-05-01T10:00:00Z"}]}],"next_after":7,"total":9}"#;

    #[test]
    fn a_conflict_is_settled_by_a_grade() {
        let list: ConflictList = serde_json::from_str(LIST).unwrap();
        let shown = page(&list, true);
        let main = shown.main.into_string();
        assert!(
            main.contains("action=\"/labels/conflicts/7\"") && main.contains("name=\"csrf\""),
            "{main}"
        );
        assert_eq!(main.matches("name=\"grade\"").count(), 4);
        assert!(main.contains("bo &lt;i&gt;") && main.contains("who &lt;b&gt;?"), "{main}");
        assert!(shown.pager.into_string().contains("/labels/conflicts?after=7"));
        assert!(!page(&list, false).main.into_string().contains("<form"));
    }

    #[test]
    fn without_conflicts_it_says_so() {
        let list = ConflictList { conflicts: Vec::new(), next_after: None, total: 0 };
        assert!(page(&list, true).main.into_string().contains("Reviewers agree"));
    }
}
