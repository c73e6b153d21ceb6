//! A retriever that is slower than it is: what a check of latency must detect.
//!
//! Nothing is multiplied. Where work is timed the retriever works longer, and where waiting is timed it
//! waits longer, so that the whole path from the clock to the verdict is tested.

use std::time::{Duration, Instant};

use gbrain_brain::cpu::{burn_cpu, thread_cpu_time};
use gbrain_core::id::PageKey;
use gbrain_core::latency::Timing;
use gbrain_core::provenance::CorpusAt;
use gbrain_core::replay::Lost;
use gbrain_core::request::Viewer;
use gbrain_core::target::{Question, TargetAnswer, TargetError};

use super::{Retriever, RetrieverInfo};
use crate::EvalError;

/// A retriever whose every answer takes `factor` times as long.
pub struct SlowedRetriever<'a> {
    pub retriever: Box<dyn Retriever + 'a>,
    /// How many times as long, at least once.
    pub factor: u32,
}

impl Retriever for SlowedRetriever<'_> {
    fn info(&self) -> &RetrieverInfo {
        self.retriever.info()
    }

    fn retrieve(&self, question: &Question) -> Result<TargetAnswer, TargetError> {
        let more = self.factor.saturating_sub(1);
        let started = thread_cpu_time();
        let mut answer = self.retriever.retrieve(question)?;
        match self.retriever.timing(question) {
            Timing::Cpu => {
                let used =
                    thread_cpu_time().zip(started).map(|(now, then)| now.saturating_sub(then));
                burn_cpu(used.unwrap_or_default() * more);
            }
            Timing::Wall => {
                let ms = self.info().latency_of(&answer).unwrap_or(0.0);
                let waited = wait(ms * f64::from(more));
                answer.latency_ms += waited;
                answer.timings.total_ms = answer.timings.total_ms.map(|ms| ms + waited);
            }
            Timing::Untimed => (),
        }
        Ok(answer)
    }

    fn timing(&self, question: &Question) -> Timing {
        self.retriever.timing(question)
    }

    fn at_corpus(&self, corpus: &CorpusAt) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let slowed = |retriever| Box::new(SlowedRetriever { retriever, factor: self.factor });
        Ok(self.retriever.at_corpus(corpus)?.map(|inner| slowed(inner) as Box<dyn Retriever>))
    }

    fn why_not(&self, question: &Question, page: &PageKey) -> Option<Lost> {
        self.retriever.why_not(question, page)
    }

    fn has_pages(&self, names: &[&str], viewer: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        self.retriever.has_pages(names, viewer)
    }
}

/// Waits for so many milliseconds, and says how many it was.
fn wait(ms: f64) -> f64 {
    let started = Instant::now();
    std::thread::sleep(Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default());
    started.elapsed().as_secs_f64() * 1000.0
}
