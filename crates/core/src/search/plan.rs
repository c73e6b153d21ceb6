//! Plans a request from its intent: arms, weights, pools, detail.

use jiff::tz::TimeZone;

use crate::hook::HookError;
use crate::ranking::{Arm, DegradedStage, EXPANSION};
use crate::request::{Detail, Expansion, Operation, Request, RetrievalMode};

use super::intent::{Intent, IntentKind, Recency};
use super::settings::Settings;
use super::window::{DateWindow, TimeReference, find_time_reference};

/// An arm with its weight in fusion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedArm {
    pub arm: Arm,
    /// Its weight. Names have none: they are a tier of their own.
    pub weight: f64,
}

/// The steps of a retrieval.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The arms, in the order they are fused.
    pub arms: Vec<PlannedArm>,
    /// Number of pages that each arm returns.
    pub pool: usize,
    /// The detail to answer in.
    pub detail: Detail,
    /// Number of passages shown per page.
    pub passages: usize,
    /// The mode to answer in.
    pub mode: RetrievalMode,
    /// Whether recent pages are preferred.
    pub recency: Recency,
    /// The days that the question names.
    pub window: Option<DateWindow>,
    /// The text that keyword and vector search use: the question without the days it names.
    pub subject: String,
    /// The same of each variant of the question.
    pub variants: Vec<String>,
    /// Whether scores are fused and boosted, or the keyword scores are used unchanged.
    pub fused: bool,
    /// Stages that are wanted and can't run.
    pub degraded: Vec<DegradedStage>,
}

/// Whether there is a model to make vectors with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorSupport {
    Ready,
    NoModel,
    /// The vectors held are of a model that this process does not have.
    OtherModel,
}

/// Builds the plan of a request.
pub fn plan(request: &Request, intent: &Intent, vectors: VectorSupport) -> Plan {
    match request.operation {
        Operation::Search => plan_search(request),
        Operation::Query => plan_query(request, intent, vectors),
    }
}

fn plan_search(request: &Request) -> Plan {
    let arms = vec![
        PlannedArm { arm: Arm::Words, weight: 1.0 },
        PlannedArm { arm: Arm::Names, weight: 0.0 },
    ];
    Plan {
        arms,
        // Nothing moves a page far after the words arm: half as many again.
        pool: request.limit + request.limit.div_ceil(2),
        detail: request.detail.unwrap_or(Detail::Medium),
        // Looking something up is not reading: one passage, unless more was asked for.
        passages: request.detail.map_or(1, Detail::passages),
        mode: RetrievalMode::Knowledge,
        recency: Recency::Off,
        window: None,
        subject: request.query.clone(),
        variants: Vec::new(),
        fused: false,
        degraded: Vec::new(),
    }
}

fn plan_query(request: &Request, intent: &Intent, vectors: VectorSupport) -> Plan {
    let settings = &request.settings;
    let mode = resolve_mode(request.mode, intent);
    let mut arms = Vec::new();
    let mut degraded = Vec::new();
    if mode != RetrievalMode::Graph {
        degraded.extend(not_expanded(&request.expansion));
        arms.push(PlannedArm { arm: Arm::Words, weight: settings.words_weight });
        let wanted = request.vectors && intent.kind != IntentKind::Identifier;
        match vectors {
            VectorSupport::Ready if wanted => {
                let weight = vectors_weight(settings, intent.kind);
                arms.push(PlannedArm { arm: Arm::Vectors, weight });
            }
            VectorSupport::NoModel if wanted => {
                degraded.push(DegradedStage { stage: "vectors", reason: "no_model" });
            }
            VectorSupport::OtherModel if wanted => {
                degraded.push(DegradedStage { stage: "vectors", reason: "other_model" });
            }
            VectorSupport::Ready | VectorSupport::NoModel | VectorSupport::OtherModel => {}
        }
    }
    arms.push(PlannedArm { arm: Arm::Names, weight: 0.0 });
    if mode != RetrievalMode::Knowledge {
        arms.push(PlannedArm { arm: Arm::Graph, weight: settings.graph_weight });
    }
    let detail = request.detail.unwrap_or_else(|| detail_for(intent.kind));
    let today = request.now.to_zoned(TimeZone::UTC).date();
    let split = |text: &str| match find_time_reference(text, today)
        .filter(|_| settings.window_boost != 1.0)
    {
        Some(TimeReference { window, rest }) => (Some(window), rest),
        None => (None, text.to_owned()),
    };
    let (window, subject) = split(&request.query);
    // Walks and names go by what was typed.
    let vary = mode != RetrievalMode::Graph && settings.expand_weight > 0.0;
    let variants = request.expansion.variants().iter().filter(|_| vary);
    Plan {
        arms,
        pool: (settings.pool as usize).max(2 * request.limit),
        detail,
        passages: detail.passages(),
        mode,
        // Days that are named are meant more exactly than "recent" is.
        recency: if window.is_some() { Recency::Off } else { intent.recency },
        window,
        subject,
        variants: variants.map(|variant| split(variant).1).collect(),
        fused: true,
        degraded,
    }
}

/// Why there are no variants although expansion was requested.
fn not_expanded(expansion: &Expansion) -> Option<DegradedStage> {
    let error = match expansion {
        Expansion::Off | Expansion::Variants(_) => return None,
        Expansion::Requested => HookError::NoProvider,
        Expansion::Failed(error) => *error,
    };
    Some(DegradedStage { stage: EXPANSION, reason: error.name() })
}

/// Hybrid means the graph too only where the question asks for an edge; an identifier never does.
fn resolve_mode(asked: RetrievalMode, intent: &Intent) -> RetrievalMode {
    match asked {
        RetrievalMode::Hybrid if intent.relation.is_none() => RetrievalMode::Knowledge,
        other => other,
    }
}

fn vectors_weight(settings: &Settings, kind: IntentKind) -> f64 {
    match kind {
        IntentKind::Relational => settings.vectors_weight_relational,
        IntentKind::Entity => settings.vectors_weight_entity,
        IntentKind::Identifier
        | IntentKind::Temporal
        | IntentKind::Event
        | IntentKind::Concept
        | IntentKind::General => settings.vectors_weight,
    }
}

fn detail_for(kind: IntentKind) -> Detail {
    match kind {
        IntentKind::Entity | IntentKind::Identifier => Detail::Low,
        IntentKind::Temporal | IntentKind::Event => Detail::High,
        IntentKind::Relational | IntentKind::Concept | IntentKind::General => Detail::Medium,
    }
}

impl Detail {
    /// Number of passages shown per page.
    pub fn passages(self) -> usize {
        match self {
            Self::Low => 1,
            Self::Medium => 2,
            Self::High => 3,
        }
    }
}
