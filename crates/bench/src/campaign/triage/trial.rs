//! One variant: a fault planted, the suite run, the run triaged, all by the program.

use std::path::Path;

use anyhow::{Context as _, Result};
use fastrand::Rng;
use gbrain_core::format::triage::TriageBody;
use gbrain_core::gate::Verdict;
use gbrain_core::triage::FailureCause;
use gbrain_testkit::process::Gbrain;

use super::elsewhere;
use super::kind::Kind;
use super::plant::plant;
use super::world::{SUITE, TriageBrain, copy, run_suite, with_key};

/// A case as it was triaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub id: String,
    pub class: FailureCause,
    pub because: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Outcome {
    pub kind: Kind,
    /// The class of the whole run; none if nothing is wrong.
    pub class: Option<FailureCause>,
    pub cases: Vec<Said>,
    pub green: Option<String>,
}

impl Outcome {
    /// Whether the run was taken for what it is.
    pub fn is_right(&self) -> bool {
        self.class == Some(self.kind.class())
    }
}

/// Where variants are made from.
pub struct Ground<'g> {
    /// A world that is well.
    pub world: &'g TriageBrain,
    /// A home whose suite asks elsewhere.
    pub elsewhere: &'g Gbrain,
    pub program: &'g Path,
}

/// Plants a fault and has it triaged. None if the fault did no harm: the suite passes as its thresholds
/// say, or fewer than two cases are affected.
pub fn triage_planted_fault(
    ground: &Ground<'_>,
    kind: Kind,
    rng: &mut Rng,
) -> Result<Option<Outcome>> {
    if kind.is_elsewhere() {
        let home = copy(ground.elsewhere, ground.program)?;
        let asking = elsewhere::plant(home, kind, rng)?;
        return triaged(&asking.home, kind);
    }
    let planted = plant(ground.world, kind, rng)?;
    triaged(&planted.home, kind)
}

fn triaged(home: &Gbrain, kind: Kind) -> Result<Option<Outcome>> {
    let run = run_suite(home)?;
    let number = newest(home)?;
    let ran = with_key(home, &["triage", &number, "--json"])?;
    let body: TriageBody =
        serde_json::from_value(ran.json()?).with_context(|| format!("{kind}: {}", ran.stderr))?;
    let said = |(class, case): (FailureCause, &gbrain_core::triage::CaseFinding)| Said {
        id: case.query_id.clone(),
        class,
        because: case.because.clone(),
    };
    let cases: Vec<Said> = body.cases().map(said).collect();
    // The least share that is no alert is 96 of 100 among the first ten: it is counted here once more.
    let missed = run.cases().iter().filter(|case| case.rank.is_none()).count();
    let is_alert = missed * 100 > run.cases().len() * 4;
    let green = match (run.verdict, body.verdict, ran.code) {
        (Verdict::Pass, ..) if is_alert => Some("the suite passes".to_owned()),
        (Verdict::Pass, ..) => return Ok(None),
        _ if cases.len() < 2 => return Ok(None),
        (_, Verdict::Pass, _) | (_, _, Some(0)) => Some("triage finds nothing wrong".to_owned()),
        _ => None,
    };
    Ok(Some(Outcome { kind, class: body.class, cases, green }))
}

fn newest(home: &Gbrain) -> Result<String> {
    let runs = home.run(&["suites", "history", SUITE, "-n", "1", "--json"])?.json()?;
    Ok(runs["runs"][0]["id"].to_string())
}
