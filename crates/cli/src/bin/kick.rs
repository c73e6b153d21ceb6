//! The `kick` program: a thin wrapper around the library.

fn main() -> std::process::ExitCode {
    gbrain_cli::kick_main()
}
