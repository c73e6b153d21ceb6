//! The identity key of a home: created when it is first needed, readable by its owner only, never exported.

use std::path::PathBuf;

use gbrain_core::identity::{IdentityKey, KEY_BYTES};

use crate::error::CliError;
use crate::home::{Home, write_private_new};

/// Holds the key on machines without a key file, such as CI runners.
const VARIABLE: &str = "GBRAIN_IDENTITY_KEY";

/// The file of the identity key.
pub(crate) fn key_path(home: &Home) -> PathBuf {
    home.dir.join("identity.key")
}

/// The key of this home's workspace, if there is a key yet.
pub(crate) fn workspace_key(home: &Home) -> Result<Option<IdentityKey>, CliError> {
    Ok(home_key(home)?.map(|key| key.for_workspace(&home.workspace)))
}

/// Reads the identity key from `GBRAIN_IDENTITY_KEY`, else from the home.
pub(crate) fn home_key(home: &Home) -> Result<Option<IdentityKey>, CliError> {
    let invalid = |origin: &str| {
        CliError::config(format!(
            "{origin} is not an identity key: it must have 64 hexadecimal digits"
        ))
        .hint(
            "copy identity.key from the home that made the captures, or remove it to get a new one",
        )
    };
    if let Some(text) = &home.identity_key {
        return IdentityKey::from_hex(text).map(Some).ok_or_else(|| invalid(VARIABLE));
    }
    let path = key_path(home);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let shown = path.display().to_string();
            IdentityKey::from_hex(&text).map(Some).ok_or_else(|| invalid(&shown))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::io(path.display(), &error)),
    }
}

/// Reads the identity key of the home, or creates it.
pub(crate) fn make_home_key(home: &Home) -> Result<IdentityKey, CliError> {
    if let Some(key) = home_key(home)? {
        return Ok(key);
    }
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        CliError::config(format!("can't get random bytes from the system: {error}"))
    })?;
    let key = IdentityKey::new(bytes);
    home.create()?;
    let path = key_path(home);
    match write_private_new(&path, &format!("{}\n", key.to_hex())) {
        Ok(()) => Ok(key),
        // Another process created the key first: use that one.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            home_key(home)?.ok_or_else(|| CliError::io(path.display(), &error))
        }
        Err(error) => Err(CliError::io(path.display(), &error)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::home::{Environment, HomeFlags};

    fn home(dir: &std::path::Path, variable: Option<&str>) -> Home {
        let flags = HomeFlags { home: Some(dir.to_owned()), ..HomeFlags::default() };
        let environment =
            Environment { identity_key: variable.map(str::to_owned), ..Environment::default() };
        Home::resolve(&flags, &environment).unwrap()
    }

    #[test]
    fn processes_that_make_the_key_at_once_have_the_same_key() {
        let dir = tempfile::tempdir().unwrap();
        let keys: Vec<IdentityKey> = std::thread::scope(|scope| {
            let make = || scope.spawn(|| make_home_key(&home(dir.path(), None)).unwrap());
            let workers: Vec<_> = (0..8).map(|_| make()).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
        let mode =
            std::fs::metadata(key_path(&home(dir.path(), None))).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn the_environment_beats_the_file_and_a_damaged_key_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(home_key(&home(dir.path(), None)).unwrap(), None);
        let made = make_home_key(&home(dir.path(), None)).unwrap();
        let other = IdentityKey::new([7; KEY_BYTES]);
        let given = home_key(&home(dir.path(), Some(&other.to_hex()))).unwrap();
        assert_eq!((given, made == other), (Some(other), false));
        std::fs::write(key_path(&home(dir.path(), None)), "short").unwrap();
        assert!(home_key(&home(dir.path(), None)).is_err());
        assert!(make_home_key(&home(dir.path(), None)).is_err());
    }
}
