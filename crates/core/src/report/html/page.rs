//! The HTML page around a report.

const STYLE: &str = include_str!("page.css");

/// The overall result: its word and CSS class.
#[derive(Debug, Clone, Copy)]
pub(super) struct Banner<'a> {
    pub(super) class: &'a str,
    pub(super) word: &'a str,
    /// The command that produced the report.
    pub(super) what: &'a str,
    /// The reason in one line, as markup.
    pub(super) why: &'a str,
}

/// A complete page. Facts are names and values, as markup.
pub(super) fn page(banner: Banner<'_>, facts: &[(&str, String)], body: &str) -> String {
    let Banner { class, word, what, why } = banner;
    let fact =
        |(name, value): &(&str, String)| format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n");
    let facts: String = facts.iter().map(fact).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
         http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n<meta \
         name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" \
         content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n<link rel=\"icon\" \
         href=\"data:,\">\n<title>{word}: {what}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header class=\"banner {class}\">\n<p class=\"what\">{what}</p>\n<h1>{word}</h1>\n<p \
         class=\"why\">{why}</p>\n<dl class=\"facts\">\n{facts}</dl>\n</header>\n<main>\n{body}</main>\n\
         <footer><p>Made by gbrain. This file contains queries and page names: share it as you would \
         share the brain.</p></footer>\n</body>\n</html>\n"
    )
}
