//! E-mail addresses in the form that slugs give them: `ada-at-example-com`.

use super::sink::Sink;
use super::text::Text;

const AT: &str = "-at-";

/// Top levels that are common enough to make a name an address.
const TOP_LEVELS: [&str; 12] =
    ["com", "org", "net", "edu", "gov", "io", "co", "de", "fr", "uk", "eu", "info"];

pub(super) fn find_email(text: &Text<'_>, sink: &mut Sink) {
    let mut start = 0;
    for segment in text.str.split('/') {
        if is_address(segment) {
            sink.offer(start, start + segment.len());
        }
        start += segment.len() + 1;
    }
}

fn is_address(segment: &str) -> bool {
    let Some((local, domain)) = segment.rsplit_once(AT) else { return false };
    let named = |(name, top): (&str, &str)| !name.is_empty() && TOP_LEVELS.contains(&top);
    !local.is_empty() && domain.rsplit_once(['-', '.']).is_some_and(named)
}
