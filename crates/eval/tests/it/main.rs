//! Reading and writing files, whatever is in them; asking targets, whatever they do.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails has failed the test")]
#![expect(clippy::disallowed_methods, reason = "the clock of a test is right")]

mod alert;
mod files;
#[expect(unreachable_pub, reason = "shared with the library of gbrain-bench")]
#[path = "../../../bench/src/listener.rs"]
mod listener;
#[expect(unreachable_pub, reason = "shared with the library of gbrain-bench")]
#[path = "../../../bench/src/mailbox.rs"]
mod mailbox;
#[expect(unreachable_pub, dead_code, reason = "shared with the library of gbrain-bench")]
#[path = "../../../bench/src/providers.rs"]
mod providers;
#[expect(unreachable_pub, reason = "shared with the library of gbrain-bench")]
#[path = "../../../bench/src/receivers.rs"]
mod receivers;
#[expect(unreachable_pub, dead_code, reason = "shared with the library of gbrain-bench")]
#[path = "../../../bench/src/retrieval.rs"]
mod retrieval;
mod target;
#[expect(unreachable_pub, reason = "shared with the library of gbrain-bench")]
#[path = "../../../bench/src/tls.rs"]
mod tls;
