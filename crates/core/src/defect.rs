//! How a panic is reported, and how a report is recognised.
//!
//! The programs replace Rust's own report of a panic by one line that begins with [`DEFECT`]. Whoever looks for panics in
//! what a process wrote must know both.

/// How the programs call a panic.
pub const DEFECT: &str = "a defect of this program";

/// How Rust's own report goes on. The word alone is in messages of others too.
const PANICKED: &str = " panicked at ";

/// Whether a text has the report of a panic.
pub fn reports_panic(text: &str) -> bool {
    text.contains(DEFECT) || text.contains(PANICKED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_reports_are_recognised_and_other_messages_are_not() {
        let check =
            |text: &str, expected: bool| assert_eq!(reports_panic(text), expected, "{text}");
        check("error: a defect of this program (src/lib.rs:1:2): no reason", true);
        check("thread 'main' panicked at src/lib.rs:1:2:\nno reason", true);
        check("thread 'main' (77) panicked at src/lib.rs:1:2:\nno reason", true);
        check("the scrubber panicked", false);
        check("error: no page", false);
    }
}
