//! Messages as receivers take them: PagerDuty's Events API v2, Slack's webhooks, a signed document,
//! e-mail. What is queued is the message itself; its form is made when it is sent, so that no secret and
//! no receiver's form is ever stored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Alert, Severity};

/// The version of [`Message`].
const MESSAGE_VERSION: u32 = 1;

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AlertMessage")]
pub struct Message {
    /// The version of this form.
    pub schema_version: u32,
    /// What names the alert everywhere.
    pub dedup_key: String,
    /// `trigger`, `resolve` or `notice`.
    pub action: String,
    /// When.
    pub at: String,
    /// How bad it is.
    pub severity: Severity,
    /// The workspace.
    pub workspace: String,
    /// The suite.
    pub suite: String,
    /// Who was asked; null where no run tells of it.
    #[serde(default)]
    pub target: Option<String>,
    /// Who looks after it.
    pub owners: Vec<String>,
    /// In a line.
    pub summary: String,
    /// Figures by name.
    pub figures: Vec<(String, String)>,
    /// How many cases fail.
    pub failing_count: usize,
    /// Ids of failing cases, a few.
    pub failing: Vec<String>,
    /// What these cases ask, scrubbed; empty unless somebody allowed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<String>,
    /// Where the run is shown; none if nobody said where the server is.
    pub link: Option<String>,
    /// The command that shows the same.
    pub command: String,
}

/// The longest summary that PagerDuty takes.
const SUMMARY: usize = 1024;

impl Message {
    /// A message about an alert. `public_url` is where the server is reached.
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

    /// A word to a channel that is no alert.
    pub fn notice(workspace: &str, key: &str, summary: String, at: String) -> Self {
        Self {
            schema_version: MESSAGE_VERSION,
            dedup_key: key.to_owned(),
            action: "notice".to_owned(),
            at,
            severity: Severity::Info,
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

    fn is_over(&self) -> bool {
        self.action == "resolve"
    }

    /// The first line of a text for people.
    fn headline(&self) -> String {
        let word = match (self.is_over(), self.severity) {
            (true, _) => "Recovered",
            (false, Severity::Critical) => "Page",
            (false, Severity::Error) => "Alert",
            (false, Severity::Warning | Severity::Info) => "Notice",
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
pub fn pagerduty(message: &Message, routing_key: &str) -> Value {
    let event_action = if message.is_over() { "resolve" } else { "trigger" };
    let mut event = json!({
        "routing_key": routing_key,
        "event_action": event_action,
        "dedup_key": message.dedup_key,
    });
    if message.is_over() {
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

/// A message of Slack's incoming webhooks.
pub fn slack(message: &Message) -> Value {
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

/// A document of our own form.
pub fn webhook(message: &Message) -> Value {
    serde_json::to_value(message).expect("our values have text keys only")
}

/// The subject and the text of an e-mail.
pub fn email(message: &Message) -> (String, String) {
    let subject = message.headline().replace(['\r', '\n'], " ");
    let body = format!("{}\n\n{}\n", message.summary, message.lines().join("\n"));
    (format!("[gbrain] {}", cut(&subject, 200)), body)
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Slack reads three characters as its own.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::Subject;
    use super::*;
    use crate::suite::measure::Measure;

    fn alert() -> Alert {
        let segment = "all".to_owned();
        let subject = Subject::Measure { measure: Measure::RecallAt5, segment };
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
            ..Alert::new(whose, subject, Severity::Critical, summary.to_owned(), now)
        }
    }

    fn message(action: &str) -> Message {
        Message::new(
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
        let (subject, _) = email(&Message::new(&forged, "trigger", String::new(), None));
        assert!(!subject.contains(['\r', '\n']), "{subject:?}");
    }

    #[test]
    fn a_message_survives_its_queue() {
        let text = webhook(&message("trigger")).to_string();
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message("trigger"));
        let mut old = webhook(&message("trigger"));
        assert_eq!(old["target"], "prod");
        old.as_object_mut().unwrap().remove("target");
        let old: Message = serde_json::from_value(old).unwrap();
        assert_eq!(old.target, None, "what was queued before it said so is sent");
        let without = Message::new(&alert(), "trigger", String::new(), None);
        assert_eq!(without.link, None);
        assert_eq!(without.command, "gbrain --workspace default suites show 7");
    }
}
