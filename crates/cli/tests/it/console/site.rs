//! A server with the console, its readers, and a browser in front of it.

use std::cell::Cell;
use std::fs::File;
use std::path::Path;
use std::time::UNIX_EPOCH;

use gbrain_testkit::browser::{Browser, LogEntry};
use gbrain_testkit::console::{ConsolePage, EMPTY, FULL, PAGES, seed, serve_command};
use gbrain_testkit::process::Gbrain;
use serde_json::Value;

use crate::serve::client::{Server, token_of};
use crate::support::Home;

/// Keys as WebDriver names them.
pub(super) const TAB: &str = "\u{e004}";
pub(super) const ENTER: &str = "\u{e007}";
pub(super) const ESCAPE: &str = "\u{e00c}";
pub(super) const DOWN: &str = "\u{e015}";
pub(super) const UP: &str = "\u{e013}";

/// Fills a home with what the pages show. On SQLite the first test of a build makes it, and the
/// others copy its files.
pub(super) fn seeded(home: Home) -> Home {
    let fill = |brain: &Gbrain| {
        seed(brain, &Path::new(env!("CARGO_MANIFEST_DIR")).join("demo")).unwrap();
    };
    if home.brain().database_url().is_some() {
        fill(home.brain());
        return home;
    }
    // Another program, or another seed, makes it again.
    let tests = std::env::current_exe().unwrap();
    let ages = [Path::new(env!("CARGO_BIN_EXE_gbrain")), &tests].map(|program| {
        let modified = std::fs::metadata(program).unwrap().modified().unwrap();
        modified.duration_since(UNIX_EPOCH).unwrap().as_nanos()
    });
    let ages = format!("{ages:?}");
    let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).join("console-seed");
    std::fs::create_dir_all(&shared).unwrap();
    let lock = File::create(shared.join("lock")).unwrap();
    lock.lock().unwrap();
    let (files, made) = (shared.join("home"), shared.join("made"));
    if std::fs::read_to_string(&made).is_ok_and(|text| text == ages) {
        copy_files(&files, home.path());
        return home;
    }
    fill(home.brain());
    let _ = std::fs::remove_file(&made);
    let _ = std::fs::remove_dir_all(&files);
    copy_files(home.path(), &files);
    std::fs::write(&made, ages).unwrap();
    home
}

fn copy_files(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            std::fs::set_permissions(&target, entry.metadata().unwrap().permissions()).unwrap();
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// The pages, those of a workspace together, so that a browser signs in once in each.
pub(super) fn pages_by_workspace() -> Vec<&'static ConsolePage> {
    let mut pages: Vec<&ConsolePage> = PAGES.iter().collect();
    pages.sort_by_key(|page| page.workspace);
    pages
}

/// A server of a home that [`seeded`] filled.
pub(super) fn server(home: &Home) -> Server {
    Server::of(serve_command(home.brain()), &[])
}

/// The tokens of admins of both workspaces of a seeded home.
pub(super) struct Admins {
    tokens: [(&'static str, String); 2],
    /// The workspace whose admin is signed in.
    current: Cell<&'static str>,
}

impl Admins {
    pub(super) fn new(home: &Home) -> Self {
        let tokens = [FULL, EMPTY].map(|workspace| (workspace, token_of(home, workspace, "admin")));
        Self { tokens, current: Cell::new("") }
    }

    /// Opens a page in a browser, as an admin of its workspace.
    #[track_caller]
    pub(super) fn open(&self, visit: &Visit, page: &ConsolePage) {
        if self.current.replace(page.workspace) != page.workspace {
            let mut tokens = self.tokens.iter();
            visit.sign_in_first(
                &tokens.find(|(workspace, _)| *workspace == page.workspace).unwrap().1,
            );
        }
        visit.open(page.path);
    }
}

/// A browser that looks at one server.
pub(super) struct Visit {
    pub(super) browser: Browser,
    pub(super) base: String,
}

impl Visit {
    /// `None`, loudly, where there is no browser.
    pub(super) fn start(server: &Server) -> Option<Self> {
        let browser = Browser::start().unwrap()?;
        Some(Self { browser, base: format!("http://{}", server.address()) })
    }

    #[track_caller]
    pub(super) fn open(&self, path: &str) {
        self.browser.open(&format!("{}{path}", self.base)).unwrap();
    }

    /// Path and query of the page.
    #[track_caller]
    pub(super) fn path(&self) -> String {
        let url = self.browser.url().unwrap();
        url.strip_prefix(&self.base).unwrap_or(&url).to_owned()
    }

    #[track_caller]
    pub(super) fn script(&self, body: &str) -> Value {
        self.browser.script(body, &[]).unwrap()
    }

    /// Signs in by the form that the browser shows.
    #[track_caller]
    pub(super) fn sign_in(&self, token: &str) {
        self.browser.fill("input[name=token]", token).unwrap();
        self.browser.follow("main button").unwrap();
    }

    /// Opens the form and signs in.
    #[track_caller]
    pub(super) fn sign_in_first(&self, token: &str) {
        self.open("/sign-in?next=/runs");
        self.sign_in(token);
        assert_eq!(self.path(), "/runs");
    }

    /// The status of the page.
    #[track_caller]
    pub(super) fn status(&self) -> u64 {
        self.script("return performance.getEntriesByType('navigation')[0].responseStatus")
            .as_u64()
            .unwrap()
    }

    /// Loads the page again until it leads elsewhere.
    #[track_caller]
    pub(super) fn reload_until(&self, path: &str) {
        let begun = std::time::Instant::now();
        while self.path() != path {
            assert!(begun.elapsed().as_secs() < 60, "still at {}", self.path());
            self.browser.reload().unwrap();
        }
    }

    /// Asserts that no page had an error, broke its policy, or sent a request to another server.
    #[track_caller]
    pub(super) fn assert_clean(&self, place: &str) {
        let problems: Vec<LogEntry> =
            self.browser.log().unwrap().into_iter().filter(LogEntry::is_problem).collect();
        assert!(problems.is_empty(), "{place}: {problems:#?}");
        let own = format!("{}/", self.base);
        let foreign: Vec<_> = self
            .browser
            .requests()
            .unwrap()
            .into_iter()
            .filter(|request| !request.url.starts_with(&own))
            .collect();
        assert!(foreign.is_empty(), "{place}: {foreign:#?}");
    }

    /// Asserts that the page fits its window.
    #[track_caller]
    pub(super) fn assert_fits(&self, place: &str) {
        for width in [400, 1280] {
            self.browser.set_size(width, 900).unwrap();
            let found = self.script(WIDER_THAN_WINDOW);
            assert_eq!(found, Value::Null, "{place} at {width} px");
        }
    }
}

/// The first element that makes the page scroll sideways, if it does.
const WIDER_THAN_WINDOW: &str = "
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth) return null;
    const isOut = (element) => element.getBoundingClientRect().right > root.clientWidth + 0.5
        && !element.parentElement.closest('.scroll');
    const element = [...document.body.querySelectorAll('*')].find(isOut);
    return `${root.scrollWidth} > ${root.clientWidth}: ${(element ?? root).outerHTML.slice(0, 300)}`;";
