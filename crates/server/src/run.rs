//! Processes that are left running: a server, a worker, one client on standard input and output.
//! Each ends in order when it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gbrain_brain::capture::Drained;
use gbrain_core::fault::Fault;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::audit::Audit;
use crate::house::House;
use crate::http::{self, Connections, Parts};
use crate::jobs::{Worker, WorkerOptions};
use crate::lanes::{LaneSizes, Lanes};
use crate::visitor::Visitor;

/// How often doors that nobody uses are looked for, and how long one stays open without use.
const SWEEP: Duration = Duration::from_secs(60);
const IDLE: Duration = Duration::from_secs(900);

/// How long one client waits for an answer at most: its first may have to wait for the index.
const STDIO_PATIENCE: Duration = Duration::from_secs(300);

/// How to serve.
pub struct Serving {
    /// Where to listen.
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
}

/// Serves until the process is told to end, and says what became of the captures. `on_listening` is
/// told the address when requests are accepted.
pub fn serve(serving: Serving, on_listening: impl FnOnce(SocketAddr)) -> Result<Drained, Fault> {
    let Serving { listen, parts, sizes, connections, workers, worker } = serving;
    let runtime = runtime(&sizes)?;
    let house = parts.house.clone();
    house.recall_runs();
    let worker = Worker::start(&house, &worker, workers);
    let sweeper = Sweeper::start(house.clone());
    let served = runtime.block_on(async {
        let listener = TcpListener::bind(listen).await.map_err(|error| {
            Fault::io(format!("can't listen on {listen}"), &error)
                .hint("another process may have this address: try --listen 127.0.0.1:0")
        })?;
        let stop = stop_signal()?;
        on_listening(listener.local_addr().unwrap_or(listen));
        http::serve(listener, parts, stop, connections).await;
        Ok(())
    });
    worker.stop();
    sweeper.stop();
    // Work that nobody waits for any more may still run: it is given the time of a drain.
    runtime.shutdown_timeout(connections.drain);
    let drained = house.close();
    served.map(|()| drained)
}

/// Works on jobs until the process is told to end.
pub fn work(house: &Arc<House>, options: &WorkerOptions, threads: usize) -> Result<Drained, Fault> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Fault::io("a reactor", &error))?;
    let worker = Worker::start(house, options, threads);
    let sweeper = Sweeper::start(house.clone());
    let stopped = runtime.block_on(async {
        stop_signal()?.await;
        Ok(())
    });
    worker.stop();
    sweeper.stop();
    let drained = house.close();
    stopped.map(|()| drained)
}

/// How to serve one client on standard input and output.
pub struct Stdio {
    /// The brains.
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
    };
    let served = runtime.block_on(async {
        let stop = stop_signal()?;
        let served = crate::mcp::serve_stdio(context, visitor, stop).await;
        served.map_err(|error| Fault::of("usage", &error))
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

/// Resolves when the process is told to end, by a terminal or by whoever started it.
fn stop_signal() -> Result<impl Future<Output = ()>, Fault> {
    let listening = |kind| signal(kind).map_err(|error| Fault::io("signals", &error));
    let (mut interrupt, mut terminate) =
        (listening(SignalKind::interrupt())?, listening(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => (),
            _ = terminate.recv() => (),
        }
        tracing::info!("stopping");
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
                house.prune_jobs();
            }
        });
        Self { stop, thread }
    }

    fn stop(self) {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        // A sweep that panicked has nothing left to wait for.
        let _ = self.thread.join();
    }
}
