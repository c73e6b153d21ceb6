//! The `eva` program: a thin wrapper around the library.

fn main() -> std::process::ExitCode {
    gbrain_cli::eva_main()
}
