//! The form to sign in with a token.

use maud::{DOCTYPE, html};

use crate::part::{Tone, heading, tag};
use crate::shell::Page;

/// `next` is the page to open afterwards; `error` says why the last attempt failed.
pub fn page(next: &str, error: Option<&str>) -> Page {
    Page {
        title: "Sign in".to_owned(),
        header: heading("gbrain", "Sign in", None, "The console needs a token of this server."),
        main: html! {
            section aria-labelledby="sign-in" {
                h2 #sign-in { "Token" }
                @if let Some(error) = error { p role="alert" { (tag(Tone::Bad, "refused")) " " (error) } }
                form.row method="post" action="/sign-in" {
                    input type="hidden" name="next" value=(next);
                    label { "Token" input type="password" name="token" size="60" required autocomplete="current-password" autofocus; }
                    button.primary type="submit" { "Sign in" }
                }
                p.more { "An administrator creates a token with " code { "gbrain tokens create --name NAME --scope read" } "." }
            }
        },
        ..Page::default()
    }
}

/// A page that loads another page of this server. A link from another site arrives without the
/// session cookie; loaded again from here, it has it.
pub fn again(target: &str) -> String {
    let refresh = format!("0; url={target}");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="refresh" content=(refresh);
                title { "gbrain" }
            }
            body { p { a href=(target) { "Continue to the console" } } }
        }
    }
    .into_string()
}
