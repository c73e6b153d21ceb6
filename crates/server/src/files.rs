//! How many files the process may have open: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::http::{Connections, RESERVED};

/// Files beside connections: of the index, of the database, of logs and of the reactors.
const OTHERS: usize = 160;

/// Connections that fit. The limit that shells set for a process is usually far below the one that it may
/// set for itself, so that is raised first.
pub(crate) fn fitting(connections: Connections) -> Connections {
    let limit = raised_limit();
    let Connections { most, of_address, .. } = connections;
    let fitting = fitting_of(most, limit);
    if fitting < most {
        tracing::warn!(
            connections = fitting,
            asked = most,
            open_files = limit,
            "fewer connections are taken, because the limit of open files is low (ulimit -n)"
        );
    }
    Connections { most: fitting, of_address: of_address.min(fitting), ..connections }
}

/// At least a quarter of the files are for connections, however few there are.
fn fitting_of(most: usize, limit: usize) -> usize {
    let room = limit.saturating_sub(OTHERS + RESERVED).max(limit / 4).max(1);
    most.min(room)
}

/// The limit of open files, after it was raised as far as the process may.
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
        assert_eq!(fitting_of(1024, 1024), 1024 - OTHERS - RESERVED);
        assert_eq!(fitting_of(8, 1024), 8);
        assert_eq!((fitting_of(1024, 64), fitting_of(1024, 0)), (16, 1));
    }
}
