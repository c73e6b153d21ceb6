//! A target that is slower than it is: what a check of latency must see.
//!
//! Nothing is multiplied. Where work is timed the retriever works longer, and where waiting is timed it
//! waits longer, so that what is tested is the whole way from the clock to the verdict.

use std::time::{Duration, Instant};

use gbrain_brain::cpu::{burn_cpu, thread_cpu_time};
use gbrain_core::id::PageKey;
use gbrain_core::latency::Timing;
use gbrain_core::provenance::CorpusAt;
use gbrain_core::replay::{Live, Lost};
use gbrain_core::request::{Request, Viewer};

use crate::{Answer, EvalError, RetrieveError, Retriever, Target};

/// A target whose every answer takes `factor` times as long.
pub struct SlowedTarget<'a> {
    /// The target.
    pub target: &'a dyn Target,
    /// How many times as long, at least once.
    pub factor: u32,
}

impl Target for SlowedTarget<'_> {
    fn live(&self) -> &Live {
        self.target.live()
    }

    fn retriever(
        &self,
        corpus: Option<&CorpusAt>,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let more = self.factor.saturating_sub(1);
        let inner = self.target.retriever(corpus)?;
        Ok(inner.map(|inner| Box::new(SlowedRetriever { inner, more }) as Box<dyn Retriever>))
    }

    fn has_pages(&self, names: &[&str], trust: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        self.target.has_pages(names, trust)
    }

    fn page_count(&self) -> Option<u64> {
        self.target.page_count()
    }
}

struct SlowedRetriever<'a> {
    inner: Box<dyn Retriever + 'a>,
    /// How many times its own time it takes on top.
    more: u32,
}

impl Retriever for SlowedRetriever<'_> {
    fn retrieve(&self, request: &Request, id: Option<&str>) -> Result<Answer, RetrieveError> {
        let started = thread_cpu_time();
        let mut answer = self.inner.retrieve(request, id)?;
        match self.inner.timing(request) {
            Timing::Cpu => {
                let used =
                    thread_cpu_time().zip(started).map(|(now, then)| now.saturating_sub(then));
                burn_cpu(used.unwrap_or_default() * self.more);
            }
            Timing::Wall => {
                answer.latency_ms =
                    answer.latency_ms.map(|ms| ms + wait(ms * f64::from(self.more)));
            }
            Timing::Untimed => (),
        }
        Ok(answer)
    }

    fn timing(&self, request: &Request) -> Timing {
        self.inner.timing(request)
    }

    fn why_not(&self, request: &Request, page: &PageKey) -> Option<Lost> {
        self.inner.why_not(request, page)
    }
}

/// Waits for so many milliseconds, and says how many it was.
fn wait(ms: f64) -> f64 {
    let started = Instant::now();
    std::thread::sleep(Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default());
    started.elapsed().as_secs_f64() * 1000.0
}
