//! Social security numbers: three, two and four digits, not part of a word.
//!
//! With dashes any digits, as the reference finds them. With blanks or dots, which many other numbers
//! have too, only numbers that can be assigned, and not as part of a longer row of groups.

use super::byte::is_word;
use super::context;
use super::sink::Sink;
use super::text::{ByteRun, ScannedText};

pub(super) fn find(text: &ScannedText<'_>, sink: &mut Sink) {
    let runs = text.runs();
    for (at, parts) in runs.windows(3).enumerate() {
        let [area, group, serial] = [parts[0], parts[1], parts[2]];
        if [area.len(), group.len(), serial.len()] != [3, 2, 4] {
            continue;
        }
        let separator = text.at(area.end);
        let joined = |end: usize, start: usize| start == end + 1 && text.at(end) == separator;
        let alone = !is_word(text.before(area.start)) && !is_word(text.at(serial.end));
        if !alone || !joined(area.end, group.start) || !joined(group.end, serial.start) {
            continue;
        }
        let is_number = match separator {
            b'-' => true,
            b' ' | b'.' => {
                let before = at.checked_sub(1).map(|at| runs[at]);
                let follows = before.is_some_and(|run| joined(run.end, area.start));
                let goes_on = runs.get(at + 3).is_some_and(|run| joined(serial.end, run.start));
                let is_counted = separator == b' ' && context::is_counted(text, serial.end);
                !follows && !goes_on && !is_counted && is_assigned(text, parts)
            }
            _ => false,
        };
        if is_number && !is_of_a_thing(text, area.start, serial.end) {
            sink.offer(area.start, serial.end);
        }
    }
}

/// Whether the digits are clearly those of a thing: named as such with nothing else that looks like it
/// (`SKU`, `item number`), or part of a longer code. An order or a ticket may be filed under a person's
/// number.
fn is_of_a_thing(text: &ScannedText<'_>, start: usize, end: usize) -> bool {
    context::is_part_of_code(text, start, end) || context::is_catalogued(text, start)
}

/// Whether the administration gives out such a number.
fn is_assigned(text: &ScannedText<'_>, parts: &[ByteRun]) -> bool {
    let digits = |part: usize| &text.bytes[parts[part].start..parts[part].end];
    let area = digits(0);
    area != b"000"
        && area != b"666"
        && area[0] != b'9'
        && digits(1) != b"00"
        && digits(2) != b"0000"
}
