//! Fingerprints the source that rankings depend on, so that captures can say which code answered.

use std::path::{Path, PathBuf};

/// The crates that a ranking goes through. The store is not among them: rankings are the same on
/// every store.
const CRATES: [&str; 4] = ["core", "embed", "index", "brain"];

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let crates = here.parent().expect("the crate is in the directory of crates");
    let mut files = Vec::new();
    for name in CRATES {
        let source = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", source.display());
        collect(&source, &mut files);
    }
    files.sort();
    let mut hash = FNV_OFFSET;
    for file in &files {
        let name = file.strip_prefix(crates).expect("it was found below the crates");
        hash = fnv(hash, name.to_string_lossy().as_bytes());
        hash = fnv(hash, &std::fs::read(file).expect("source files are readable"));
    }
    println!("cargo::rustc-env=GBRAIN_CODE={hash:016x}");
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: a build script needs no cryptography to tell two trees apart.
fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries {
        let path = entry.expect("source directories are readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
