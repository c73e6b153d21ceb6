//! Text that others wrote does nothing to a terminal, and is exact in a pipe.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::prompts::Library;
use crate::support::Home;

/// Sets the clipboard, clears the screen, begins a sequence with a C1 character, reverses text, erases.
const HOSTILE: &str = "\u{1b}]52;c;aGk=\u{7}\u{1b}[2J\u{9b}31m\u{202e}\u{7f}";
/// The same as it is shown.
const SHOWN: &str = "\\u001b]52;c;aGk=\\u0007\\u001b[2J\\u009b31m\\u202e\\u007f";
/// The same as a title in YAML.
const YAML: &str = "\\x1B]52;c;aGk=\\x07\\x1B[2J\\x9B31m\\u202E\\x7F";

/// Which stream of a command is a terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OnTerminal {
    Stdout,
    Stderr,
}

impl OnTerminal {
    /// The terminal output.
    fn of(self, output: Output) -> Vec<u8> {
        match self {
            Self::Stdout => output.stdout,
            Self::Stderr => output.stderr,
        }
    }
}

/// Runs a command with a terminal as one of its streams.
pub(crate) fn on_terminal(which: OnTerminal, command: &Command) -> Output {
    let python = std::env::var("GBRAIN_TEST_PYTHON")
        .expect("GBRAIN_TEST_PYTHON is not set: run `cargo xtask test`");
    let mut wrapped = Command::new(python);
    wrapped.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/terminal.py"));
    wrapped.arg(match which {
        OnTerminal::Stdout => "stdout",
        OnTerminal::Stderr => "stderr",
    });
    wrapped.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    if let Some(dir) = command.get_current_dir() {
        wrapped.current_dir(dir);
    }
    wrapped.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("CI");
    wrapped.env("TERM", "xterm-256color");
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    wrapped.output().unwrap()
}

/// Whether a terminal that got these bytes did something that the text asked for.
fn is_obeyed(bytes: &[u8]) -> bool {
    let text = String::from_utf8(bytes.to_vec()).expect("what is printed is UTF-8");
    ["\u{1b}]", "\u{1b}[2J", "\u{9b}", "\u{202e}", "\u{7}", "\u{7f}"]
        .iter()
        .any(|part| text.contains(part))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A home in which everything that a caller may name is hostile.
fn hostile(home: Home) -> Home {
    let page = format!("---\ntitle: \"boats {YAML}\"\n---\n# boats\n\nboats {HOSTILE} float\n");
    assert_eq!(home.put("notes/evil", &page).code, Some(0));
    home.ok(&["sources", "add", "evil", "--name", HOSTILE]);
    home.ok(&["events", "emit", "deploy.finished", "--document", HOSTILE]);
    home.ok(&["queries", "add", &format!("boats {HOSTILE}"), "--expected", "notes/evil"]);
    assert_eq!(home.run(&["tokens", "create", "--name", HOSTILE]).code, Some(2));
    let dir = home.path().join(format!("folder {HOSTILE}"));
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("bad.md"), b"\xff\xfe\x00").unwrap();
    home
}

/// Commands that print what others wrote, on stdout.
const PRINTING: &[&[&str]] = &[
    &["get", "notes/evil"],
    &["search", "boats"],
    &["query", "boats"],
    &["list"],
    &["history", "notes/evil"],
    &["sources", "list"],
    &["events", "list"],
    &["queries", "list"],
];

#[test]
fn a_terminal_shows_external_text_and_a_pipe_gets_it() {
    for home in Home::both() {
        let home = hostile(home);
        for words in PRINTING {
            let shown = on_terminal(OnTerminal::Stdout, &home.command(words));
            assert!(shown.status.success(), "{words:?}: {}", text(&shown.stderr));
            assert!(!is_obeyed(&shown.stdout), "{words:?}: {:?}", text(&shown.stdout));
            assert!(text(&shown.stdout).contains(SHOWN), "{words:?}: {}", text(&shown.stdout));
            let piped = home.ok(words);
            assert!(piped.contains(HOSTILE), "{words:?} changes what it prints: {piped:?}");
            assert!(!piped.contains(SHOWN), "{words:?}: {piped}");
            // JSON output is the same in a pipe and on a terminal.
            let json = [*words, &["--json"]].concat();
            let shown = on_terminal(OnTerminal::Stdout, &home.command(&json));
            assert!(!is_obeyed(&shown.stdout), "{json:?}: {:?}", text(&shown.stdout));
            let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
            let piped: serde_json::Value = serde_json::from_str(&home.ok(&json)).unwrap();
            // Answers say how long they took.
            if !matches!(words[0], "search" | "query") {
                assert_eq!(shown, piped, "{json:?}");
            }
        }
    }
}

/// A title whose second and third line look like lines of ours.
const LINES: &str = "boat\ndefault::b  fake page\r\nerror:\tthe disk is full";
/// The same as it is shown.
const ONE_LINE: &str = "boat\\ndefault::b  fake page\\r\\nerror:\\tthe disk is full";
/// The same in YAML.
const LINES_IN_YAML: &str = "boat\\ndefault::b  fake page\\r\\nerror:\\tthe disk is full";

/// The lines of a terminal that begin like lines of ours and are not.
fn forged(shown: &str) -> Vec<&str> {
    let is_forged = |line: &&str| line.starts_with("default::b") || line.starts_with("error:");
    shown.lines().map(|line| line.trim_start_matches('\u{1b}').trim()).filter(is_forged).collect()
}

#[test]
fn a_title_can_not_write_lines_that_look_like_ours() {
    for home in Home::both() {
        let page = format!(
            "---\ntitle: \"{LINES_IN_YAML}\"\ntype: \"{LINES_IN_YAML}\"\ntags: [\"{LINES_IN_YAML}\"]\n---\n\
             a boat\n\nerror: of the page itself\n"
        );
        assert_eq!(home.put("notes/lines", &page).code, Some(0));
        home.ok(&["sources", "add", "lines", "--name", LINES]);
        home.ok(&["events", "emit", "deploy.finished", "--document", LINES]);
        home.ok(&["queries", "add", LINES, "--expected", "notes/lines"]);
        let printing: &[&[&str]] = &[
            &["search", "boat"],
            &["query", "boat"],
            &["query", "boat", "--explain"],
            &["search", "boat", "--tag", "other", "--why-not", "notes/lines"],
            &["list"],
            &["history", "notes/lines"],
            &["sources", "list"],
            &["events", "list"],
            &["queries", "list"],
            &["stats"],
        ];
        for words in printing {
            let shown = text(&on_terminal(OnTerminal::Stdout, &home.command(words)).stdout);
            // Tags are kept in lower case.
            let is_shown = shown.to_lowercase().contains(&ONE_LINE.to_lowercase());
            assert!(is_shown, "{words:?}: {shown}");
            assert_eq!(forged(&shown), [""; 0], "{words:?}: {shown}");
        }
        // A pipe gets the title, and a page on a terminal keeps its lines.
        assert!(home.ok(&["search", "boat"]).contains(LINES));
        let shown =
            text(&on_terminal(OnTerminal::Stdout, &home.command(&["get", "notes/lines"])).stdout);
        assert!(shown.contains("a boat\r\n\r\nerror: of the page itself\r\n"), "{shown:?}");
    }
}

#[test]
fn a_warning_can_not_write_lines_that_look_like_ours() {
    let home = Home::sqlite();
    home.put("notes/a", "a boat");
    let dir = home.path().join(LINES);
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("bad.md"), b"\xff\xfe\x00").unwrap();
    let told: &[&[&str]] = &[
        &["search", "boat", "--type", LINES],
        &["search", "boat", "--tag", LINES],
        &["import", dir.to_str().unwrap()],
        &["get", LINES],
        &["config", "get", LINES],
    ];
    for words in told {
        let shown = on_terminal(OnTerminal::Stderr, &home.command(words));
        let shown = text(&shown.stderr);
        assert!(shown.contains("boat\\ndefault"), "{words:?}: {shown}");
        let ours = |line: &&str| !line.starts_with("error: ");
        let forged: Vec<_> = forged(&shown).into_iter().filter(ours).collect();
        assert_eq!(forged, [""; 0], "{words:?}: {shown}");
    }
}

/// Every other command that can print: none of them may let a terminal obey, whatever is in the brain.
#[test]
fn no_command_lets_a_terminal_obey() {
    let home = hostile(Home::sqlite());
    home.write("config.json", r#"{"eval":{"capture":true}}"#);
    home.ok(&["query", &format!("boats {HOSTILE}")]);
    let dir = home.path().join(format!("folder {HOSTILE}"));
    let dir = dir.to_str().unwrap();
    let commands: &[&[&str]] = &[
        &["stats"],
        &["stats", "--json"],
        &["links", "notes/evil"],
        &["doctor", "--offline"],
        &["doctor", "--offline", "--json"],
        &["reindex", "--verify"],
        &["workspaces", "list"],
        &["config", "list"],
        &["suites", "list"],
        &["alerts", "list"],
        &["incident", "list"],
        &["jobs", "list"],
        &["models"],
        &["spend"],
        &["targets"],
        &["eval", "export"],
        &["eval", "export", "--format", "trec"],
        &["query", HOSTILE],
        &["search", HOSTILE, "--json"],
        &["import", dir],
        &["import", dir, "--json"],
        &["import", HOSTILE],
        &["get", HOSTILE],
        &["get", HOSTILE, "--json"],
        &["history", HOSTILE],
        &["delete", HOSTILE],
        &["triage", HOSTILE],
        &["suites", "run", HOSTILE],
        &["targets", "check", HOSTILE],
        &["config", "get", HOSTILE],
        &["config", "set", "search.pool", HOSTILE],
        &["sources", "add", HOSTILE],
        &["eval", "score", "--qrels", HOSTILE, "--run", HOSTILE],
        &["bench", "verify", HOSTILE],
        &[HOSTILE],
        &["--", HOSTILE],
        &["list", HOSTILE],
        &["--home", HOSTILE, "stats"],
        &["--workspace", HOSTILE, "stats"],
        &["--database-url", HOSTILE, "stats"],
    ];
    for words in commands {
        for which in [OnTerminal::Stdout, OnTerminal::Stderr] {
            let bytes = which.of(on_terminal(which, home.command(words).current_dir(home.path())));
            assert!(!is_obeyed(&bytes), "{words:?}: {:?}", text(&bytes));
        }
    }
}

#[test]
fn stdout_and_stderr_are_judged_each_for_itself() {
    let home = hostile(Home::sqlite());
    let dir = home.path().join(format!("folder {HOSTILE}"));
    let words = ["import", dir.to_str().unwrap()];
    // The name of a file that can't be read is talk.
    let piped = home.run(&words);
    assert!(piped.stderr.contains(HOSTILE), "{:?}", piped.stderr);
    let other = on_terminal(OnTerminal::Stdout, &home.command(&words));
    assert!(text(&other.stderr).contains(HOSTILE), "{:?}", text(&other.stderr));
    let shown = on_terminal(OnTerminal::Stderr, &home.command(&words));
    assert!(text(&shown.stderr).contains(SHOWN), "{:?}", text(&shown.stderr));
    assert!(!is_obeyed(&shown.stderr), "{:?}", text(&shown.stderr));
    let page = on_terminal(OnTerminal::Stderr, &home.command(&["get", "notes/evil"]));
    assert!(text(&page.stdout).contains(HOSTILE), "{:?}", text(&page.stdout));
}

#[test]
fn a_page_in_a_pipe_is_exactly_the_page() {
    for home in Home::both() {
        for (slug, page) in [
            ("a", format!("no line end {HOSTILE}")),
            ("b", format!("# b\r\n\r\ntext {HOSTILE}\r\n")),
            ("c", "# c\n\n\u{1b}[31mred\u{1b}[0m\n\n\n".to_owned()),
        ] {
            assert_eq!(home.put(slug, &page).code, Some(0));
            assert_eq!(home.ok(&["get", slug]), page);
        }
        let shown = on_terminal(OnTerminal::Stdout, &home.command(&["get", "a"]));
        assert_eq!(text(&shown.stdout), format!("no line end {SHOWN}\r\n"));
    }
}

#[test]
fn our_own_colours_are_colours() {
    let home = hostile(Home::sqlite());
    let shown = on_terminal(OnTerminal::Stdout, &home.command(&["search", "boats"]));
    let shown = text(&shown.stdout);
    assert!(shown.contains(&format!("\u{1b}[1mboats {SHOWN}\u{1b}[0m")), "{shown:?}");
    assert!(shown.contains("\u{1b}[1;33mboats\u{1b}[0m"), "{shown:?}");
    let plain =
        on_terminal(OnTerminal::Stdout, home.command(&["search", "boats"]).env("NO_COLOR", "1"));
    let plain = text(&plain.stdout);
    assert!(plain.contains(SHOWN) && !plain.contains('\u{1b}'), "{plain:?}");
    let forced = home.command(&["search", "boats"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    let forced = text(&forced.stdout);
    assert!(forced.contains(&format!("\u{1b}[1mboats {HOSTILE}\u{1b}[0m")), "{forced:?}");
}

#[test]
fn the_scrubber_passes_text_through() {
    let home = Home::sqlite();
    let mut command = home.command(&["eval", "scrub"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(format!("boats {HOSTILE}\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), format!("boats {HOSTILE}\n"));
}

#[test]
fn eva_and_kick_show_what_models_say() {
    let library = Library::new();
    library.write("answer", &format!("an answer {HOSTILE}\n"));
    library.model("cat >/dev/null; cat answer");
    let send = ["greet", "--var", "name=Ada", "--send"];
    let piped = library.kick(&send, 0);
    assert_eq!(piped.stdout, format!("an answer {HOSTILE}\n"));
    let hostile_variable = format!("name={HOSTILE}");
    let render = ["greet", "--var", hostile_variable.as_str()];
    assert_eq!(library.kick(&render, 0).stdout, format!("Hello {HOSTILE}.\n"));
    library.write(
        "prompts/greet/meta.yml",
        &format!(
            "id: greet\ntitle: \"{YAML}\"\nsummary: \"{YAML}\"\nstatus: draft\nversion: 0.1.0\n\
             created: 2026-05-01\nupdated: 2026-05-01\ninputs:\n  - name: name\n    required: true\n"
        ),
    );
    for (program, words) in
        [("kick", &send[..]), ("kick", &render), ("eva", &["list"]), ("eva", &["show", "greet"])]
    {
        let shown = on_terminal(OnTerminal::Stdout, &library.command(program, words));
        let shown = text(&shown.stdout);
        assert!(!is_obeyed(shown.as_bytes()), "{program} {words:?}: {shown:?}");
        assert!(shown.contains(SHOWN), "{program} {words:?}: {shown:?}");
    }
    for (program, words) in [
        ("eva", &["log", "greet"][..]),
        ("eva", &["stats"]),
        ("eva", &["show", HOSTILE]),
        ("kick", &[HOSTILE]),
        ("kick", &["greet", "--var", HOSTILE]),
    ] {
        for which in [OnTerminal::Stdout, OnTerminal::Stderr] {
            let bytes = which.of(on_terminal(which, &library.command(program, words)));
            assert!(!is_obeyed(&bytes), "{program} {words:?}: {:?}", text(&bytes));
        }
    }
}
