//! Long-running processes: a server, a job worker, a scheduler, one MCP client on standard input
//! and output. Each shuts down gracefully on a signal.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_brain::capture::DrainReport;
use gbrain_core::fault::{Fault, FaultKind};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::audit::Audit;
use crate::files;
use crate::http::{self, ConnectionOptions, MemoryBudget, ServerComponents};
use crate::jobs::{JobWorker, WorkerOptions};
use crate::principal::Principal;
use crate::scheduler::{Scheduler, SchedulerOptions};
use crate::threads::wait_for;
use crate::work_queue::{QueueLimits, WorkQueues};
use crate::workspace_registry::WorkspaceRegistry;

/// How often idle workspaces are closed, and how long one stays open without use.
const SWEEP: Duration = Duration::from_secs(60);
const IDLE: Duration = Duration::from_secs(900);

/// Request timeout for a stdio client: the first may have to wait for the index.
const STDIO_TIMEOUT: Duration = Duration::from_secs(300);

/// How long a worker that stops waits for its jobs to release their leases.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(10);

/// Exit status after a second signal, as shells define it.
const INTERRUPTED: i32 = 130;

pub struct ServeOptions {
    pub listen: SocketAddr,
    pub components: ServerComponents,
    pub queue_limits: QueueLimits,
    pub connections: ConnectionOptions,
    /// Number of jobs that run concurrently.
    pub workers: usize,
    pub worker: WorkerOptions,
    pub autopilot: SchedulerOptions,
}

/// Serves until a signal arrives and reports what became of the captures. Calls `on_listening` with
/// the address when requests are accepted.
pub fn serve(
    serving: ServeOptions,
    on_listening: impl FnOnce(SocketAddr),
) -> Result<DrainReport, Fault> {
    let ServeOptions { listen, components, queue_limits, connections, workers, worker, autopilot } =
        serving;
    let connections = files::fit_to_open_files(connections);
    let (runtime, messages) = (runtime(&queue_limits)?, self::runtime(&queue_limits)?);
    let registry = components.registry.clone();
    registry.restore_run_metrics();
    let worker = JobWorker::start(&registry, &worker, workers);
    let scheduler = Scheduler::start(autopilot, Some(registry.metrics().clone()));
    let sweeper = IdleWorkspaceCloser::start(registry.clone());
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            Fault::io(format!("can't listen on {listen}"), &error)
                .hint("another process may have this address: try --listen 127.0.0.1:0")
        })?;
        let (stop, tell_worker, tell_scheduler) =
            (stop_signal()?, worker.shutdown_handle(), scheduler.shutdown_handle());
        let stop = async move {
            stop.await;
            tell_worker();
            tell_scheduler();
        };
        on_listening(listener.local_addr().unwrap_or(listen));
        http::serve(listener, components, messages.handle().clone(), stop, connections).await;
        Ok(())
    });
    // Captures first: the rest may take longer than the supervisor waits before it kills the
    // process.
    registry.store_captures();
    // Jobs and abandoned requests share the drain time.
    let until = Instant::now() + connections.drain;
    worker.stop(until);
    scheduler.stop(until);
    sweeper.stop(until);
    for runtime in [runtime, messages] {
        runtime.shutdown_timeout(until.saturating_duration_since(Instant::now()));
    }
    let drained = registry.close();
    served.map(|()| drained)
}

/// Works on jobs until a signal arrives.
pub fn work(
    registry: &Arc<WorkspaceRegistry>,
    options: &WorkerOptions,
    threads: usize,
    autopilot: SchedulerOptions,
) -> Result<DrainReport, Fault> {
    let worker = JobWorker::start(registry, options, threads);
    let scheduler = Scheduler::start(autopilot, Some(registry.metrics().clone()));
    let sweeper = IdleWorkspaceCloser::start(registry.clone());
    let stopped = wait_for_shutdown();
    let until = Instant::now() + RELEASE_TIMEOUT;
    // Signal both before waiting for either.
    worker.shutdown_handle()();
    scheduler.shutdown_handle()();
    worker.stop(until);
    scheduler.stop(until);
    sweeper.stop(until);
    let drained = registry.close();
    stopped.map(|()| drained)
}

/// Runs the scheduler until a signal arrives.
pub fn run_scheduler(autopilot: SchedulerOptions) -> Result<(), Fault> {
    let scheduler = Scheduler::start(autopilot, None);
    let stopped = wait_for_shutdown();
    scheduler.stop(Instant::now() + RELEASE_TIMEOUT);
    stopped
}

fn wait_for_shutdown() -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::io("a reactor", &error))?;
    runtime.block_on(async {
        stop_signal()?.await;
        Ok(())
    })
}

pub struct StdioOptions {
    pub registry: Arc<WorkspaceRegistry>,
    pub principal: Principal,
    pub queue_limits: QueueLimits,
    pub audit: Audit,
    /// Largest message, in bytes.
    pub max_message: usize,
}

/// Serves one client until it disconnects or a signal arrives.
pub fn serve_stdio(stdio: StdioOptions) -> Result<DrainReport, Fault> {
    let StdioOptions { registry, principal, queue_limits, audit, max_message } = stdio;
    let runtime = runtime(&queue_limits)?;
    let context = crate::mcp::McpContext {
        registry: registry.clone(),
        queues: WorkQueues::new(queue_limits),
        audit,
        timeout: STDIO_TIMEOUT,
        max_message,
        memory: MemoryBudget::new(),
    };
    let served = runtime.block_on(async {
        let stop = stop_signal()?;
        let served = crate::mcp::serve_stdio(context, principal, stop).await;
        served.map_err(|error| Fault::of(FaultKind::Usage, &error))
    });
    // A read from a terminal can't be interrupted.
    runtime.shutdown_background();
    let drained = registry.close();
    served.map(|()| drained)
}

fn runtime(queue_limits: &QueueLimits) -> Result<Runtime, Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(queue_limits.readers + queue_limits.writers + 4)
        .enable_all()
        .build();
    runtime.map_err(|error| Fault::io("a reactor", &error))
}

/// Resolves at the first SIGINT or SIGTERM. A second signal ends the process at once: leases pass
/// its jobs to other workers, and the store is always consistent.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()>, Fault> {
    let failed = |error| Fault::io("signals", &error);
    // In its own thread, which outlives the reactor.
    let listener = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let listener = listener.map_err(failed)?;
    let entered = listener.enter();
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    drop(entered);
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let mut next = async move || {
        tokio::select! {
            _ = interrupt.recv() => (),
            _ = terminate.recv() => (),
        }
    };
    std::thread::spawn(move || {
        listener.block_on(async {
            next().await;
            tracing::info!("stopping");
            // The receiver may already be gone.
            let _ = sender.send(());
            next().await;
            tracing::warn!("stopping at once");
            std::process::exit(INTERRUPTED);
        });
    });
    Ok(async move {
        // The thread ends only after sending.
        let _ = receiver.await;
    })
}

/// Closes idle workspaces periodically.
struct IdleWorkspaceCloser {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<()>,
}

impl IdleWorkspaceCloser {
    fn start(registry: Arc<WorkspaceRegistry>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Acquire) {
                std::thread::park_timeout(SWEEP);
                registry.close_idle(IDLE);
            }
        });
        Self { stop, thread }
    }

    fn stop(self, until: Instant) {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        wait_for(vec![self.thread], until);
    }
}
