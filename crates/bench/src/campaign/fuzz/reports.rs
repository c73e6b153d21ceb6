//! What must hold for reports: every number is one, and no text breaks a form.

use fastrand::Rng;
use gbrain_console::page::view::RowView;
use gbrain_core::baseline::{BaselineIntegrity, BaselineMetadata, BaselineThresholds};
use gbrain_core::blame::Blame;
use gbrain_core::gate::{
    ConfidenceLevel, CorrectnessParts, CorrectnessThresholds, GateCheck, GateParts, JudgedResult,
    RegressionParts, Verdict, correctness, regression,
};
use gbrain_core::latency::{CpuTime, NotComparedReason, TimeComparison};
use gbrain_core::provenance::{FactorDifference, FactorDifferences, Provenance, Software};
use gbrain_core::qrels::JudgedPages;
use gbrain_core::replay::{
    Caveat, LostPage, RankingPair, ReplaySummary, ReplayedRow, RowOutcome, SkipReason, compare,
    summarise,
};
use gbrain_core::report::json::{GateReport, ReplayReport};
use gbrain_core::report::{Queries, ReplayParts, github, junit, markdown, text};
use quick_xml::Reader;
use quick_xml::events::Event;

use super::baselines::rows_of;
use super::promises::{Broken, require};

/// The tags that our pages have.
const TAGS: &str = " a bdi body caption circle code dd details div dl dt figcaption figure footer h1 h2 h3 \
    head header html i li line link main meta ol p path pre rect section span strong style summary svg \
    table tbody td text th thead time title tr ul ";

/// Rows that ended in every way, with texts and numbers from a file of captures.
pub(super) fn check_report(bytes: &[u8], rng: &mut Rng) -> Result<(), Broken> {
    let mut rows = Vec::new();
    let foreign = String::from_utf8_lossy(bytes);
    let piece = |rng: &mut Rng| {
        let at = foreign.floor_char_boundary(rng.usize(..=foreign.len()));
        foreign[at..].chars().take(rng.usize(..60)).collect::<String>()
    };
    for (_, row) in rows_of(bytes).into_iter().take(20) {
        let outcome = match rng.u8(..6) {
            0 => RowOutcome::Errored(piece(rng)),
            1 => RowOutcome::Skipped(if rng.bool() {
                SkipReason::EmptyQuery
            } else {
                SkipReason::NoRanking
            }),
            _ => {
                let mut pages: Vec<String> = (0..rng.usize(..4)).map(|_| piece(rng)).collect();
                let captured = pages.clone();
                pages.extend((0..rng.usize(..3)).map(|_| piece(rng)));
                rng.shuffle(&mut pages);
                compared(captured, pages, row.latency_ms, rng)
            }
        };
        rows.push(ReplayedRow::new(&row, outcome));
    }
    check(&rows, Vec::new(), rng)
}

fn compared(
    captured: Vec<String>,
    current: Vec<String>,
    latency: Option<f64>,
    rng: &mut Rng,
) -> RowOutcome {
    let draw = |rng: &mut Rng| FactorDifference::ALL[rng.usize(..FactorDifference::ALL.len())];
    let differences = FactorDifferences {
        code: draw(rng),
        settings: draw(rng),
        corpus: draw(rng),
        model: draw(rng),
    };
    let times = [0.0, 0.001, 1.0, 12.345, 1e6, 1e12];
    let lost = captured.iter().filter(|page| !current.contains(page)).map(|page| LostPage {
        page: page.clone(),
        stage: page.clone(),
        why: page.clone(),
    });
    let lost = lost.collect();
    let caveats = Caveat::ALL.iter().copied().filter(|_| rng.u8(..8) == 0).collect();
    let now = times[rng.usize(..times.len())];
    let mut compared =
        compare(RankingPair { captured, current }, (latency, now), caveats, differences);
    compared.timing = timing(rng);
    compared.lost = lost;
    compared.blame = rng.bool().then(|| Blame::ALL[rng.usize(..Blame::ALL.len())]);
    RowOutcome::Compared(Box::new(compared))
}

fn timing(rng: &mut Rng) -> TimeComparison {
    let times = [1e-6, 0.001, 1.0, 12.345, 1e6, 1e12];
    let ms = |rng: &mut Rng| times[rng.usize(..times.len())];
    let cpu_time = |rng: &mut Rng| CpuTime { cpu_ms: ms(rng), calibration_ms: ms(rng), repeats: 5 };
    match rng.u8(..3) {
        0 => TimeComparison::Cpu { captured: cpu_time(rng), current: cpu_time(rng) },
        1 => TimeComparison::Wall {
            captured_ms: ms(rng),
            current_ms: ms(rng),
            is_machine_busy: rng.bool(),
        },
        _ => {
            let why = NotComparedReason::ALL[rng.usize(..NotComparedReason::ALL.len())];
            TimeComparison::NotCompared(why)
        }
    }
}

/// Gates rows and judged queries and writes every form.
pub(super) fn check(
    rows: &[ReplayedRow],
    judged: Vec<JudgedResult>,
    rng: &mut Rng,
) -> Result<(), Broken> {
    let confidence = if rng.bool() { ConfidenceLevel::new(0.95).ok() } else { None };
    let summary = summarise(rows);
    check_summary(&summary)?;
    let thresholds = BaselineThresholds::default();
    let of_rows = (!rows.is_empty()).then(|| regression(rows, &thresholds, confidence));
    let limits = CorrectnessThresholds::default();
    let of_queries = (!judged.is_empty())
        .then(|| correctness(judged, 3, &limits, confidence, &JudgedPages::NotKnown));
    let checks = of_rows.iter().flat_map(|found| found.checks.iter().chain([&found.latency]));
    checks.chain(of_queries.iter().flat_map(|found| &found.checks)).try_for_each(check_check)?;
    let name = rows.first().map_or("", |row| row.query.as_str());
    let metadata = metadata(name, rows.len());
    let provenance = Provenance {
        software: Some(Software { version: name.to_owned(), code: name.to_owned() }),
        embedder: Some(Some(name.to_owned())),
        ..Provenance::default()
    };
    let verdicts = [of_rows.as_ref().map(|f| f.verdict), of_queries.as_ref().map(|f| f.verdict)];
    let parts = GateParts {
        verdict: verdicts
            .into_iter()
            .flatten()
            .reduce(Verdict::and)
            .unwrap_or(Verdict::Inconclusive),
        regression: of_rows.as_ref().map(|found| RegressionParts {
            path: name,
            metadata: &metadata,
            integrity: BaselineIntegrity::Intact,
            thresholds,
            found,
            rows,
        }),
        correctness: of_queries.as_ref().map(|found| CorrectnessParts {
            path: name,
            thresholds: limits,
            pipeline: "fixed",
            found,
        }),
        confidence,
        provenance: Some(&provenance),
        elapsed_ms: 1.5,
    };
    check_gate(&parts)?;
    let replay = ReplayParts { rows, summary: &summary, worst: rng.usize(..9) };
    check_replay(&replay)
}

fn metadata(name: &str, rows: usize) -> BaselineMetadata {
    BaselineMetadata {
        label: name.to_owned(),
        published_at: name.to_owned(),
        source_hash: name.to_owned(),
        thresholds: BaselineThresholds::default(),
        row_count: rows,
        mean_latency_ms: None,
        rows_hash: None,
        key_id: None,
        rows_hmac: None,
        why: Some(name.to_owned()),
        history: Vec::new(),
    }
}

fn check_summary(summary: &ReplaySummary) -> Result<(), Broken> {
    let rates = [
        summary.mean_jaccard,
        summary.weighted_jaccard,
        summary.top1_rate,
        summary.weighted_top1,
        summary.mean_rbo,
    ];
    for rate in rates.into_iter().flatten() {
        require((0.0..=1.0 + 1e-9).contains(&rate), || format!("a rate is {rate}"))?;
    }
    let latency = &summary.latency;
    let times = summary.timing.ratio.map(|times| times.ratio);
    let numbers = [summary.mean_kendall, latency.mean_delta_ms, latency.ratio, times];
    let percentiles = [latency.captured_ms, latency.current_ms].into_iter().flatten().flatten();
    for number in numbers.into_iter().flatten().chain(percentiles) {
        require(number.is_finite(), || format!("a number of the summary is {number}"))?;
    }
    Ok(())
}

fn check_check(check: &GateCheck) -> Result<(), Broken> {
    let interval = check.interval.map(|interval| [interval.low, interval.high]);
    let numbers = [check.observed, check.smallest_drop].into_iter().flatten();
    for number in numbers.chain(interval.into_iter().flatten()) {
        require(number.is_finite(), || format!("{} has {number}", check.metric))?;
    }
    Ok(())
}

fn check_gate(parts: &GateParts<'_>) -> Result<(), Broken> {
    let json = serde_json::to_string(&GateReport::new(parts)).map_err(|error| error.to_string())?;
    require(json.lines().count() == 1, || "JSON of several lines".to_owned())?;
    for queries in [Queries::Shown, Queries::Hashed] {
        check_xml(&junit::gate(parts, queries))?;
        check_annotations(&github::gate(parts, queries))?;
        check_markdown(&markdown::gate(parts, queries))?;
    }
    check_page(&web_page(json)?)?;
    check_text(&text::gate(parts))
}

fn check_replay(parts: &ReplayParts<'_>) -> Result<(), Broken> {
    let report = ReplayReport::new(parts.rows, parts.summary, parts.worst, true);
    let json = serde_json::to_string(&report).map_err(|error| error.to_string())?;
    for queries in [Queries::Shown, Queries::Hashed] {
        check_markdown(&markdown::replay(parts, queries))?;
    }
    check_page(&web_page(json)?)?;
    check_text(&text::replay(parts))
}

/// Characters that a reader of text may not meet.
fn is_forbidden(c: char) -> bool {
    c.is_control() && c != '\n'
}

pub(super) fn check_text(text: &str) -> Result<(), Broken> {
    require(!text.contains(is_forbidden), || format!("a control character in {text:?}"))
}

fn check_xml(xml: &str) -> Result<(), Broken> {
    let outside = |c: char| is_forbidden(c) || matches!(c, '\u{fffe}' | '\u{ffff}');
    require(!xml.contains(outside), || format!("a character that XML has not in {xml:?}"))?;
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event() {
            Ok(Event::Eof) => return Ok(()),
            Ok(Event::Start(tag) | Event::Empty(tag)) => {
                for attribute in tag.attributes() {
                    attribute.map_err(|error| format!("{error}: {xml}"))?;
                }
            }
            Ok(_) => (),
            Err(error) => return Err(format!("{error}: {xml}")),
        }
    }
}

fn check_annotations(text: &str) -> Result<(), Broken> {
    check_text(text)?;
    let starts = ["::error title=", "::warning title=", "::notice title="];
    for line in text.lines() {
        let is_ours = starts.iter().any(|start| line.starts_with(start));
        require(is_ours, || format!("a line of its own: {line:?}"))?;
    }
    Ok(())
}

pub(super) fn check_markdown(text: &str) -> Result<(), Broken> {
    require(text.len() < 64 << 10, || format!("Markdown of {} bytes", text.len()))?;
    require(!text.contains("<script") && !text.contains("<img"), || text.to_owned())?;
    let columns = |line: &str| line.matches('|').count();
    for table in text.split("\n\n").filter(|part| part.starts_with('|')) {
        let head = table.lines().next().map(columns);
        let fits = table.lines().all(|line| Some(columns(line)) == head);
        require(fits, || format!("a table with other columns: {table}"))?;
    }
    Ok(())
}

/// The web page of a report, from its JSON.
pub(super) fn web_page(json: String) -> Result<String, Broken> {
    let report = gbrain_console::report::read(json).map_err(|error| error.to_string())?;
    Ok(gbrain_console::file(&report.page(&RowView::default())))
}

pub(super) fn check_page(html: &str) -> Result<(), Broken> {
    check_text(html)?;
    let (Some(start), Some(end)) = (html.find("<style>"), html.find("</style>")) else {
        return Err("a page without its style".to_owned());
    };
    let rest = [&html[..start], &html[end + "</style>".len()..]].concat();
    let (open, close) = (rest.matches('<').count(), rest.matches('>').count());
    require(open == close, || format!("{open} of < and {close} of >"))?;
    for tag in rest.split('<').skip(1).filter_map(|part| part.split('>').next()) {
        let name: String = tag
            .trim_start_matches('/')
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '!')
            .collect();
        let is_ours = name == "!DOCTYPE" || TAGS.contains(&format!(" {name} "));
        let outside_quotes: String = tag.split('"').step_by(2).collect();
        require(is_ours && !outside_quotes.contains(" on"), || {
            format!("a tag of its own: <{}", tag.chars().take(80).collect::<String>())
        })?;
    }
    Ok(())
}
