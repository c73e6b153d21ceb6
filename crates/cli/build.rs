//! Lists the files of the demo corpus, so that they are part of the binary.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=demo");
    // The paths of the files are compiled in: a checkout that moved is another one.
    println!("cargo::rerun-if-env-changed=CARGO_MANIFEST_DIR");
    let root =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("demo");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let mut code = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root).expect("it was found below the root");
        writeln!(code, "    ({name:?}, include_str!({file:?})),")
            .expect("writing to a string succeeds");
    }
    code.push(']');
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join("demo.rs");
    std::fs::write(&out, code).expect("the output directory is writable");
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("the demo directory is readable") {
        let path = entry.expect("the demo directory is readable").path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
