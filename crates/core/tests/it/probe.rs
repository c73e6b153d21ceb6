//! The audit of the nightly probe is what its schema says.

use gbrain_core::format::probe::ProbeEvent;
use gbrain_core::format::schema::of_body;
use gbrain_core::probe::{Event, ProbeOutcome};
use jiff::Timestamp;

use crate::conforms::assert_conforms;

#[test]
fn audit_lines_conform() {
    for outcome in ProbeOutcome::ALL {
        let event = Event::bare(Timestamp::UNIX_EPOCH, *outcome, Some("why".to_owned()));
        let event = ProbeEvent::from(&event);
        assert_conforms(of_body::<ProbeEvent>().as_value(), &serde_json::to_value(event).unwrap());
    }
}
