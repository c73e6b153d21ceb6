//! Which rows of a report a page shows: filters, order and place, all of them part of the URL.

use maud::{Markup, html};

use crate::part::{self, count, url};

/// How many rows a page lists.
pub const PAGE_ROWS: usize = 200;

/// Which rows to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Show {
    /// The rows whose ranking changed, with those without a result beside them.
    #[default]
    Moved,
    Regressed,
    Improved,
    Errored,
    Unchanged,
    Unjudged,
    All,
}

impl Show {
    const ALL: [Self; 7] = [
        Self::Moved,
        Self::Regressed,
        Self::Improved,
        Self::Errored,
        Self::Unchanged,
        Self::Unjudged,
        Self::All,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Moved => "",
            Self::Regressed => "regressed",
            Self::Improved => "improved",
            Self::Errored => "errored",
            Self::Unchanged => "unchanged",
            Self::Unjudged => "unjudged",
            Self::All => "all",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Moved => "moved (report)",
            Self::Errored => "without a result",
            other => other.name(),
        }
    }
}

/// The order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// The largest change first.
    #[default]
    Worst,
    /// As in the file.
    Line,
    /// The slowest first.
    Latency,
}

impl Sort {
    const ALL: [Self; 3] = [Self::Worst, Self::Line, Self::Latency];

    fn name(self) -> &'static str {
        match self {
            Self::Worst => "worst",
            Self::Line => "line",
            Self::Latency => "latency",
        }
    }

    /// What the first rows of this order are.
    fn first(self) -> &'static str {
        match self {
            Self::Worst => "worst",
            Self::Line => "first",
            Self::Latency => "slowest",
        }
    }
}

/// Filters, order and place of a list of rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RowView {
    pub show: Show,
    /// The operation or retrieval mode of the row; empty for any.
    pub mode: String,
    /// A source whose pages the row captured or found.
    pub source: String,
    /// A cause, a caveat or a kind of change.
    pub tag: String,
    /// The least latency in milliseconds.
    pub min_ms: Option<f64>,
    pub sort: Sort,
    /// From 0.
    pub page: usize,
    /// The measure of a comparison.
    pub measure: String,
    /// The least change of a compared query.
    pub min_delta: Option<f64>,
    /// Whether compared queries are grouped by mode.
    pub is_grouped: bool,
    /// Whether all rows are listed, not only the worst.
    pub all_rows: bool,
    /// URL of the report in the console; empty in a file.
    pub base: String,
}

impl RowView {
    /// Reads the fields of a URL.
    pub fn of(field: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let text = |name: &str| field(name).unwrap_or_default();
        let number = |name: &str| match text(name).as_str() {
            "" => Ok(None),
            value => match value.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Some(number)),
                _ => Err(format!("`{name}` is a number")),
            },
        };
        let show = text("show");
        let known = Show::ALL.into_iter().find(|one| one.name() == show);
        let sort = text("sort");
        let order = Sort::ALL.into_iter().find(|one| one.name() == sort || sort.is_empty());
        let page = match text("page").as_str() {
            "" => 1,
            value => value
                .parse::<usize>()
                .ok()
                .filter(|page| *page > 0)
                .ok_or("`page` is a number from 1")?,
        };
        Ok(Self {
            show: known
                .ok_or("`show` is regressed, improved, errored, unchanged, unjudged or all")?,
            mode: text("mode"),
            source: text("source"),
            tag: text("tag"),
            min_ms: number("min_ms")?,
            sort: order.ok_or("`sort` is worst, line or latency")?,
            page: page - 1,
            measure: text("measure"),
            min_delta: number("min_delta")?,
            is_grouped: text("group") == "mode",
            all_rows: false,
            base: String::new(),
        })
    }

    /// Whether this is the whole report, from its start.
    pub(crate) fn is_whole(&self) -> bool {
        self.page == 0 && !self.is_filtered()
    }

    pub(crate) fn is_filtered(&self) -> bool {
        let RowView { show, mode, source, tag, min_ms, sort, .. } = self;
        *show != Show::Moved
            || *sort != Sort::Worst
            || min_ms.is_some()
            || [mode, source, tag].iter().any(|value| !value.is_empty())
    }

    /// The URL of another page of the same list.
    pub(crate) fn at(&self, page: usize) -> String {
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let (min_ms, min_delta) = (number(self.min_ms), number(self.min_delta));
        let page = if page == 0 { String::new() } else { (page + 1).to_string() };
        let sort = if self.sort == Sort::Worst { "" } else { self.sort.name() };
        let (path, given) = self.base.split_once('?').unwrap_or((&self.base, ""));
        let rest = url(
            "",
            &[
                ("show", self.show.name()),
                ("mode", &self.mode),
                ("source", &self.source),
                ("tag", &self.tag),
                ("min_ms", &min_ms),
                ("sort", sort),
                ("measure", &self.measure),
                ("min_delta", &min_delta),
                ("group", if self.is_grouped { "mode" } else { "" }),
                ("page", &page),
            ],
        );
        match (given.is_empty(), rest.strip_prefix('?')) {
            (true, _) => format!("{path}{rest}"),
            (false, None) => format!("{path}?{given}"),
            (false, Some(rest)) => format!("{path}?{given}&{rest}"),
        }
    }

    /// The path of the report, without its parameters.
    pub(crate) fn path(&self) -> &str {
        self.base.split_once('?').map_or(&self.base, |(path, _)| path)
    }

    /// The parameters that name the report, as hidden fields of a form.
    pub(crate) fn fixed(&self) -> Markup {
        let given = self.base.split_once('?').map_or("", |(_, given)| given);
        let pairs = given.split('&').filter_map(|pair| pair.split_once('='));
        html! { @for (name, value) in pairs { input type="hidden" name=(name) value=(decoded(value)); } }
    }

    /// The URL of the page of one row.
    pub(crate) fn row(&self, line: u64) -> String {
        format!("{}/rows/{line}", self.base.trim_end_matches('/'))
    }

    /// The part of a list that this page shows.
    pub(crate) fn slice<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        if self.all_rows {
            return all;
        }
        let from = (self.page * PAGE_ROWS).min(all.len());
        &all[from..(from + PAGE_ROWS).min(all.len())]
    }

    /// What the page leaves out, in a sentence; empty if it shows everything.
    pub(crate) fn left_out(&self, total: usize, one: &str, many: &str) -> Markup {
        if self.all_rows || total <= PAGE_ROWS {
            return html! {};
        }
        let from = (self.page * PAGE_ROWS).min(total);
        let shown = (from + PAGE_ROWS).min(total) - from;
        let all = count(total as u64, one, many);
        html! {
            p.more {
                @if self.page == 0 {
                    "The " (self.sort.first()) " " (part::thousands(shown as u64)) " of " (all) ". "
                    (part::thousands((total - shown) as u64)) " are left out."
                } @else {
                    (part::thousands(from as u64 + 1)) " to " (part::thousands((from + shown) as u64)) " of " (all) "."
                }
            }
        }
    }

    /// Links to the previous and the next page.
    pub(crate) fn pager(&self, total: usize) -> Markup {
        let has_next = !self.all_rows && (self.page + 1) * PAGE_ROWS < total;
        html! {
            @if self.page > 0 { a rel="prev" href=(self.at(self.page - 1)) { "Previous page" } }
            @if has_next { a rel="next" href=(self.at(self.page + 1)) { "Next page" } }
        }
    }
}

/// Undoes [`part::percent_encoded`].
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What the filters of a list offer.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Choices<'a> {
    pub(crate) has_show: bool,
    pub(crate) modes: &'a [String],
    pub(crate) sources: &'a [String],
    pub(crate) tags: &'a [String],
    pub(crate) has_latency: bool,
}

/// The filters of a list of rows, as a form.
pub(crate) fn filters(view: &RowView, choices: Choices<'_>) -> Markup {
    html! {
        @if !view.base.is_empty() {
            form method="get" action=(view.path()) data-update="main" {
                (view.fixed())
                @if choices.has_show {
                    label { "Rows" select name="show" {
                        @for one in Show::ALL {
                            option value=(one.name()) selected[one == view.show] { (one.words()) }
                        }
                    } }
                }
                (select("Mode", "mode", choices.modes, &view.mode))
                (select("Source", "source", choices.sources, &view.source))
                (select("Tag", "tag", choices.tags, &view.tag))
                @if choices.has_latency {
                    @let value = view.min_ms.map(|ms| ms.to_string()).unwrap_or_default();
                    label { "At least (ms)" input type="number" name="min_ms" min="0" step="any" value=(value); }
                }
                label { "Order" select name="sort" {
                    @for one in Sort::ALL {
                        @if one != Sort::Latency || choices.has_latency {
                            option value=(one.name()) selected[one == view.sort] { (one.name()) }
                        }
                    }
                } }
                button type="submit" { "Show" }
            }
        }
    }
}

/// A choice of one value or any; nothing where there is nothing to choose. A value with invisible
/// characters is no choice.
pub(crate) fn select(label: &str, name: &str, options: &[String], chosen: &str) -> Markup {
    let options: Vec<&String> = options.iter().filter(|one| part::text(one) == **one).collect();
    html! {
        @if options.len() > 1 || !chosen.is_empty() {
            label { (label) select name=(name) {
                option value="" { "any" }
                @for one in options {
                    option value=(one) selected[one.as_str() == chosen] { (part::text(&one.replace('_', " "))) }
                }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(query: &[(&str, &str)]) -> Result<RowView, String> {
        RowView::of(&|name| {
            query.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn every_state_is_a_url() {
        let query = [("show", "regressed"), ("min_ms", "2.5"), ("sort", "latency"), ("page", "3")];
        let view = RowView { base: "/runs/7".to_owned(), ..view(&query).unwrap() };
        assert_eq!(view.at(0), "/runs/7?show=regressed&min_ms=2.5&sort=latency");
        assert_eq!(view.at(view.page), "/runs/7?show=regressed&min_ms=2.5&sort=latency&page=3");
        assert!(view.is_filtered() && !view.is_whole());
        let compared = RowView { base: "/compare?a=1&b=2".to_owned(), ..RowView::default() };
        assert_eq!(compared.at(1), "/compare?a=1&b=2&page=2");
        assert_eq!(compared.at(0), "/compare?a=1&b=2");
    }

    #[test]
    fn fixed_parameters_are_sent_as_they_were() {
        for value in ["run:12", "a b&c=d%", "ä/\"<"] {
            assert_eq!(decoded(&part::percent_encoded(value)), value);
        }
        let view = RowView { base: "/compare?a=run%3A1".to_owned(), ..RowView::default() };
        assert_eq!(view.path(), "/compare");
        assert!(view.fixed().into_string().contains("name=\"a\" value=\"run:1\""));
    }

    #[test]
    fn unknown_values_are_errors() {
        assert!(view(&[]).unwrap().is_whole());
        for query in [
            ("show", "x"),
            ("sort", "x"),
            ("page", "0"),
            ("page", "x"),
            ("min_ms", "nan"),
            ("min_ms", "x"),
        ] {
            assert!(view(&[query]).is_err(), "{query:?}");
        }
    }

    #[test]
    fn a_page_says_what_it_leaves_out() {
        let view = RowView::default();
        assert_eq!(view.left_out(200, "row", "rows").into_string(), "");
        let said = view.left_out(1_234, "row", "rows").into_string();
        assert!(said.contains("The worst 200 of 1,234 rows. 1,034 are left out."), "{said}");
        assert_eq!(view.slice(&[0; 300]).len(), 200);
        assert_eq!(RowView { page: 1, ..RowView::default() }.slice(&[0; 300]).len(), 100);
        assert_eq!(RowView { all_rows: true, ..RowView::default() }.slice(&[0; 300]).len(), 300);
    }
}
