//! Web pages: typed HTML templates and SVG charts.
//!
//! Every page is rendered from the JSON that the API and `--json` print, never from the store, so a
//! page shows nothing its reader could not read over HTTP, and the same document gives the same
//! page in the console, in an `--html` file and in `gbrain view`. A module in [`page`] has the shape
//! it reads (only the keys it shows) next to its template.
//!
//! Guarantees: pure functions; external text is always escaped; no inline script or style, so a
//! strict content security policy holds; every page is readable without JavaScript; colour is never
//! the only signal. The `<main>` of a report is the same bytes in the console and in a file.
//!
//! Not here: HTTP, sessions and the calls of the API (`server/console`).

mod assets;
mod chart;
mod diff;
mod markdown;
mod part;
mod shell;

pub mod page;
pub mod report;

pub use assets::{ASSETS, Asset};
pub use maud::Markup;
pub use shell::{Chrome, Page, Section, document, file, live};
