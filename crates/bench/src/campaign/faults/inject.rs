//! Makes faults happen. Each function is one round: the fault, what is done meanwhile, its end and the recovery.

mod clients;
mod clock;
mod disk;
mod files;
mod postgres;
mod process;

use anyhow::Result;

use super::fault::Fault;
use super::subject::Subject;

impl Subject {
    /// One round of a fault, up to the moment when everything is right again.
    pub(super) fn inject(&mut self, fault: Fault) -> Result<()> {
        match fault {
            Fault::Kill => self.kill(),
            Fault::Stop => self.pause(),
            Fault::FullDisk => self.fill_disk(),
            Fault::ReadOnlyFiles => self.make_read_only(),
            Fault::FlippedFile | Fault::TruncatedFile | Fault::DeletedFile => self.damage(fault),
            Fault::MovedDatabase => self.move_database(),
            Fault::FlippedDatabase => self.flip_database(),
            Fault::RestartedPostgres => self.restart_postgres(),
            Fault::PausedPostgres => self.pause_postgres(),
            Fault::PostgresConnectionLimit => self.exhaust_connections(),
            Fault::ClockAhead | Fault::ClockBehind => self.shift_clock(fault),
            Fault::HalfOpenClients => self.hold_connections(),
            Fault::SlowClients => self.hold_requests(),
            Fault::HostileBodies => self.send_hostile_bodies(),
            Fault::MemoryLimit => self.limit_memory(),
        }
    }
}
