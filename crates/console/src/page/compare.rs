//! A comparison of results, query by query.

use gbrain_core::report::number::{NONE, ms};
use gbrain_core::triage::shell_word;
use maud::{Markup, html};
use serde::Deserialize;

use super::gate::list;
use super::scatter::{Axes, scatter};
use super::view::{RowView, select};
use crate::chart::plot::{dot, figure, line, rect, svg};
use crate::part::{self, Tone, heading, query, section, table, tag};
use crate::shell::{Page, Section};

const WHAT: &str = "gbrain eval compare";
/// How many queries of only one result are listed.
const ALONE: usize = 200;

/// The JSON of `gbrain eval compare --json`.
#[derive(Debug, Deserialize)]
pub struct Compare {
    kind: String,
    reference: String,
    #[serde(default)]
    primary: Vec<String>,
    verdict: String,
    #[serde(default)]
    reasons: Vec<String>,
    comparisons: Vec<Against>,
    #[serde(default)]
    notes: Vec<ResultNote>,
}

#[derive(Debug, Deserialize)]
struct ResultNote {
    result: String,
    note: String,
}

/// One result against the reference.
#[derive(Debug, Deserialize)]
struct Against {
    result: String,
    queries_shared: u64,
    #[serde(default)]
    queries_only_in_reference: Vec<String>,
    #[serde(default)]
    queries_only_in_result: Vec<String>,
    #[serde(default)]
    queries_unanswered: Vec<String>,
    measures: Vec<ComparedMeasure>,
    regressions: Vec<Move>,
    improvements: Vec<Move>,
    #[serde(default)]
    forced_although: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct ComparedMeasure {
    measure: String,
    role: String,
    decides: bool,
    n: u64,
    reference_mean: Option<f64>,
    mean: Option<f64>,
    delta: Option<f64>,
    interval: Option<[f64; 2]>,
    p: Option<f64>,
    p_holm: Option<f64>,
    smallest_detectable_drop: Option<f64>,
    better: u64,
    worse: u64,
    is_regression: bool,
    is_improvement: bool,
    #[serde(default)]
    outcome: String,
}

/// A query whose value changed.
#[derive(Debug, Deserialize)]
struct Move {
    #[serde(default)]
    key: String,
    query: String,
    measure: String,
    reference_value: f64,
    value: f64,
}

impl Move {
    fn delta(&self) -> f64 {
        self.value - self.reference_value
    }

    /// The operation that the key of a captured row begins with.
    fn mode(&self) -> &str {
        match self.key.split_once(' ') {
            Some((mode @ ("query" | "search"), _)) => mode,
            _ => "",
        }
    }
}

impl ComparedMeasure {
    fn number(&self, value: f64) -> String {
        match self.role.as_str() {
            "binary" => format!("{:.1}%", value * 100.0),
            "timing" => ms(value),
            _ => format!("{value:.3}"),
        }
    }

    /// A difference with its sign; differences of shares are in percentage points.
    fn signed(&self, delta: f64) -> String {
        let sign = if delta < 0.0 { '-' } else { '+' };
        format!("{sign}{}", self.number(delta.abs()).replace('%', "pp"))
    }

    fn tone(&self) -> Tone {
        if self.is_regression {
            Tone::Bad
        } else if self.is_improvement {
            Tone::Good
        } else {
            Tone::Neutral
        }
    }

    fn outcome(&self) -> &str {
        match (self.outcome.as_str(), self.tone()) {
            ("", Tone::Bad) => "WORSE",
            ("", Tone::Good) => "better",
            ("", _) => "not significant",
            (outcome, _) => outcome,
        }
    }

    fn is_timing(&self) -> bool {
        self.role == "timing"
    }

    fn cells(&self) -> Vec<Markup> {
        let value = |value: Option<f64>| html! { (value.map_or(NONE.to_owned(), |value| self.number(value))) };
        let signed = |delta: Option<f64>| html! { (delta.map_or(NONE.to_owned(), |delta| self.signed(delta))) };
        let range = self
            .interval
            .map(|[low, high]| format!("{} to {}", self.signed(low), self.signed(high)));
        let p = self
            .p_holm
            .or(self.p)
            .map(|p| if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") });
        vec![
            html! { (part::text(&self.measure)) @if self.decides { " " span.dim { "decides" } } },
            tag(self.tone(), &part::text(self.outcome())),
            value(self.reference_mean),
            value(self.mean),
            signed(self.delta),
            html! { (range.unwrap_or_else(|| NONE.to_owned())) },
            self.track(),
            html! { (p.unwrap_or_else(|| NONE.to_owned())) },
            html! { (self.worse) "/" (self.better) },
            signed(self.smallest_detectable_drop.map(|drop| -drop)),
            html! { (self.n) },
        ]
    }

    /// The difference, its interval and the smallest detectable drop around zero.
    fn track(&self) -> Markup {
        let (width, middle) = (220.0, 13.0);
        let Some((delta, [low, high])) = self.delta.zip(self.interval) else { return html! {} };
        let drop = self.smallest_detectable_drop.filter(|drop| drop.is_finite());
        let furthest = [delta, low, high]
            .iter()
            .fold(drop.unwrap_or(0.0), |most, value| most.max(value.abs()));
        // Keeps small differences visually small.
        let most = furthest.max(if self.is_timing() { 1.0 } else { 0.1 }) * 1.1;
        let x = |value: f64| width / 2.0 + (width / 2.0 - 6.0) * (value / most).clamp(-1.0, 1.0);
        let (from, to) = if self.is_timing() { (0.0, most) } else { (-most, 0.0) };
        let body = html! {
            (rect("zone", [x(from), 4.0, x(to) - x(from), 18.0]))
            (line("axis", [x(-most), middle, x(most), middle]))
            (line("limit", [x(0.0), 3.0, x(0.0), 23.0]))
            @if let Some(drop) = drop {
                (line("drop", [x(-drop), 24.0, x(0.0), 24.0]))
                (line("drop", [x(-drop), 20.0, x(-drop), 24.0]))
            }
            (rect("spread", [x(low), middle - 4.0, (x(high) - x(low)).max(2.0), 8.0]))
            (dot("point", x(delta), middle, 4.5))
        };
        svg("track narrow", width, 26.0, "the difference on a line around zero", &body)
    }
}

/// What may be compared: the value that names a result, and its label.
#[derive(Debug, Default)]
pub struct Source {
    pub results: Vec<(String, String)>,
    pub qrels: Vec<String>,
}

/// The URL of a comparison.
pub fn url(parameters: &[(&str, &str)]) -> String {
    part::url("/compare", parameters)
}

/// The page that asks what to compare.
pub fn form(source: &Source, chosen: &[&str], qrels: Option<&str>) -> Page {
    let input = |name: &str, label: &str, at: usize| {
        let value = chosen.get(at).copied().unwrap_or_default();
        html! { label { (label) input name=(name) list="results" value=(value) placeholder="run:12"; } }
    };
    let controls = html! {
        form.row method="get" action="/compare" {
            (input("a", "Reference", 0)) (input("b", "Compared", 1)) (input("c", "And", 2)) (input("d", "And", 3))
            datalist #results { @for (value, label) in &source.results { option value=(value) { (part::text(label)) } } }
            label { "Qrels (for baselines)" select name="qrels" {
                option value="" { "none" }
                @for name in &source.qrels { option value=(name) selected[Some(name.as_str()) == qrels] { (part::text(name)) } }
            } }
            button.primary type="submit" { "Compare" }
        }
    };
    let row = |(value, label): &(String, String)| {
        vec![html! { code { (part::text(value)) } }, html! { (part::text(label)) }]
    };
    let rows: Vec<Vec<Markup>> = source.results.iter().map(row).collect();
    let what = "Results of the same kind, query by query: run:ID, baseline:NAME with qrels, or suite-run:ID.";
    Page {
        title: "Compare".to_owned(),
        section: Section::Compare,
        command: format!("{WHAT} A.json B.json"),
        header: heading("", "Compare", None, what),
        controls,
        main: if rows.is_empty() {
            part::empty(
                "No run has finished and no baseline is stored that you may compare.",
                "gbrain eval gate --baseline FILE",
            )
        } else {
            section(
                "results",
                "Results to compare",
                "",
                &table("results", "results", &["Name", "What"], &rows),
            )
        },
        ..Page::default()
    }
}

impl Compare {
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The page of the comparison.
    pub fn page(&self, view: &RowView) -> Page {
        let (word, tone, why) = self.headline();
        let files: Vec<String> = [&self.reference]
            .into_iter()
            .chain(self.comparisons.iter().map(|one| &one.result))
            .map(|name| shell_word(name))
            .collect();
        let facts = [
            ("Reference", html! { (part::text(&self.reference)) }),
            ("Decides", html! { (part::text(&self.decided_by())) }),
            ("Kind", html! { (part::text(&self.kind)) }),
        ];
        Page {
            title: format!("{word}: {WHAT}"),
            section: Section::Compare,
            command: format!("{WHAT} {}", files.join(" ")),
            header: html! { (heading(WHAT, word, Some(tone), &part::text(&why))) (part::facts(&facts)) },
            controls: self.filters(view),
            main: self.content(view),
            pager: view.pager(
                self.comparisons.iter().map(|one| one.moves(view, self).len()).max().unwrap_or(0),
            ),
            scripts: Vec::new(),
        }
    }

    fn headline(&self) -> (&'static str, Tone, String) {
        let all = || self.comparisons.iter().flat_map(|one| &one.measures);
        let worse: Vec<String> = all().filter(|one| one.is_regression).map(became).collect();
        if !worse.is_empty() {
            return ("WORSE", Tone::Bad, worse.join("; "));
        }
        if !all().any(|one| one.p.is_some()) {
            return ("NOTHING TESTED", Tone::Warning, "no measure could be tested".to_owned());
        }
        if self.verdict == "inconclusive" {
            return ("NO VERDICT", Tone::Warning, self.reasons.join("; "));
        }
        let count =
            |of: &dyn Fn(&Against) -> usize| self.comparisons.iter().map(of).sum::<usize>() as u64;
        let (fell, rose) =
            (count(&|one| one.regressions.len()), count(&|one| one.improvements.len()));
        match all().filter(|one| one.is_improvement).count() as u64 {
            0 if fell + rose == 0 => ("SAME", Tone::Good, "no shared query moved".to_owned()),
            0 => {
                let fell = part::count(fell, "query", "queries");
                (
                    "NOT SIGNIFICANT",
                    Tone::Warning,
                    format!("no measure changed significantly; {fell} fell, {rose} rose"),
                )
            }
            n => (
                "BETTER",
                Tone::Good,
                format!("{} better, none worse", part::count(n, "measure", "measures")),
            ),
        }
    }

    fn decided_by(&self) -> String {
        match self.primary.as_slice() {
            [] => "no measure decides".to_owned(),
            names => format!(
                "{} (two-sided paired test, alpha .05; other p-values are not corrected)",
                names.join(", ")
            ),
        }
    }

    /// The measures that queries moved by, those that decide first.
    fn moved_measures(&self) -> Vec<String> {
        let mut names: Vec<String> = self.primary.clone();
        for one in
            self.comparisons.iter().flat_map(|one| one.regressions.iter().chain(&one.improvements))
        {
            if !names.contains(&one.measure) {
                names.push(one.measure.clone());
            }
        }
        names
    }

    fn filters(&self, view: &RowView) -> Markup {
        let least = view.min_delta.map(|delta| delta.to_string()).unwrap_or_default();
        html! {
            @if !view.base.is_empty() {
                form method="get" action=(view.path()) data-update="main" {
                    (view.fixed())
                    (select("Measure", "measure", &self.moved_measures(), &view.measure))
                    label { "Change of at least" input type="number" name="min_delta" min="0" step="any" value=(least); }
                    label { "Group" select name="group" {
                        option value="" { "none" }
                        option value="mode" selected[view.is_grouped] { "by mode" }
                    } }
                    button type="submit" { "Show" }
                }
            }
        }
    }

    fn content(&self, view: &RowView) -> Markup {
        let notes: Vec<String> =
            self.notes.iter().map(|note| format!("{}: {}", note.result, note.note)).collect();
        html! {
            @if self.comparisons.len() > 1 { (section("matrix", "All results", "Mean difference to the reference; the word says whether it is more than chance.", &self.matrix())) }
            @for (at, one) in self.comparisons.iter().enumerate() { (self.against(at, one, view)) }
            (section("notes", "Notes", "", &list(&notes.iter().collect::<Vec<_>>())))
        }
    }

    /// Every result by every measure.
    fn matrix(&self) -> Markup {
        let mut names: Vec<&str> = Vec::new();
        for one in self.comparisons.iter().flat_map(|one| &one.measures) {
            if !names.contains(&one.measure.as_str()) {
                names.push(&one.measure);
            }
        }
        let head: Vec<&str> = ["Result"].into_iter().chain(names.iter().copied()).collect();
        let cell = |one: &Against, name: &str| match one
            .measures
            .iter()
            .find(|measure| measure.measure == name)
        {
            Some(measure) => html! {
                (measure.delta.map_or(NONE.to_owned(), |delta| measure.signed(delta))) " "
                @if measure.tone() != Tone::Neutral { (tag(measure.tone(), &part::text(measure.outcome()))) }
            },
            None => html! { (NONE) },
        };
        let row = |one: &Against| {
            let cells = names.iter().map(|name| cell(one, name));
            [html! { (part::text(&one.result)) }].into_iter().chain(cells).collect::<Vec<_>>()
        };
        let rows: Vec<Vec<Markup>> = self.comparisons.iter().map(row).collect();
        table("differences of all results", "matrix", &head, &rows)
    }

    fn against(&self, at: usize, one: &Against, view: &RowView) -> Markup {
        let name = part::text(&one.result);
        let lead = "Dot: the mean difference. Band: its interval. Shaded: worse. Bracket: the smallest drop that the \
                    test finds with a power of .8, if queries lose their whole value.";
        let moves = one.moves(view, self);
        html! {
            (section(&format!("result-{at}"), &name, lead, &one.summary()))
            (section(&format!("scatter-{at}"), &format!("Query by query: {name}"), "", &self.plots(one)))
            (section(&format!("moved-{at}"), &format!("Queries that moved in {name}"), "The largest loss first.", &one.list(&moves, view)))
            (section(&format!("alone-{at}"), "Queries in only one result", "", &one.alone()))
        }
    }

    /// A scatter plot per deciding measure, or of the first that moved.
    fn plots(&self, one: &Against) -> Markup {
        let moved = self.moved_measures();
        let names =
            if self.primary.is_empty() { &moved[..moved.len().min(1)] } else { &self.primary };
        html! {
            @if !names.is_empty() {
                div.plots { @for name in names { (one.plot(name)) } }
            }
        }
    }
}

/// A measure with its means on both sides.
fn became(one: &ComparedMeasure) -> String {
    let value = |value: Option<f64>| value.map_or(NONE.to_owned(), |value| one.number(value));
    format!("{} {} to {}", one.measure, value(one.reference_mean), value(one.mean))
}

impl Against {
    fn summary(&self) -> Markup {
        let head = [
            "Measure",
            "Result",
            "Reference",
            "This",
            "Delta",
            "95% CI",
            "Plot",
            "p",
            "Worse/better",
            "Smallest drop",
            "n",
        ];
        let rows: Vec<Vec<Markup>> = self.measures.iter().map(ComparedMeasure::cells).collect();
        html! {
            (table("measures", "checks", &head, &rows))
            @if !self.forced_although.is_empty() {
                ul.plain { @for reason in &self.forced_although { li { (tag(Tone::Bad, "not comparable")) " " (part::text(reason)) } } }
            }
            p.more {
                (part::count(self.queries_shared, "query", "queries")) " in both, "
                (self.queries_only_in_reference.len()) " only in the reference, "
                (self.queries_only_in_result.len()) " only in this, "
                (self.queries_unanswered.len()) " not answered only in this."
            }
        }
    }

    /// The queries of a view, the largest loss first.
    fn moves(&self, view: &RowView, _: &Compare) -> Vec<&Move> {
        let is_shown = |one: &&Move| {
            (view.measure.is_empty() || one.measure == view.measure)
                && view.min_delta.is_none_or(|least| one.delta().abs() >= least)
        };
        let mut moves: Vec<&Move> =
            self.regressions.iter().chain(&self.improvements).filter(is_shown).collect();
        let loss =
            |one: &Move| if one.measure.contains("latency") { -one.delta() } else { one.delta() };
        moves.sort_by(|a, b| loss(a).total_cmp(&loss(b)).then(a.query.cmp(&b.query)));
        if view.is_grouped {
            moves.sort_by(|a, b| a.mode().cmp(b.mode()));
        }
        moves
    }

    fn list(&self, moves: &[&Move], view: &RowView) -> Markup {
        let row = |one: &&Move| {
            vec![
                html! { (query(&one.query)) },
                html! { (part::text(one.mode())) },
                html! { (part::text(&one.measure)) },
                html! { (format!("{:.3} to {:.3}", one.reference_value, one.value)) },
                html! { (format!("{:+.3}", one.delta())) },
            ]
        };
        let rows: Vec<Vec<Markup>> = view.slice(moves).iter().map(row).collect();
        html! {
            (table("queries that moved", "moves", &["Query", "Mode", "Measure", "Reference to this", "Change"], &rows))
            (view.left_out(moves.len(), "query", "queries"))
        }
    }

    fn plot(&self, measure: &str) -> Markup {
        let of = |moves: &[Move]| -> Vec<(f64, f64)> {
            let moves = moves.iter().filter(|one| one.measure == measure);
            moves.map(|one| (one.reference_value, one.value)).collect()
        };
        let (fell, rose) = (of(&self.regressions), of(&self.improvements));
        let n = self.measures.iter().find(|one| one.measure == measure).map_or(0, |one| one.n);
        let same = n.saturating_sub((fell.len() + rose.len()) as u64);
        let words = format!("{} fell, {} rose, {same} stayed", fell.len(), rose.len());
        let caption = format!(
            "Across: the reference. Up: this. Below the line: worse. {words}; those that stayed are not drawn."
        );
        match scatter(&[fell, rose].concat(), Axes::Values, &words) {
            Some(drawing) => figure(&part::text(measure), &drawing, &caption),
            None => html! {},
        }
    }

    fn alone(&self) -> Markup {
        let reference =
            self.queries_only_in_reference.iter().map(|one| ("only in the reference", one));
        let this = self.queries_only_in_result.iter().map(|one| ("only in this", one));
        let unanswered = self.queries_unanswered.iter().map(|one| ("not answered in this", one));
        let all: Vec<(&str, &String)> = reference.chain(this).chain(unanswered).collect();
        html! {
            @if !all.is_empty() {
                ul.plain {
                    @for (words, one) in all.iter().take(ALONE) { li { (tag(Tone::Neutral, words)) " " (query(one)) } }
                }
                @if all.len() > ALONE { p.more { (part::thousands((all.len() - ALONE) as u64)) " are left out." } }
            }
        }
    }
}
