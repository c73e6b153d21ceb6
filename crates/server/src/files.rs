//! The limit on open files: each connection needs one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::http::{ConnectionOptions, RESERVED};

/// Files other than connections: index, database, logs and reactors.
const RESERVED_FILES: usize = 160;

/// Reduces the connection limits to the limit on open files, which is first raised to the hard
/// limit.
pub(crate) fn fit_to_open_files(connections: ConnectionOptions) -> ConnectionOptions {
    let limit = raised_limit();
    let ConnectionOptions { max_connections, per_address, .. } = connections;
    let fitting = fitting_of(max_connections, limit);
    if fitting < max_connections {
        tracing::warn!(
            connections = fitting,
            asked = max_connections,
            open_files = limit,
            "fewer connections are accepted because the open files limit is low (ulimit -n)"
        );
    }
    ConnectionOptions {
        max_connections: fitting,
        per_address: per_address.min(fitting),
        ..connections
    }
}

/// At least a quarter of the files are for connections.
fn fitting_of(wanted: usize, limit: usize) -> usize {
    let room = limit.saturating_sub(RESERVED_FILES + RESERVED).max(limit / 4).max(1);
    wanted.min(room)
}

/// Raises the limit on open files as far as permitted and returns it.
fn raised_limit() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: maximum, maximum };
    let limit = if current != maximum && setrlimit(Resource::Nofile, raised).is_ok() {
        maximum
    } else {
        current
    };
    limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_fit_the_limit_of_files() {
        assert_eq!(fitting_of(1024, usize::MAX), 1024);
        assert_eq!(fitting_of(1024, 4096), 1024);
        assert_eq!(fitting_of(1024, 1024), 1024 - RESERVED_FILES - RESERVED);
        assert_eq!(fitting_of(8, 1024), 8);
        assert_eq!((fitting_of(1024, 64), fitting_of(1024, 0)), (16, 1));
    }
}
