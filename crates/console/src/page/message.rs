//! A page with a message: an error, or something that does not exist.

use maud::html;

use crate::part::{self, Tone, heading, message};
use crate::shell::{Page, Section};

/// A message and what to do next.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    pub title: &'a str,
    pub text: &'a str,
    pub hints: &'a [String],
}

pub fn page(section: Section, shown: &Message<'_>) -> Page {
    let Message { title, text, hints } = *shown;
    Page {
        title: title.to_owned(),
        section,
        header: html! { (heading("", title, Some(Tone::Warning), "")) p.why { (message(text)) } },
        main: part::section(
            "next",
            "What to do",
            "",
            &html! {
                @if !hints.is_empty() {
                    ul.plain { @for hint in hints { li { (message(hint)) } } }
                }
            },
        ),
        ..Page::default()
    }
}
