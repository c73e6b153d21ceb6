//! Alert messages in the formats of their receivers: PagerDuty's Events API v2, Slack webhooks, a
//! signed JSON document, e-mail. The queue stores the neutral message; it is formatted when it is
//! sent, so no secret and no receiver-specific format is stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Alert, AlertSeverity};

/// Schema version of [`AlertMessage`].
const MESSAGE_VERSION: u32 = 1;

/// A message about an alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AlertMessage")]
pub struct AlertMessage {
    /// Schema version of this document.
    pub schema_version: u32,
    /// Deduplication key of the alert.
    pub dedup_key: String,
    /// Action: `trigger`, `resolve` or `notice`.
    pub action: String,
    /// Time of the message.
    pub at: String,
    /// Severity of the alert.
    pub severity: AlertSeverity,
    /// Workspace of the alert.
    pub workspace: String,
    /// Name of the suite.
    pub suite: String,
    /// Name of the target; null if the alert has no run.
    #[serde(default)]
    pub target: Option<String>,
    /// Owners of the suite.
    pub owners: Vec<String>,
    /// Summary of the message in one line.
    pub summary: String,
    /// Figures of the message as name and value.
    pub figures: Vec<(String, String)>,
    /// Number of failing cases.
    pub failing_count: usize,
    /// Query ids of the first failing cases.
    pub failing: Vec<String>,
    /// Scrubbed text of these queries; empty unless query text is allowed in messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<String>,
    /// URL of the run; null if no public URL is configured.
    pub link: Option<String>,
    /// Command that shows the same.
    pub command: String,
}

/// PagerDuty's maximum summary length.
const SUMMARY: usize = 1024;

impl AlertMessage {
    /// A message about an alert. `public_url` is the base URL of the server.
    pub fn new(alert: &Alert, action: &str, at: String, public_url: Option<&str>) -> Self {
        let Alert {
            key,
            severity,
            workspace,
            suite,
            target,
            owners,
            summary,
            run,
            figures,
            failing,
            failing_count,
            ..
        } = alert.clone();
        let link = public_url
            .zip(run)
            .map(|(url, run)| format!("{}/v1/suite-runs/{run}", url.trim_end_matches('/')));
        let command = match run {
            Some(run) => format!("gbrain --workspace {workspace} suites show {run}"),
            None => format!("gbrain --workspace {workspace} suites history {suite}"),
        };
        Self {
            schema_version: MESSAGE_VERSION,
            dedup_key: key,
            action: action.to_owned(),
            at,
            severity,
            workspace,
            suite,
            target,
            owners,
            summary,
            figures,
            failing_count,
            failing,
            queries: Vec::new(),
            link,
            command,
        }
    }

    /// A message that is not about an alert.
    pub fn notice(workspace: &str, key: &str, summary: String, at: String) -> Self {
        Self {
            schema_version: MESSAGE_VERSION,
            dedup_key: key.to_owned(),
            action: "notice".to_owned(),
            at,
            severity: AlertSeverity::Info,
            workspace: workspace.to_owned(),
            suite: String::new(),
            target: None,
            owners: Vec::new(),
            summary,
            figures: Vec::new(),
            failing_count: 0,
            failing: Vec::new(),
            queries: Vec::new(),
            link: None,
            command: format!("gbrain --workspace {workspace} alerts list"),
        }
    }

    fn is_resolution(&self) -> bool {
        self.action == "resolve"
    }

    /// The first line of a readable text.
    fn headline(&self) -> String {
        let word = match (self.is_resolution(), self.severity) {
            (true, _) => "Recovered",
            (false, AlertSeverity::Critical) => "Page",
            (false, AlertSeverity::Error) => "Alert",
            (false, AlertSeverity::Warning | AlertSeverity::Info) => "Notice",
        };
        format!("{word}: {}", self.summary)
    }

    fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut whose = format!("workspace {}", self.workspace);
        if !self.suite.is_empty() {
            let against = self.target.as_ref().map(|target| format!(" against {target}"));
            let (against, owners) = (against.unwrap_or_default(), self.owners.join(", "));
            whose += &format!(", suite {}{against}, owners {owners}", self.suite);
        }
        lines.push(whose);
        lines.extend(self.figures.iter().map(|(name, value)| format!("{name}: {value}")));
        if self.failing_count > 0 {
            let more = self.failing_count.saturating_sub(self.failing.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            lines.push(format!("failing cases: {}{more}", self.failing.join(", ")));
        }
        lines.extend(self.queries.iter().map(|query| format!("- {query}")));
        lines.extend(self.link.clone());
        lines.push(format!("$ {}", self.command));
        lines
    }
}

/// An event of PagerDuty's Events API v2.
pub fn pagerduty(message: &AlertMessage, routing_key: &str) -> Value {
    let event_action = if message.is_resolution() { "resolve" } else { "trigger" };
    let mut event = json!({
        "routing_key": routing_key,
        "event_action": event_action,
        "dedup_key": message.dedup_key,
    });
    if message.is_resolution() {
        return event;
    }
    let details: serde_json::Map<String, Value> =
        message.figures.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    event["payload"] = json!({
        "summary": cut(&message.summary, SUMMARY),
        "source": format!("gbrain/{}", message.workspace),
        "severity": message.severity,
        "timestamp": message.at,
        "component": message.suite,
        "group": message.workspace,
        "class": message.dedup_key.rsplit('/').nth(1).unwrap_or_default(),
        "custom_details": {
            "target": message.target,
            "figures": details,
            "failing_count": message.failing_count,
            "failing": message.failing,
            "owners": message.owners,
            "command": message.command,
        },
    });
    if !message.queries.is_empty() {
        event["payload"]["custom_details"]["queries"] = json!(message.queries);
    }
    event["client"] = json!("gbrain");
    if let Some(link) = &message.link {
        event["client_url"] = json!(link);
        event["links"] = json!([{ "href": link, "text": "the run" }]);
    }
    event
}

/// A message for Slack's incoming webhooks.
pub fn slack(message: &AlertMessage) -> Value {
    let headline = message.headline();
    let body = message.lines().iter().map(|line| escaped(line)).collect::<Vec<_>>().join("\n");
    json!({
        "text": escaped(&cut(&headline, 3000)),
        "blocks": [
            { "type": "header", "text": { "type": "plain_text", "text": cut(&headline, 150) } },
            { "type": "section", "text": { "type": "mrkdwn", "text": cut(&body, 3000) } },
        ],
    })
}

/// The message as a JSON document.
pub fn webhook(message: &AlertMessage) -> Value {
    serde_json::to_value(message).expect("our values have text keys only")
}

/// The subject and the body of an e-mail.
pub fn email(message: &AlertMessage) -> (String, String) {
    let subject = message.headline().replace(['\r', '\n'], " ");
    let body = format!("{}\n\n{}\n", message.summary, message.lines().join("\n"));
    (format!("[gbrain] {}", cut(&subject, 200)), body)
}

fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
}

/// Escapes the three characters that are special to Slack.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::AlertSubject;
    use super::*;
    use crate::suite::measure::SuiteMeasure;

    fn alert() -> Alert {
        let segment = "all".to_owned();
        let subject = AlertSubject::Measure { measure: SuiteMeasure::RecallAt5, segment };
        let summary = "weekly recall@5/all is 85.0% (17) (n = 20), past its alert of 92%";
        let whose = ("default", "weekly", &["@search <ops>".to_owned()][..]);
        let now = jiff::Timestamp::UNIX_EPOCH;
        Alert {
            target: Some("prod".to_owned()),
            run: Some(7),
            figures: vec![
                ("value".to_owned(), "85.0% (17)".to_owned()),
                ("n".to_owned(), "20".to_owned()),
            ],
            failing: vec!["q00".to_owned(), "q01".to_owned()],
            failing_count: 3,
            asked: Some(20),
            ..Alert::new(whose, subject, AlertSeverity::Critical, summary.to_owned(), now)
        }
    }

    fn message(action: &str) -> AlertMessage {
        AlertMessage::new(
            &alert(),
            action,
            "2026-11-17T12:00:00Z".to_owned(),
            Some("https://brain.example/"),
        )
    }

    #[test]
    fn pages() {
        insta::assert_json_snapshot!(pagerduty(&message("trigger"), "KEY"));
        let over = pagerduty(&message("resolve"), "KEY");
        let expected = json!({
            "routing_key": "KEY", "event_action": "resolve",
            "dedup_key": "gbrain/default/weekly/recall@5/all",
        });
        assert_eq!(over, expected);
    }

    #[test]
    fn chats() {
        insta::assert_json_snapshot!(slack(&message("trigger")));
        let over = slack(&message("resolve"));
        assert!(over["text"].as_str().unwrap().starts_with("Recovered: weekly recall@5"));
    }

    #[test]
    fn mails() {
        let (subject, body) = email(&message("trigger"));
        assert!(subject.starts_with("[gbrain] Page: weekly recall@5/all is 85.0%"), "{subject}");
        insta::assert_snapshot!(body);
        let mut forged = alert();
        forged.summary = "x\r\nBcc: everybody@example.com".to_owned();
        let (subject, _) = email(&AlertMessage::new(&forged, "trigger", String::new(), None));
        assert!(!subject.contains(['\r', '\n']), "{subject:?}");
    }

    #[test]
    fn a_message_survives_its_queue() {
        let text = webhook(&message("trigger")).to_string();
        assert_eq!(serde_json::from_str::<AlertMessage>(&text).unwrap(), message("trigger"));
        let mut old = webhook(&message("trigger"));
        assert_eq!(old["target"], "prod");
        old.as_object_mut().unwrap().remove("target");
        let old: AlertMessage = serde_json::from_value(old).unwrap();
        assert_eq!(old.target, None, "what was queued before it said so is sent");
        let without = AlertMessage::new(&alert(), "trigger", String::new(), None);
        assert_eq!(without.link, None);
        assert_eq!(without.command, "gbrain --workspace default suites show 7");
    }
}
