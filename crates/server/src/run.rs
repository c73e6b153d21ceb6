//! Processes that are left running: a server, a worker, one client on standard input and output.
//! Each ends in order when it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gbrain_brain::capture::Drained;
use gbrain_core::fault::{Fault, FaultKind};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::audit::Audit;
use crate::files;
use crate::house::House;
use crate::http::{self, BodyMemory, Connections, Parts};
use crate::jobs::{Worker, WorkerOptions};
use crate::lanes::{LaneSizes, Lanes};
use crate::scheduler::{Autopilot, Scheduler};
use crate::threads::wait_for;
use crate::visitor::Visitor;

/// How often doors that nobody uses are looked for, and how long one stays open without use.
const SWEEP: Duration = Duration::from_secs(60);
const IDLE: Duration = Duration::from_secs(900);

/// How long one client waits for an answer at most: its first may have to wait for the index.
const STDIO_PATIENCE: Duration = Duration::from_secs(300);

/// How long a worker that ends waits for its jobs to be let go.
const LET_GO: Duration = Duration::from_secs(10);

/// How a process ends that was told so twice, as shells count it.
const INTERRUPTED: i32 = 130;

/// How to serve.
pub struct Serving {
    pub listen: SocketAddr,
    /// What the server is made of.
    pub parts: Parts,
    /// How wide its lanes are.
    pub sizes: LaneSizes,
    /// How connections are held.
    pub connections: Connections,
    /// How many jobs are worked on at once.
    pub workers: usize,
    /// How jobs are worked on.
    pub worker: WorkerOptions,
    /// What is looked after beside.
    pub autopilot: Autopilot,
}

/// Serves until the process is told to end, and says what became of the captures. `on_listening` is
/// told the address when requests are accepted.
pub fn serve(serving: Serving, on_listening: impl FnOnce(SocketAddr)) -> Result<Drained, Fault> {
    let Serving { listen, parts, sizes, connections, workers, worker, autopilot } = serving;
    let connections = files::fitting(connections);
    let (runtime, messages) = (runtime(&sizes)?, self::runtime(&sizes)?);
    let house = parts.house.clone();
    house.recall_runs();
    let worker = Worker::start(&house, &worker, workers);
    let scheduler = Scheduler::start(autopilot, Some(house.metrics().clone()));
    let sweeper = Sweeper::start(house.clone());
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
        http::serve(listener, parts, messages.handle().clone(), stop, connections).await;
        Ok(())
    });
    // Captures first: what comes afterwards may take longer than whoever ends us waits.
    house.store_captures();
    // Jobs, and work that nobody waits for any more, are given the time of a drain together.
    let until = Instant::now() + connections.drain;
    worker.stop(until);
    scheduler.stop(until);
    sweeper.stop(until);
    for runtime in [runtime, messages] {
        runtime.shutdown_timeout(until.saturating_duration_since(Instant::now()));
    }
    let drained = house.close();
    served.map(|()| drained)
}

/// Works on jobs until the process is told to end.
pub fn work(
    house: &Arc<House>,
    options: &WorkerOptions,
    threads: usize,
    autopilot: Autopilot,
) -> Result<Drained, Fault> {
    let worker = Worker::start(house, options, threads);
    let scheduler = Scheduler::start(autopilot, Some(house.metrics().clone()));
    let sweeper = Sweeper::start(house.clone());
    let stopped = wait_for_shutdown();
    let until = Instant::now() + LET_GO;
    // Both are told before either is waited for.
    worker.shutdown_handle()();
    scheduler.shutdown_handle()();
    worker.stop(until);
    scheduler.stop(until);
    sweeper.stop(until);
    let drained = house.close();
    stopped.map(|()| drained)
}

/// Looks what is due, now and then, until the process is told to end.
pub fn run_scheduler(autopilot: Autopilot) -> Result<(), Fault> {
    let scheduler = Scheduler::start(autopilot, None);
    let stopped = wait_for_shutdown();
    scheduler.stop(Instant::now() + LET_GO);
    stopped
}

/// Waits until the process is told to end.
fn wait_for_shutdown() -> Result<(), Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::io("a reactor", &error))?;
    runtime.block_on(async {
        stop_signal()?.await;
        Ok(())
    })
}

/// How to serve one client on standard input and output.
pub struct Stdio {
    pub house: Arc<House>,
    /// Who the client is.
    pub visitor: Visitor,
    /// How wide the lanes are.
    pub sizes: LaneSizes,
    /// Where changes are written down.
    pub audit: Audit,
    /// The longest message, in bytes.
    pub max_message: usize,
}

/// Serves one client until it goes, or the process is told to end.
pub fn serve_stdio(stdio: Stdio) -> Result<Drained, Fault> {
    let Stdio { house, visitor, sizes, audit, max_message } = stdio;
    let runtime = runtime(&sizes)?;
    let context = crate::mcp::Context {
        house: house.clone(),
        lanes: Lanes::new(sizes),
        audit,
        patience: STDIO_PATIENCE,
        max_message,
        memory: BodyMemory::new(),
    };
    let served = runtime.block_on(async {
        let stop = stop_signal()?;
        let served = crate::mcp::serve_stdio(context, visitor, stop).await;
        served.map_err(|error| Fault::of(FaultKind::Usage, &error))
    });
    // A read from a terminal can't be interrupted.
    runtime.shutdown_background();
    let drained = house.close();
    served.map(|()| drained)
}

fn runtime(sizes: &LaneSizes) -> Result<Runtime, Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(sizes.readers + sizes.writers + 4)
        .enable_all()
        .build();
    runtime.map_err(|error| Fault::io("a reactor", &error))
}

/// Resolves when the process is told to end, by a terminal or by whoever started it. Told so again,
/// it ends at once: leases give its jobs to others, and the store is whole at any moment.
fn stop_signal() -> Result<impl Future<Output = ()>, Fault> {
    let failed = |error| Fault::io("signals", &error);
    // In a thread of its own, which goes on when the reactor has ended.
    let listener = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let listener = listener.map_err(failed)?;
    let entered = listener.enter();
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    drop(entered);
    let (tell, told) = tokio::sync::oneshot::channel();
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
            // Whoever waited for it may have ended by itself.
            let _ = tell.send(());
            next().await;
            tracing::warn!("stopping at once");
            std::process::exit(INTERRUPTED);
        });
    });
    Ok(async move {
        // The thread only ends by telling.
        let _ = told.await;
    })
}

/// Closes what nobody uses, now and then.
struct Sweeper {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<()>,
}

impl Sweeper {
    fn start(house: Arc<House>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Acquire) {
                std::thread::park_timeout(SWEEP);
                house.close_idle(IDLE);
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
