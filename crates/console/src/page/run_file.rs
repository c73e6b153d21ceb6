//! A saved run: the rankings of queries, without judgements.

use gbrain_core::run::Run;
use maud::html;

use super::row::PAGES;
use super::view::RowView;
use crate::part::{self, empty, heading, page_name, query, section};
use crate::shell::{Page, Section};

/// A run that was read.
#[derive(Debug)]
pub(crate) struct RunFile {
    rankings: Vec<Ranking>,
}

#[derive(Debug)]
struct Ranking {
    query: String,
    documents: Vec<String>,
    count: usize,
}

impl RunFile {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let run = Run::parse(text.as_bytes()).map_err(|error| error.to_string())?;
        let rankings = run.rankings().map(|(query, hits)| Ranking {
            query: query.to_owned(),
            documents: hits.iter().take(PAGES).map(|hit| hit.doc.to_string()).collect(),
            count: hits.len(),
        });
        Ok(Self { rankings: rankings.collect() })
    }

    pub(crate) fn page(&self, view: &RowView) -> Page {
        let hits: usize = self.rankings.iter().map(|one| one.count).sum();
        let facts = [
            ("Queries", html! { (part::thousands(self.rankings.len() as u64)) }),
            ("Results", html! { (part::thousands(hits as u64)) }),
        ];
        Page {
            title: "Run".to_owned(),
            section: Section::Runs,
            command: "gbrain eval score --run FILE --qrels QRELS".to_owned(),
            header: html! { (heading("saved run", "Run", None, "The rankings of queries, without judgements.")) (part::facts(&facts)) },
            main: if self.rankings.is_empty() {
                empty("This run has no rankings.", "gbrain eval record --help")
            } else {
                self.list(view)
            },
            pager: view.pager(self.rankings.len()),
            ..Page::default()
        }
    }

    fn list(&self, view: &RowView) -> maud::Markup {
        section(
            "rankings",
            "Rankings",
            "",
            &html! {
                @for one in view.slice(&self.rankings) {
                    details {
                        summary { span { (part::count(one.count as u64, "result", "results")) } (query(&one.query)) }
                        div.inside {
                            ol.results { @for page in &one.documents { li { (page_name(page)) } } }
                            @if one.count > one.documents.len() { p.more { (one.count - one.documents.len()) " more ranks." } }
                        }
                    }
                }
                (view.left_out(self.rankings.len(), "query", "queries"))
            },
        )
    }
}
