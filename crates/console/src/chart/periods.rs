//! Periods on a time line, such as the claims of a page.

use maud::{Markup, html};

use super::plot::{label, line, px, rect, svg};

/// Most periods in a drawing.
pub(crate) const MAX_PERIODS: usize = 20;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 8.0;
const ROW: f64 = 30.0;

/// A period in days of any calendar that counts them; `until` is `None` while it lasts.
pub(crate) struct Period {
    pub(crate) name: String,
    pub(crate) since: i64,
    pub(crate) until: Option<i64>,
    pub(crate) is_active: bool,
}

/// Periods by their start. `today` ends those that last; `ends` are the words for both ends of the
/// axis.
pub(crate) fn periods(
    periods: &[Period],
    (first, last): (i64, i64),
    ends: [&str; 2],
    words: &str,
) -> Markup {
    let shown = &periods[..periods.len().min(MAX_PERIODS)];
    let height = ROW * shown.len() as f64 + 22.0;
    let span = (last - first).max(1) as f64;
    let x = |day: i64| LEFT + (WIDTH - 2.0 * LEFT) * (day.clamp(first, last) - first) as f64 / span;
    let body = html! {
        @for (at, period) in shown.iter().enumerate() {
            @let y = ROW * at as f64;
            @let (from, to) = (x(period.since), x(period.until.unwrap_or(last)));
            (rect(if period.is_active { "bar" } else { "bar rest" }, [from, y + 18.0, (to - from).max(3.0), 7.0]))
            @if from < WIDTH * 0.6 { text.count x=(px(from)) y=(px(y + 13.0)) { (period.name) } }
            @else { text.count x=(px(WIDTH - LEFT)) y=(px(y + 13.0)) text-anchor="end" { (period.name) } }
        }
        (line("axis", [LEFT, height - 14.0, WIDTH - LEFT, height - 14.0]))
        (label("start", LEFT, height - 2.0, ends[0]))
        (label("end", WIDTH - LEFT, height - 2.0, ends[1]))
    };
    svg("periods", WIDTH, height, words, &body)
}
