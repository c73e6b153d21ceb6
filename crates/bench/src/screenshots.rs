//! The pictures of the console: every page of the table, light and dark, wide and narrow.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, ensure};
use gbrain_testkit::browser::Browser;
use gbrain_testkit::console::{PAGES, seed, serve_command};
use gbrain_testkit::engine::Engine;
use gbrain_testkit::process::Gbrain;
use gbrain_testkit::served::Served;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/demo");
/// Widths in CSS pixels, and the least and the most of a page's height that a picture shows.
const SIZES: [(u32, u32, u32); 2] = [(1280, 860, 960), (400, 480, 960)];
const THEMES: [(&str, bool); 2] = [("light", false), ("dark", true)];

/// Writes the pictures into a directory, replacing those that are there.
pub(crate) fn run(directory: &Path) -> Result<ExitCode> {
    let program = std::env::current_exe()?.with_file_name("gbrain");
    let browser =
        Browser::start()?.context("the pictures need a browser: `cargo xtask screenshots`")?;
    let brain = Gbrain::new(&program, Engine::Sqlite)?;
    seed(&brain, Path::new(CORPUS))?;
    let served = Served::start(serve_command(&brain))?;
    let base = format!("http://{}", served.address());
    let mut workspace = "";
    if directory.is_dir() {
        std::fs::remove_dir_all(directory)?;
    }
    std::fs::create_dir_all(directory)?;
    let mut bytes = 0;
    for page in PAGES {
        if page.workspace != workspace {
            workspace = page.workspace;
            sign_in(&browser, &base, &admin_token(&brain, workspace)?)?;
        }
        for (theme, is_dark) in THEMES {
            browser.set_dark(is_dark)?;
            for (width, min_height, max_height) in SIZES {
                browser.set_size(width, min_height)?;
                browser.open(&format!("{base}{}", page.path))?;
                // The navigation is as high as the window.
                let height = browser.script("return document.documentElement.scrollHeight", &[])?;
                let height = height.as_u64().and_then(|height| u32::try_from(height).ok());
                browser
                    .set_size(width, height.unwrap_or(max_height).clamp(min_height, max_height))?;
                let path = directory.join(format!("{}-{theme}-{width}.png", page.name));
                std::fs::write(&path, browser.screenshot(max_height)?)?;
                reduce(&path)?;
                bytes += std::fs::metadata(&path)?.len();
            }
        }
    }
    let count = PAGES.len() * THEMES.len() * SIZES.len();
    writeln!(
        std::io::stdout(),
        "{count} pictures, {} KB, in {}",
        bytes >> 10,
        directory.display()
    )?;
    served.stop()?;
    Ok(ExitCode::SUCCESS)
}

/// A new admin token of a workspace.
fn admin_token(brain: &Gbrain, workspace: &str) -> Result<String> {
    let arguments = [
        "tokens",
        "create",
        "--name",
        "screenshots",
        "--scope",
        "admin",
        "--rate",
        "1000000",
        "--json",
    ];
    let output = brain.run(&[&["--workspace", workspace], &arguments[..]].concat())?;
    let token = output.json()?["token"].as_str().map(str::to_owned);
    token.with_context(|| format!("no token: {}", output.stderr))
}

/// Signs in by the form.
fn sign_in(browser: &Browser, base: &str, token: &str) -> Result<()> {
    browser.open(&format!("{base}/sign-in?next=/runs"))?;
    browser.fill("input[name=token]", token)?;
    browser.follow("main button")?;
    ensure!(browser.url()? == format!("{base}/runs"), "signing in led to {}", browser.url()?);
    Ok(())
}

/// Reduces the colours of a picture, if `pngquant` is installed.
fn reduce(path: &Path) -> Result<()> {
    let mut command = Command::new("pngquant");
    command.args(["--force", "--ext", ".png", "--strip", "--speed", "1", "48", "--"]).arg(path);
    match command.status() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        status => {
            ensure!(status?.success(), "pngquant failed on {}", path.display());
            Ok(())
        }
    }
}
