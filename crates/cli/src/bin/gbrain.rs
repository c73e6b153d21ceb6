//! The `gbrain` program: a thin wrapper around the library.

/// glibc keeps one heap per thread, so the memory of a long-running server grows: by a quarter over half an
/// hour of mixed load. mimalloc avoids this.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    gbrain_cli::gbrain_main()
}
