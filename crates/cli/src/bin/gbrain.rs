//! The `gbrain` program; what it does is in the library.

/// The C library keeps a heap for each thread, and a server that is left running grows by what lies idle
/// in them: over half an hour of mixed load by a quarter.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    gbrain_cli::gbrain()
}
