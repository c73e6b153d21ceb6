//! Formats panic reports and recognises them in process output.
//!
//! The binaries replace Rust's panic report with one line that begins with [`DEFECT`]. Code that
//! searches process output for panics must recognise both forms.

/// The message with which binaries report a panic.
pub const DEFECT: &str = "a defect of this program";

/// A part of Rust's own panic report. The word alone also occurs in other messages.
const PANICKED: &str = " panicked at ";

/// Whether a text contains a panic report.
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
