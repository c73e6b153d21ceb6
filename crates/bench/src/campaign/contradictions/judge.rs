//! A simulated judge that errs on one pair in five at random.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use gbrain_core::contradiction::prompt::MAX_PAIR_CHARS;
use gbrain_core::contradiction::{
    Canary, Judgement, JudgingOutcome, Origin, PairPrompt, PairSet, ResolutionKind, Severity,
    StatementRelation,
};
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_eval::contradictions::{Judge, JudgeSession, SessionResult};
use gbrain_llm::{ModelClient, ModelLimits, Prices, Providers, RetryPolicy, Spending};
use gbrain_store::{Budget, Location, OpenMode};
use jiff::Timestamp;
use serde_json::{Value, json};

use gbrain_testkit::providers::{Asked, Fault, ProviderServer};

/// The judge's error rate.
pub(super) const ERRS: f64 = 0.2;
const AXIS: &str = "a figure";
const SURE: f64 = 0.9;

/// One of several simulated judges. Its number determines the pairs that it misjudges.
#[derive(Debug, Clone, Copy)]
pub struct ErringJudge {
    /// The seed of the brain.
    pub seed: u64,
    /// The judge's number among the judges of the brain.
    pub number: u64,
}

impl ErringJudge {
    /// Whether it calls the pair a contradiction: the truth, or its opposite in one of five cases. The choice
    /// depends only on the judge and the prompt, so it is the same at every call.
    fn accuses(self, prompt: &PairPrompt, is_contradiction: bool) -> bool {
        let Self { seed, number } = self;
        let parts = [&seed.to_le_bytes()[..], &number.to_le_bytes(), &prompt.identity.0];
        let bits = Hash::of_parts(&parts).0;
        let drawn = u64::from_le_bytes(bits[..8].try_into().expect("a hash has 32 bytes"));
        is_contradiction != (drawn as f64 / u64::MAX as f64 <= ERRS)
    }

    /// The results of judging the pairs and the planted pairs.
    pub fn judge_pairs(
        self,
        docket: &PairSet,
        answers: &[bool],
        planted: &[Canary],
    ) -> SessionResult {
        let outcome = |prompt: &PairPrompt, answer| outcome(self.accuses(prompt, answer));
        let pairs = docket.pairs().iter().zip(answers);
        let outcomes = pairs.map(|(one, answer)| outcome(&one.prompt, *answer)).collect();
        let planted = planted.iter().map(|canary| {
            let prompt = PairPrompt::of(&canary.pair, MAX_PAIR_CHARS);
            (canary.clone(), outcome(&prompt, canary.is_contradiction))
        });
        SessionResult { outcomes, planted: planted.collect(), first_error: None }
    }

    /// Like `judge_pairs`, through a [`JudgeSession`] that calls a model over HTTP with occasional faults.
    pub fn judge_over_http(
        self,
        docket: &PairSet,
        answers: &[bool],
        planted: &[Canary],
    ) -> Result<SessionResult> {
        let mut says: HashMap<String, bool> = HashMap::new();
        for (one, answer) in docket.pairs().iter().zip(answers) {
            says.insert(one.prompt.user.clone(), self.accuses(&one.prompt, *answer));
        }
        for canary in planted {
            let prompt = PairPrompt::of(&canary.pair, MAX_PAIR_CHARS);
            let accuses = self.accuses(&prompt, canary.is_contradiction);
            says.insert(prompt.user, accuses);
        }
        let says = move |asked: &Asked| match asked {
            Asked::Chat { user, .. } => said(says.get(user).copied()),
            _ => String::new(),
        };
        let server = ProviderServer::start(says, faults)?;
        let dir = tempfile::tempdir()?;
        let client = client(&server, &dir.path().join("brain.db"))?;
        let judge = Judge::Model(&client, "openai:judge".parse()?);
        let session = JudgeSession::new(&judge, None, docket, planted.to_vec(), MAX_PAIR_CHARS)?;
        Ok(session.run(&|_| ()))
    }
}

fn outcome(accuses: bool) -> JudgingOutcome {
    let verdict = if accuses { StatementRelation::Contradiction } else { StatementRelation::No };
    let judgement = Judgement::new(verdict, Severity::Low, AXIS, SURE);
    JudgingOutcome::Judged(
        judgement.with_resolution(Some(ResolutionKind::ManualReview)),
        Origin::Judge,
    )
}

/// The model's answer; unreadable for a prompt of another kind.
fn said(accuses: Option<bool>) -> String {
    let Some(accuses) = accuses else { return "?".to_owned() };
    let verdict = if accuses { StatementRelation::Contradiction } else { StatementRelation::No };
    let said = json!({
        "verdict": verdict.name(),
        "severity": Severity::Low.name(),
        "axis": AXIS,
        "confidence": SURE,
        "resolution_kind": ResolutionKind::ManualReview.name(),
    });
    said.to_string()
}

/// One request in ten fails and must be retried.
fn faults(number: u64) -> Fault {
    match number % 20 {
        7 => Fault::Status(429, Some(0)),
        13 => Fault::Status(503, None),
        _ => Fault::None,
    }
}

fn client(server: &ProviderServer, ledger: &std::path::Path) -> Result<ModelClient> {
    let described = json!({ "openai": { "base_url": format!("{}/v1", server.url()) } });
    let Value::Object(settings) = described else { unreachable!("it is an object") };
    let prices = r#"{"openai:judge": {"input_usd_per_million": 1, "output_usd_per_million": 2,
        "source": "a campaign", "date": "2026-01-01"}}"#;
    let retry = RetryPolicy {
        attempts: 12,
        first: Duration::from_millis(2),
        max_wait: Duration::from_secs(1),
    };
    let limits = ModelLimits { timeout: Duration::from_secs(60), retry, concurrency: 8 };
    let environment = Arc::new(|_: &str| Some("key".to_owned()));
    let location = Location::Sqlite(ledger.to_owned());
    let store = gbrain_store::Store::open(&location, OpenMode::Use, Timestamp::UNIX_EPOCH)?;
    let spending = Spending {
        store: store.into(),
        workspace: WorkspaceId::default(),
        budget: Some(Budget { name: "run".to_owned(), cap: Usd::cents(100_000) }),
        per_day: None,
        purpose: "campaign".to_owned(),
    };
    let client =
        ModelClient::new(Providers::with(&settings)?, Prices::parse(prices)?, limits, environment);
    Ok(client.spending(spending))
}
