//! Alerts: those that fire first, their messages, silences, and what a reader may do about them.

use maud::{Markup, html};
use serde::Deserialize;

use crate::part::{
    self, Tone, count, csrf_field, empty, facts, heading, moment, section, state, table, tag, url,
};
use crate::shell::{Page, Section};

/// Alerts on one page.
const LISTED: usize = 50;

/// `GET /v1/alerts`.
#[derive(Debug, Default, Deserialize)]
pub struct AlertList {
    pub alerts: Vec<Alert>,
    #[serde(default)]
    pub silences: Vec<Silence>,
    pub deliveries: DeliveryCounts,
}

/// An alert.
#[derive(Debug, Deserialize)]
pub struct Alert {
    pub key: String,
    pub state: String,
    pub severity: String,
    #[serde(default)]
    pub suite: Option<String>,
    #[serde(default)]
    pub target: Option<String>,
    pub since: String,
    #[serde(default)]
    pub notified_at: Option<String>,
    #[serde(default)]
    pub silenced: bool,
    #[serde(default)]
    pub summary: String,
    #[serde(default)]
    pub owners: Vec<String>,
    #[serde(default)]
    pub run: Option<i64>,
    #[serde(default)]
    pub figures: Vec<(String, String)>,
    #[serde(default)]
    pub failing_count: u64,
    #[serde(default)]
    pub failing: Vec<String>,
    #[serde(default)]
    pub still_open: Option<String>,
}

/// A period without messages.
#[derive(Debug, Deserialize)]
pub struct Silence {
    pub id: i64,
    pub key: String,
    pub reason: String,
    pub from: String,
    pub until: String,
}

/// Counts of undelivered messages.
#[derive(Debug, Default, Deserialize)]
pub struct DeliveryCounts {
    pub queued: u64,
    pub dead: u64,
    #[serde(default)]
    pub oldest_queued: Option<String>,
}

/// `GET /v1/deliveries`.
#[derive(Debug, Deserialize)]
pub struct DeliveryPage {
    pub deliveries: Vec<Delivery>,
    pub next_before: Option<i64>,
}

/// A message about an alert.
#[derive(Debug, Deserialize)]
pub struct Delivery {
    pub id: i64,
    pub channel: String,
    pub key: String,
    pub action: String,
    pub state: String,
    pub attempts: u64,
    pub created_at: String,
    #[serde(default)]
    pub next_at: Option<String>,
    #[serde(default)]
    pub ended_at: Option<String>,
    #[serde(default)]
    pub summary: String,
}

/// What the reader chose, and whether they may change alerts.
#[derive(Debug, Clone, Copy, Default)]
pub struct AlertsView<'a> {
    /// One alert; empty for all.
    pub key: &'a str,
    /// Only messages in this state; empty for all.
    pub state: &'a str,
    /// The alert after which the list begins; empty for the first page.
    pub after: &'a str,
    pub may_change: bool,
}

impl Alert {
    /// The summary, or the key if the stored record cannot be read.
    pub(crate) fn title(&self) -> &str {
        if self.summary.is_empty() { &self.key } else { &self.summary }
    }

    fn is_firing(&self) -> bool {
        self.state == "firing"
    }
}

pub fn page(list: &AlertList, messages: &DeliveryPage, view: AlertsView<'_>) -> Page {
    let one = list.alerts.iter().find(|alert| alert.key == view.key);
    let next = messages.next_before.map(|before| {
        url("/alerts", &[("key", view.key), ("state", view.state), ("before", &before.to_string())])
    });
    Page {
        title: "Alerts".to_owned(),
        section: Section::Alerts,
        command: match view.key {
            "" => "gbrain alerts list --all".to_owned(),
            key => format!("gbrain alerts show {}", quoted(key)),
        },
        header: header(list, one, view),
        controls: message_filter(view),
        main: match (one, view.key) {
            (Some(alert), _) => html! {
                (alert_section(alert))
                (change_section(&alert.key, Some(alert), view))
                (message_section(messages, view))
            },
            (None, "") => html! {
                (firing_section(list, view))
                (silence_section(list, view))
                (change_section("", None, view))
                (message_section(messages, view))
                (resolved_section(list, view))
            },
            (None, _) => {
                html! { (empty("There is no alert with this key.", "gbrain alerts list --all")) (message_section(messages, view)) }
            }
        },
        pager: part::next_page(next.as_deref()),
        ..Page::default()
    }
}

fn header(list: &AlertList, one: Option<&Alert>, view: AlertsView<'_>) -> Markup {
    if let Some(alert) = one {
        let tone = if alert.is_firing() { Tone::Bad } else { Tone::Good };
        let title = if alert.is_firing() { "Firing" } else { "Resolved" };
        return html! {
            p.more { a href="/alerts" { "All alerts" } }
            div class=(tone.class()) { (heading("Alert", title, Some(tone), &part::text(alert.title()))) }
        };
    }
    let firing = list.alerts.iter().filter(|alert| alert.is_firing()).count();
    let tone = if firing > 0 { Tone::Bad } else { Tone::Good };
    let title = if firing > 0 {
        count(firing as u64, "alert fires", "alerts fire")
    } else {
        "No alert fires".to_owned()
    };
    let DeliveryCounts { queued, dead, oldest_queued } = &list.deliveries;
    html! {
        div class=(tone.class()) {
            (heading("Alerts", &title, Some(tone), "An alert fires when a suite breaches a threshold, is inconclusive, or stops running."))
        }
        (facts(&[
            ("Known", html! { (list.alerts.len()) }),
            ("Silences", html! { (list.silences.len()) }),
            ("Messages waiting", html! { a href="/alerts?state=queued#messages" { (queued) } @if let Some(at) = oldest_queued { " since " (moment(at)) } }),
            ("Messages given up", html! { a href="/alerts?state=dead#messages" { (dead) } @if *dead > 0 { " " (tag(Tone::Bad, "not delivered")) } }),
        ]))
        @if !view.key.is_empty() { p.more { a href="/alerts" { "All alerts" } } }
    }
}

fn message_filter(view: AlertsView<'_>) -> Markup {
    html! {
        form method="get" action="/alerts" data-update="main" {
            @if !view.key.is_empty() { input type="hidden" name="key" value=(view.key); }
            label {
                "Messages"
                select name="state" {
                    @for (value, name) in [("", "all"), ("queued", "waiting"), ("sent", "sent"), ("dead", "given up")] {
                        option value=(value) selected[value == view.state] { (name) }
                    }
                }
            }
            button type="submit" { "Show" }
        }
    }
}

fn alert_href(key: &str) -> String {
    url("/alerts", &[("key", key)])
}

fn alert_rows<'a>(alerts: impl Iterator<Item = &'a Alert>) -> Vec<Vec<Markup>> {
    alerts
        .map(|alert| {
            vec![
                html! { a href=(alert_href(&alert.key)) { (part::text(alert.title())) } span.note { code { (part::text(&alert.key)) } } },
                html! { (state(&alert.severity)) @if alert.silenced { " " (tag(Tone::Neutral, "silenced")) } },
                moment(&alert.since),
                cases(alert),
                html! { @match &alert.notified_at { Some(at) => (moment(at)), None => span.dim { "not yet" } } },
            ]
        })
        .collect()
}

const HEAD: [&str; 5] = ["Alert", "Severity", "Since", "Cases", "Notified"];

/// The failing cases, linked to the run that has them.
fn cases(alert: &Alert) -> Markup {
    html! {
        @match (alert.run, alert.failing_count) {
            (Some(run), 0) => a href={ "/suite-runs/" (run) } { "run " (run) },
            (Some(run), n) => a href={ "/suite-runs/" (run) } { (count(n, "failing case", "failing cases")) },
            (None, _) => span.dim { "no run" },
        }
    }
}

fn firing_section(list: &AlertList, view: AlertsView<'_>) -> Markup {
    let firing: Vec<&Alert> = list.alerts.iter().filter(|alert| alert.is_firing()).collect();
    if list.alerts.is_empty() {
        return empty(
            "No suite has raised an alert. Alerts come from runs of suites.",
            "gbrain suites run NAME",
        );
    }
    let (shown, next) = paged(&firing, view);
    section(
        "firing",
        "Firing",
        "",
        &html! {
            @if firing.is_empty() { p { (tag(Tone::Good, "quiet")) " Every alert is resolved." } }
            (table("Alerts that fire", "alerts", &HEAD, &alert_rows(shown.iter().copied())))
            @if let Some(next) = next { p.more { a href=(next) { "More alerts that fire" } } }
        },
    )
}

fn resolved_section(list: &AlertList, view: AlertsView<'_>) -> Markup {
    let resolved: Vec<&Alert> = list.alerts.iter().filter(|alert| !alert.is_firing()).collect();
    let (shown, next) = paged(&resolved, view);
    section(
        "resolved",
        "Resolved",
        "",
        &html! {
            (table("Resolved alerts", "alerts", &HEAD, &alert_rows(shown.iter().copied())))
            @if let Some(next) = next { p.more { a href=(next) { "More resolved alerts" } } }
        },
    )
}

/// The alerts of this page of a list sorted by key, and the URL of the next page.
fn paged<'a>(alerts: &[&'a Alert], view: AlertsView<'_>) -> (Vec<&'a Alert>, Option<String>) {
    let rest: Vec<&Alert> = alerts
        .iter()
        .copied()
        .filter(|alert| view.after.is_empty() || alert.key.as_str() > view.after)
        .collect();
    let shown: Vec<&Alert> = rest.iter().copied().take(LISTED).collect();
    let next = shown.last().filter(|_| rest.len() > LISTED);
    let next = next.map(|last| url("/alerts", &[("after", &last.key)]));
    (shown, next)
}

fn alert_section(alert: &Alert) -> Markup {
    let suite = alert.suite.as_deref().filter(|suite| !suite.is_empty());
    section(
        "alert",
        "What is known",
        "",
        &html! {
            (facts(&[
                ("Severity", state(&alert.severity)),
                ("Since", moment(&alert.since)),
                ("Suite", html! { @match suite { Some(suite) => a href={ "/suites/" (part::percent_encoded(suite)) } { (part::text(suite)) }, None => "-" } }),
                ("Target", html! { (part::text(alert.target.as_deref().unwrap_or("-"))) }),
                ("Cases", cases(alert)),
                ("Owners", html! { (part::text(&alert.owners.join(", "))) }),
                ("Notified", html! { @match &alert.notified_at { Some(at) => (moment(at)), None => "no message was queued" } }),
            ]))
            @if let Some(why) = &alert.still_open { p { "It stays open: " (part::text(why)) } }
            @let rows: Vec<Vec<Markup>> = alert.figures.iter().map(|(name, value)| vec![html! { (part::text(name)) }, html! { (part::text(value)) }]).collect();
            (table("Figures", "figures", &["Figure", "Value"], &rows))
            @if !alert.failing.is_empty() {
                h3 { "First failing cases" }
                ul.names { @for id in &alert.failing { li { code { (part::text(id)) } } } }
            }
            p.more { "Key " code { (part::text(&alert.key)) } }
        },
    )
}

/// The forms that hold messages and close an alert.
fn change_section(key: &str, alert: Option<&Alert>, view: AlertsView<'_>) -> Markup {
    if !view.may_change {
        return html! {};
    }
    let key = if key.is_empty() { "gbrain/" } else { key };
    section(
        "change",
        "Silence or close",
        "A silence holds messages; the alert is recorded all the same. What still fires when it ends is sent then.",
        &html! {
            form.row method="post" action="/silences" {
                (csrf_field())
                label { "Key, or its beginning and *" input type="text" name="key" value=(key) required maxlength="255" size="40"; }
                label { "For" input type="text" name="for" value="2h" required size="6" pattern="[0-9]+[smhd]"; }
                label { "Reason" input type="text" name="reason" required maxlength="1000" size="36"; }
                button type="submit" { "Silence" }
            }
            @if let Some(alert) = alert.filter(|alert| alert.is_firing()) {
                form.row method="post" action="/alerts/close" {
                    (csrf_field())
                    input type="hidden" name="key" value=(alert.key);
                    label { "Reason to close it by hand" input type="text" name="reason" required maxlength="1000" size="48"; }
                    button.danger type="submit" { "Close" }
                }
                p.more { "For alerts that no run will resolve, such as those of a removed suite. What is still wrong fires again with the next run." }
                form.row method="post" action="/incidents" {
                    (csrf_field())
                    @if let Some(run) = alert.run { input type="hidden" name="run" value=(run); }
                    label { "Title of the incident" input type="text" name="title" value=(alert.title()) required maxlength="500" size="48"; }
                    button type="submit" { "Open an incident" }
                }
            }
        },
    )
}

fn silence_section(list: &AlertList, view: AlertsView<'_>) -> Markup {
    let row = |silence: &Silence| {
        vec![
            html! { code { (part::text(&silence.key)) } },
            html! { (part::text(&silence.reason)) },
            moment(&silence.from),
            moment(&silence.until),
            html! {
                @if view.may_change {
                    form method="post" action={ "/silences/" (silence.id) "/end" } {
                        (csrf_field())
                        button type="submit" { "End silence " (silence.id) }
                    }
                } @else { (silence.id) }
            },
        ]
    };
    let rows: Vec<Vec<Markup>> = list.silences.iter().map(row).collect();
    section(
        "silences",
        "Silences",
        "",
        &table("Silences", "silences", &["Alerts", "Reason", "From", "Until", "End"], &rows),
    )
}

fn message_section(messages: &DeliveryPage, view: AlertsView<'_>) -> Markup {
    let row = |one: &Delivery| {
        vec![
            html! { (one.id) " to " (part::text(&one.channel)) },
            html! { (message_state(&one.state)) span.note { (count(one.attempts, "attempt", "attempts")) } },
            html! { (one.action) },
            html! { a href=(alert_href(&one.key)) { (part::text(if one.summary.is_empty() { &one.key } else { &one.summary })) } },
            moment(&one.created_at),
            html! {
                @match (&one.ended_at, &one.next_at) {
                    (Some(at), _) => (moment(at)),
                    (None, Some(at)) => { "next attempt " (moment(at)) },
                    (None, None) => "-",
                }
            },
        ]
    };
    let rows: Vec<Vec<Markup>> = messages.deliveries.iter().map(row).collect();
    let lead =
        "Newest first. The reasons of failed attempts are in gbrain alerts history on the server.";
    html! {
        section aria-labelledby="messages" {
            h2 #messages { "Messages" }
            p.lead { (lead) }
            @if rows.is_empty() {
                p.dim { @if view.state.is_empty() { "No message was queued." } @else { "No message is in this state." } }
            }
            (table("Messages", "messages", &["Message", "State", "Purpose", "About", "Queued", "Ended"], &rows))
        }
    }
}

fn message_state(word: &str) -> Markup {
    match word {
        "dead" => tag(Tone::Bad, "given up"),
        "queued" => tag(Tone::Warning, "waiting"),
        word => state(word),
    }
}

/// A text as one word of a shell.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/_.:@%+=,-".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn alert(key: &str, state: &str) -> Value {
        json!({ "key": key, "state": state, "severity": "critical", "suite": "weekly", "target": "local",
            "since": "2026-11-18T02:00:00.000Z", "updated_at": "2026-11-18T02:00:00.000Z", "notified_at": null,
            "silenced": true, "summary": "recall@5 fell to 70%", "owners": ["@search"], "run": 7,
            "figures": [["value", "0.700"]], "failing_count": 3, "failing": ["q1"] })
    }

    fn list(alerts: &[Value]) -> AlertList {
        let silence = json!({ "id": 4, "key": "gbrain/default/*", "reason": "reindexing", "from": "2026-11-18T02:00:00Z", "until": "2026-11-18T04:00:00Z" });
        let body = json!({ "alerts": alerts, "silences": [silence], "deliveries": { "queued": 1, "dead": 2, "oldest_queued": null } });
        serde_json::from_value(body).unwrap()
    }

    fn messages() -> DeliveryPage {
        serde_json::from_value(json!({ "next_before": 5, "deliveries": [{ "id": 5, "channel": "chat", "key": "gbrain/default/weekly/run",
            "action": "trigger", "state": "dead", "attempts": 9, "created_at": "2026-11-18T02:00:00Z", "summary": "<b>x</b>" }] }))
        .unwrap()
    }

    fn whole(page: Page) -> String {
        [page.header, page.controls, page.main, page.pager].map(|part| part.into_string()).concat()
    }

    #[test]
    fn firing_alerts_come_first_with_their_cases() {
        let list = list(&[
            alert("gbrain/default/weekly/recall@5/all", "firing"),
            alert("gbrain/default/b", "resolved"),
        ]);
        let html = whole(page(
            &list,
            &messages(),
            AlertsView { may_change: true, ..AlertsView::default() },
        ));
        let at = |part: &str| html.find(part).unwrap_or_else(|| panic!("{part}: {html}"));
        assert!(
            at("id=\"firing\"") < at("id=\"messages\"")
                && at("id=\"messages\"") < at("id=\"resolved\"")
        );
        for part in [
            "1 alert fires",
            "/suite-runs/7",
            "3 failing cases",
            "reindexing",
            "/silences/4/end",
            "given up",
            "before=5",
            "&lt;b&gt;",
        ] {
            at(part);
        }
    }

    #[test]
    fn one_alert_can_be_closed_and_becomes_an_incident() {
        let key = "gbrain/default/weekly/recall@5/all";
        let list = list(&[alert(key, "firing")]);
        let html = whole(page(
            &list,
            &messages(),
            AlertsView { key, may_change: true, ..AlertsView::default() },
        ));
        for part in [
            "action=\"/alerts/close\"",
            "action=\"/incidents\"",
            "name=\"run\" value=\"7\"",
            "name=\"csrf\"",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        let html = whole(page(&list, &messages(), AlertsView { key, ..AlertsView::default() }));
        assert!(!html.contains("method=\"post\""), "{html}");
    }

    #[test]
    fn without_alerts_the_page_says_where_they_come_from() {
        let none = AlertList::default();
        let messages = DeliveryPage { deliveries: Vec::new(), next_before: None };
        let html = whole(page(&none, &messages, AlertsView::default()));
        assert!(
            html.contains("No suite has raised an alert") && html.contains("No message was queued"),
            "{html}"
        );
        let html =
            whole(page(&none, &messages, AlertsView { key: "gbrain/x", ..AlertsView::default() }));
        assert!(html.contains("no alert with this key"), "{html}");
    }

    #[test]
    fn many_alerts_are_paged() {
        let many: Vec<Value> =
            (0..120).map(|at| alert(&format!("gbrain/default/s{at:03}/run"), "firing")).collect();
        let html = whole(page(&list(&many), &messages(), AlertsView::default()));
        assert!(
            html.contains("after=gbrain%2Fdefault%2Fs049%2Frun") && !html.contains("s050/run"),
            "{html}"
        );
    }

    #[test]
    fn keys_are_words_of_a_shell() {
        assert_eq!(
            quoted("gbrain/default/weekly/recall@5/all"),
            "gbrain/default/weekly/recall@5/all"
        );
        assert_eq!(quoted("a'b; rm"), "'a'\\''b; rm'");
    }
}
