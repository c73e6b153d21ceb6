//! A saved run as a target: it returns the recorded answers.

use std::path::Path;

use gbrain_core::latency::TimingMethod;
use gbrain_core::qrels::queries_of_jsonl;
use gbrain_core::target::saved::SavedAnswers as Answers;
use gbrain_core::target::{Question, SavedRun, TargetAnswer, TargetError, TargetErrorKind};

use super::remote::IdMapping;
use super::{Capabilities, Retriever, RetrieverInfo, TargetEnvironment};
use crate::read_document;

pub(super) struct SavedRetriever {
    info: RetrieverInfo,
    answers: Answers,
}

impl SavedRetriever {
    pub(super) fn open(
        info: RetrieverInfo,
        run: SavedRun,
        mapping: IdMapping,
        environment: &TargetEnvironment,
    ) -> Result<Self, TargetError> {
        let SavedRun { file, queries } = run;
        let path = environment.path(&file);
        let place = file.display().to_string();
        let of_file = |error: TargetError| TargetError {
            message: format!("{place}: {}", error.message),
            ..error
        };
        let IdMapping { ids, document } = mapping;
        let answers = Answers::parse(&read(&path)?, &ids, document.as_ref()).map_err(of_file)?;
        let answers = match queries {
            None => answers,
            Some(queries) => {
                let path = environment.path(&queries);
                let texts = queries_of_jsonl(&read(&path)?).map_err(|error| {
                    TargetError::malformed(format!("{}: {error}", path.display()))
                })?;
                answers.with_texts(texts)
            }
        };
        let capabilities = Capabilities { is_saved: true, ..info.capabilities };
        Ok(Self { info: RetrieverInfo { capabilities, ..info }, answers })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TargetError> {
    read_document(path).map_err(|error| {
        let message = gbrain_core::fault::chain(&error);
        TargetError::new(TargetErrorKind::Unreachable, message)
    })
}

impl Retriever for SavedRetriever {
    fn info(&self) -> &RetrieverInfo {
        &self.info
    }

    fn retrieve(&self, question: &Question) -> Result<TargetAnswer, TargetError> {
        if question.k == 0 || (question.id.is_none() && question.text.trim().is_empty()) {
            return Err(TargetError::new(TargetErrorKind::BadRequest, "there is nothing to ask"));
        }
        let answer = self.answers.answer(question)?;
        let latency_ms = answer.timings.total_ms.unwrap_or(0.0);
        let mut not_asked = question.brain_only_options();
        not_asked.extend(&answer.not_asked);
        let provenance = self.info.provenance.clone();
        Ok(TargetAnswer { latency_ms, not_asked, provenance, ..answer })
    }

    fn timing(&self, _: &Question) -> TimingMethod {
        TimingMethod::Untimed
    }
}
