//! The `kick` program; what it does is in the library.

fn main() -> std::process::ExitCode {
    gbrain_cli::kick()
}
