//! The identity key of a home: made when it is first needed, readable by its owner only, never exported.

use std::path::PathBuf;

use gbrain_core::identity::{IdentityKey, KEY_BYTES};

use crate::error::CliError;
use crate::home::{Home, write_private_new};

/// The variable that holds the key where there is no file, as on a CI machine.
const VARIABLE: &str = "GBRAIN_IDENTITY_KEY";

/// Where the key is kept.
pub(crate) fn key_path(home: &Home) -> PathBuf {
    home.dir.join("identity.key")
}

/// The key of this home's workspace; none if there is no key yet.
pub(crate) fn workspace_key(home: &Home) -> Result<Option<IdentityKey>, CliError> {
    Ok(home_key(home)?.map(|key| key.for_workspace(&home.workspace)))
}

/// The key of the home: of the environment, else of its file; none if neither has one.
pub(crate) fn home_key(home: &Home) -> Result<Option<IdentityKey>, CliError> {
    let wrong = |place: &str| {
        CliError::config(format!("{place} is not an identity key: it takes 64 hexadecimal digits"))
            .hint("copy identity.key from the home that captured, or remove it to get a new one")
    };
    if let Some(text) = &home.identity_key {
        return IdentityKey::from_hex(text).map(Some).ok_or_else(|| wrong(VARIABLE));
    }
    let path = key_path(home);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let shown = path.display().to_string();
            IdentityKey::from_hex(&text).map(Some).ok_or_else(|| wrong(&shown))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::io(path.display(), &error)),
    }
}

/// The key of the home, made if there is none.
pub(crate) fn make_home_key(home: &Home) -> Result<IdentityKey, CliError> {
    if let Some(key) = home_key(home)? {
        return Ok(key);
    }
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| CliError::config(format!("the system gives no random bytes: {error}")))?;
    let key = IdentityKey::new(bytes);
    home.create()?;
    let path = key_path(home);
    match write_private_new(&path, &format!("{}\n", key.to_hex())) {
        Ok(()) => Ok(key),
        // Another process was quicker: its key is the key.
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
