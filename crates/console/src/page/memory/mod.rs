//! The memory: pages that are searched, browsed, read, compared, written and deleted.

mod edit;
mod history;
mod list;
mod text;
mod view;

use gbrain_core::triage::shell_word;
use maud::{Markup, html};

use crate::part::{page_name, percent_encoded, text as shown};

pub use edit::{Draft, confirm_delete, edit, write};
pub use history::{ComparedVersions, PageVersions, VersionEntry, history};
pub(crate) use list::reason;
pub use list::{
    ListQuery, MemoryContent, PageEntry, PageList, SearchHit, SearchResult, SnippetEntry,
    SourceEntry, SourceList, list,
};
pub use view::{EdgeEntry, LinkList, PageState, PageView, StoredText, TakeEntry, deleted, view};

/// The path of a page of the memory, named `source::slug`.
pub fn page_path(name: &str) -> String {
    format!("/pages/{}", percent_encoded(name))
}

/// A page below the page of a name, such as its history.
fn path_below(name: &str, what: &str) -> String {
    format!("{}/{what}", page_path(name))
}

/// A link to a page of the memory by its name.
pub(crate) fn page_link(name: &str) -> Markup {
    html! { a href=(page_path(name)) { (page_name(name)) } }
}

/// A link to a page of the memory by its title, with the name for pasting below.
pub(crate) fn titled_link(name: &str, title: &str) -> Markup {
    html! {
        a href=(page_path(name)) { bdi { (shown(if title.is_empty() { name } else { title })) } }
        span.note { (page_name(name)) }
    }
}

/// A command with words that the shell must not read.
pub(crate) fn command_line(command: &str, words: &[(&str, &str)]) -> String {
    let mut line = command.to_owned();
    for (flag, value) in words.iter().filter(|(_, value)| !value.is_empty()) {
        line.push(' ');
        if flag.is_empty() && value.starts_with('-') {
            line.push_str("-- ");
        } else if !flag.is_empty() {
            line.push_str(flag);
            line.push(if value.starts_with('-') { '=' } else { ' ' });
        }
        line.push_str(&shell_word(value));
    }
    line
}

#[cfg(test)]
mod tests;
