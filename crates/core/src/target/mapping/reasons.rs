//! Reading the edges that justify an answer.

use serde_json::Value;

use crate::target::path::LookupError;
use crate::target::{DocumentIdRule, GraphEvidence, RationaleEdge, RationaleEntity, TargetError};

use super::value::{chunk, list, must, number, one, text};
use super::{EdgePaths, EntityPaths, RationalePaths};

/// Maximum number of rationales; more than a person reads, and every one is compared with the
/// others.
const MOST_EDGES: usize = 1_000;

impl RationalePaths {
    /// None if the target reports no rationale; no edges if it reports an empty one.
    pub(super) fn read(
        &self,
        answer: &Value,
        ids: &DocumentIdRule,
    ) -> Result<Option<GraphEvidence>, TargetError> {
        let Self { edges, edge, entities, evidence } = self;
        let edges = match edges.all(answer) {
            Ok(edges) => edges,
            Err(LookupError::Missing(_) | LookupError::Other { found: "null", .. }) => {
                return Ok(None);
            }
            Err(error) => return Err(TargetError::malformed(format!("the rationale: {error}"))),
        };
        let read = || {
            Ok(GraphEvidence {
                edges: edge.read(&edges, ids)?,
                entities: entities.as_ref().map_or(Ok(Vec::new()), |paths| paths.read(answer))?,
                evidence: list(answer, evidence.as_ref(), chunk)?,
            })
        };
        read().map(Some).map_err(|error: TargetError| TargetError {
            message: format!("the rationale: {}", error.message),
            ..error
        })
    }
}

impl EdgePaths {
    /// The edges, each once: several results may have the same reason.
    pub(in crate::target) fn read(
        &self,
        edges: &[&Value],
        ids: &DocumentIdRule,
    ) -> Result<Vec<RationaleEdge>, TargetError> {
        if edges.len() > MOST_EDGES {
            let message = format!("{} edges; at most {MOST_EDGES} are read", edges.len());
            return Err(TargetError::malformed(message));
        }
        let mut all = Vec::new();
        for edge in edges {
            let edge = RationaleEdge {
                kind: must(edge, &self.kind)?,
                from: ids.stripped(must(edge, &self.from)?),
                to: ids.stripped(must(edge, &self.to)?),
                confidence: one(edge, self.confidence.as_ref(), number)?,
                evidence: list(edge, self.evidence.as_ref(), chunk)?,
            };
            if !all.contains(&edge) {
                all.push(edge);
            }
        }
        Ok(all)
    }
}

impl EntityPaths {
    fn read(&self, answer: &Value) -> Result<Vec<RationaleEntity>, TargetError> {
        let entity = |entity: &Value| {
            Ok(RationaleEntity {
                id: must(entity, &self.id)?,
                aliases: list(entity, self.aliases.as_ref(), text)?,
            })
        };
        let entities = self.entities.find(answer);
        if entities.len() > MOST_EDGES {
            let message = format!("{} entities; at most {MOST_EDGES} are read", entities.len());
            return Err(TargetError::malformed(message));
        }
        entities.into_iter().map(entity).collect()
    }
}
