//! A retriever that is artificially slowed, which a latency check must detect.
//!
//! Reported times are not multiplied. If CPU time is measured it computes longer, and if wall-clock
//! time is measured it waits longer, so that the whole path from the clock to the verdict is
//! tested.

use std::time::{Duration, Instant};

use gbrain_brain::cpu::{burn_cpu, thread_cpu_time};
use gbrain_core::id::PageKey;
use gbrain_core::latency::TimingMethod;
use gbrain_core::provenance::CorpusSnapshot;
use gbrain_core::replay::LostPage;
use gbrain_core::request::Viewer;
use gbrain_core::target::{Question, TargetAnswer, TargetError};

use super::{Retriever, RetrieverInfo};
use crate::EvalError;

/// A retriever whose every answer takes `factor` times as long.
pub struct SlowedRetriever<'a> {
    pub retriever: Box<dyn Retriever + 'a>,
    /// The slowdown factor, at least 1.
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
            TimingMethod::Cpu => {
                let used =
                    thread_cpu_time().zip(started).map(|(now, then)| now.saturating_sub(then));
                burn_cpu(used.unwrap_or_default() * more);
            }
            TimingMethod::Wall => {
                let ms = self.info().latency_of(&answer).unwrap_or(0.0);
                let waited = wait(ms * f64::from(more));
                answer.latency_ms += waited;
                answer.timings.total_ms = answer.timings.total_ms.map(|ms| ms + waited);
            }
            TimingMethod::Untimed => (),
        }
        Ok(answer)
    }

    fn timing(&self, question: &Question) -> TimingMethod {
        self.retriever.timing(question)
    }

    fn at_corpus(
        &self,
        corpus: &CorpusSnapshot,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let slowed = |retriever| Box::new(SlowedRetriever { retriever, factor: self.factor });
        Ok(self.retriever.at_corpus(corpus)?.map(|inner| slowed(inner) as Box<dyn Retriever>))
    }

    fn why_not(&self, question: &Question, page: &PageKey) -> Option<LostPage> {
        self.retriever.why_not(question, page)
    }

    fn has_pages(&self, names: &[&str], viewer: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        self.retriever.has_pages(names, viewer)
    }
}

/// Waits for a number of milliseconds; returns the actual time.
fn wait(ms: f64) -> f64 {
    let started = Instant::now();
    std::thread::sleep(Duration::try_from_secs_f64(ms / 1000.0).unwrap_or_default());
    started.elapsed().as_secs_f64() * 1000.0
}
