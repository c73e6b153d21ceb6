//! Social security numbers: three, two and four digits with dashes, not part of a word.

use super::byte::is_word;
use super::sink::Sink;
use super::text::Text;

pub(super) fn find(text: &Text<'_>, sink: &mut Sink) {
    for parts in text.runs().windows(3) {
        let [area, group, serial] = [parts[0], parts[1], parts[2]];
        let lengths = [area.len(), group.len(), serial.len()];
        let dash = |end: usize, start: usize| start == end + 1 && text.at(end) == b'-';
        let joined = dash(area.end, group.start) && dash(group.end, serial.start);
        let alone = !is_word(text.before(area.start)) && !is_word(text.at(serial.end));
        if lengths == [3, 2, 4] && joined && alone {
            sink.offer(area.start, serial.end);
        }
    }
}
