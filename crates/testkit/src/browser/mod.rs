//! A real browser for tests: Chromium without a window, driven over WebDriver.
//!
//! WebDriver is JSON over HTTP, so the client of this crate is enough: no crate is added. Chromium's own protocol
//! (`cdp`) sets what WebDriver cannot, such as dark mode or pages without scripts.
//!
//! Guarantees: a command returns after the page that it opened has loaded; nothing waits for a time, only for a
//! condition; the driver and all processes of the browser end when the browser is dropped, and when this process dies.
//! An open dialog makes every later command fail.

mod driver;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use driver::Driver;

/// Names the browser; `cargo xtask test` sets it, like the others.
pub const CHROMIUM: &str = "GBRAIN_TEST_CHROMIUM";
/// Names the driver of the browser.
pub const CHROMEDRIVER: &str = "GBRAIN_TEST_CHROMEDRIVER";
/// Names the script of axe-core, which checks pages for accessibility.
pub const AXE: &str = "GBRAIN_TEST_AXE";

/// Longer than any page takes on a busy machine: past it something hangs.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Without them Chromium calls its maker's servers at every start.
const FLAGS: [&str; 14] = [
    "--headless",
    "--window-size=1280,900",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--hide-scrollbars",
];
/// The key under which WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with one tab and a profile of its own.
#[derive(Debug)]
pub struct Browser {
    driver: Driver,
    /// Path of the session at the driver.
    session: String,
}

/// A line of the browser's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// `SEVERE`, `WARNING`, `INFO` or `DEBUG`.
    pub level: String,
    /// The part of the browser that wrote it, such as `javascript`, `security` or `network`.
    pub source: String,
    pub message: String,
}

/// A request that the browser sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentRequest {
    pub method: String,
    pub url: String,
}

/// A PNG picture of a page.
pub type Png = Vec<u8>;

impl Browser {
    /// Starts the browser that the variables name. `None`, loudly, if they are not set: then the tests that need a
    /// browser are skipped.
    #[expect(clippy::print_stderr, reason = "a skip is told")]
    pub fn start() -> Result<Option<Self>> {
        let programs = [CHROMIUM, CHROMEDRIVER].map(std::env::var_os);
        let [Some(chromium), Some(chromedriver)] = programs else {
            eprintln!(
                "SKIPPED a test in a browser: set {CHROMIUM} and {CHROMEDRIVER} (`cargo xtask with` does)"
            );
            return Ok(None);
        };
        let driver = Driver::start(chromedriver.as_ref())?;
        let profile = format!("--user-data-dir={}", driver.directory().join("profile").display());
        let flags: Vec<&str> = FLAGS.into_iter().chain([profile.as_str()]).collect();
        let options = json!({ "binary": chromium.to_string_lossy(), "args": flags });
        let capabilities = json!({
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "timeouts": { "script": 60_000, "pageLoad": 60_000, "implicit": 0 },
        });
        let session =
            driver.post("/session", &json!({ "capabilities": { "alwaysMatch": capabilities } }))?;
        let id = session["sessionId"].as_str().context("the driver gave no session")?;
        Ok(Some(Self { session: format!("/session/{id}"), driver }))
    }

    /// Opens a page and waits until it has loaded.
    pub fn open(&self, url: &str) -> Result<()> {
        self.post("/url", &json!({ "url": url })).map(drop)
    }

    /// The address of the page.
    pub fn url(&self) -> Result<String> {
        self.get("/url").map(|url| url.as_str().unwrap_or_default().to_owned())
    }

    pub fn back(&self) -> Result<()> {
        self.post("/back", &json!({})).map(drop)
    }

    pub fn forward(&self) -> Result<()> {
        self.post("/forward", &json!({})).map(drop)
    }

    pub fn reload(&self) -> Result<()> {
        self.post("/refresh", &json!({})).map(drop)
    }

    /// Runs the body of a function in the page and gives what it returns. Works without scripts too.
    pub fn script(&self, body: &str, arguments: &[Value]) -> Result<Value> {
        self.post("/execute/sync", &json!({ "script": body, "args": arguments }))
    }

    /// The same for a function whose last argument is to be called with the result.
    pub fn script_with_callback(&self, body: &str, arguments: &[Value]) -> Result<Value> {
        self.post("/execute/async", &json!({ "script": body, "args": arguments }))
    }

    /// Waits until an expression is true in the page. It may leave the page meanwhile.
    pub fn until(&self, expression: &str) -> Result<()> {
        let begun = Instant::now();
        loop {
            let found = self.script(&format!("return Boolean({expression})"), &[]);
            if matches!(found, Ok(Value::Bool(true))) {
                return Ok(());
            }
            if begun.elapsed() > TIMEOUT {
                bail!("`{expression}` did not become true at {}: {found:?}", self.url()?);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// The visible text of the page.
    pub fn text(&self) -> Result<String> {
        let text = self.script("return document.body.innerText", &[])?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    /// Clicks on the first element that a CSS selector finds.
    pub fn click(&self, selector: &str) -> Result<()> {
        let element = self.element(selector)?;
        self.post(&format!("/element/{element}/click"), &json!({})).map(drop)
    }

    /// Clicks on an element that opens a page, and waits until that has loaded.
    pub fn follow(&self, selector: &str) -> Result<()> {
        self.script("window.isLeft = true", &[])?;
        self.click(selector)?;
        self.until("!window.isLeft && document.readyState === 'complete'")
    }

    /// Types into a field.
    pub fn fill(&self, selector: &str, text: &str) -> Result<()> {
        let element = self.element(selector)?;
        self.post(&format!("/element/{element}/value"), &json!({ "text": text })).map(drop)
    }

    /// Presses and releases a key: a character, or a code of WebDriver such as `\u{e004}` for Tab.
    pub fn press(&self, key: &str) -> Result<()> {
        let strokes = ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key }));
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": strokes });
        self.post("/actions", &json!({ "actions": [keyboard] })).map(drop)
    }

    /// A command of Chromium's own protocol.
    pub fn cdp(&self, method: &str, parameters: &Value) -> Result<Value> {
        self.post("/goog/cdp/execute", &json!({ "cmd": method, "params": parameters }))
    }

    /// Whether pages run scripts, from the next page on.
    pub fn set_scripts(&self, are_on: bool) -> Result<()> {
        self.cdp("Emulation.setScriptExecutionDisabled", &json!({ "value": !are_on })).map(drop)
    }

    /// The reader's preference between dark and light pages.
    pub fn set_dark(&self, is_dark: bool) -> Result<()> {
        let value = if is_dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.cdp("Emulation.setEmulatedMedia", &json!({ "features": features })).map(drop)
    }

    /// The size of the window in CSS pixels.
    pub fn set_size(&self, width: u32, height: u32) -> Result<()> {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.cdp("Emulation.setDeviceMetricsOverride", &size).map(drop)
    }

    /// A picture of the page from its top, at most this high.
    pub fn screenshot(&self, max_height: u32) -> Result<Png> {
        let size = "const e = document.documentElement; return [e.clientWidth, e.scrollHeight]";
        let size = self.script(size, &[])?;
        let side = |at: usize| size[at].as_u64().context("a page without a size");
        let clip = json!({
            "x": 0, "y": 0, "scale": 1, "width": side(0)?, "height": side(1)?.min(max_height.into()),
        });
        let picture = json!({ "format": "png", "clip": clip, "captureBeyondViewport": true });
        let picture = self.cdp("Page.captureScreenshot", &picture)?;
        decode_base64(picture["data"].as_str().unwrap_or_default()).context("not a picture")
    }

    /// The cookies of the page.
    pub fn cookies(&self) -> Result<Vec<Value>> {
        Ok(self.get("/cookie")?.as_array().cloned().unwrap_or_default())
    }

    /// Forgets the cookies of the page.
    pub fn delete_cookies(&self) -> Result<()> {
        self.driver.delete(&format!("{}/cookie", self.session)).map(drop)
    }

    /// The new lines of the browser's log.
    pub fn log(&self) -> Result<Vec<LogEntry>> {
        let entries = self.entries("browser")?;
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let entry = |entry: &Value| LogEntry {
            level: text(entry, "level"),
            source: text(entry, "source"),
            message: text(entry, "message"),
        };
        Ok(entries.iter().map(entry).collect())
    }

    /// The requests over a network since the last call, and not those of the browser's own pages.
    pub fn requests(&self) -> Result<Vec<SentRequest>> {
        let entries = self.entries("performance")?;
        let requests = entries.iter().filter_map(|entry| {
            let event: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let event = &event["message"];
            let request = &event["params"]["request"];
            let (method, url) =
                (request["method"].as_str()?.to_owned(), request["url"].as_str()?.to_owned());
            let is_internal =
                ["data:", "blob:", "chrome:"].iter().any(|scheme| url.starts_with(scheme));
            let is_sent = event["method"] == "Network.requestWillBeSent" && !is_internal;
            is_sent.then_some(SentRequest { method, url })
        });
        Ok(requests.collect())
    }

    fn entries(&self, kind: &str) -> Result<Vec<Value>> {
        let entries = self.post("/se/log", &json!({ "type": kind }))?;
        Ok(entries.as_array().cloned().unwrap_or_default())
    }

    fn element(&self, selector: &str) -> Result<String> {
        let found =
            self.post("/element", &json!({ "using": "css selector", "value": selector }))?;
        Ok(found[ELEMENT].as_str().context("not an element")?.to_owned())
    }

    fn get(&self, path: &str) -> Result<Value> {
        self.driver.get(&format!("{}{path}", self.session))
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.driver.post(&format!("{}{path}", self.session), body)
    }
}

impl LogEntry {
    /// Whether a page did something wrong: an uncaught error, or something that its policy forbids. A status such as
    /// 404 is no error of a page.
    pub fn is_problem(&self) -> bool {
        let is_status =
            self.source == "network" && self.message.contains("responded with a status");
        (self.level == "SEVERE" && !is_status) || self.message.contains("Content Security Policy")
    }
}

fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let sextet = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(sextet);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        for (text, expected) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(decode_base64(text).unwrap(), expected.as_bytes());
        }
        assert_eq!(decode_base64("Zm 9"), None);
    }

    #[test]
    fn a_status_is_no_problem_of_a_page() {
        let entry = |level: &str, source: &str, message: &str| {
            let [level, source, message] = [level, source, message].map(str::to_owned);
            LogEntry { level, source, message }.is_problem()
        };
        let status =
            "x - Failed to load resource: the server responded with a status of 404 (Not Found)";
        assert!(!entry("SEVERE", "network", status));
        assert!(entry("SEVERE", "javascript", "Uncaught ReferenceError"));
        assert!(entry("SEVERE", "network", "net::ERR_CONNECTION_REFUSED"));
        assert!(entry("INFO", "security", "violates the Content Security Policy"));
        assert!(!entry("DEBUG", "recommendation", "Password forms should have username fields"));
    }
}
