//! A calibration of any scores: what holds whatever they are.

use gbrain_core::calibrate::{PairLabel, ScoredLabel, calibrate, histogram};
use gbrain_core::format::capture::{settings_map, settings_of};
use gbrain_core::search::Settings;
use proptest::prelude::*;

fn scored() -> impl Strategy<Value = Vec<ScoredLabel>> {
    let label = prop_oneof![
        3 => Just(PairLabel::Borderline),
        1 => Just(PairLabel::Relevant),
        1 => Just(PairLabel::Irrelevant),
    ];
    let pair = (label, 0.0..=1.0f64).prop_map(|(label, score)| ScoredLabel { label, score });
    prop::collection::vec(pair, 1..60)
}

proptest! {
    #[test]
    fn a_threshold_is_a_score_and_lands_where_it_says(pairs in scored()) {
        let Some(found) = calibrate(&pairs) else {
            prop_assert!(pairs.iter().all(|pair| pair.label != PairLabel::Borderline));
            return Ok(());
        };
        let scores: Vec<f64> = pairs
            .iter()
            .filter(|pair| pair.label == PairLabel::Borderline)
            .map(|pair| pair.score)
            .collect();
        prop_assert!((0.0..=1.0).contains(&found.threshold) && (0.0..=1.0).contains(&found.robust));
        prop_assert!(found.threshold <= found.mean && found.min <= found.mean + 1e-12);
        let below = scores.iter().filter(|score| **score < found.threshold).count();
        prop_assert_eq!(found.percentile, below as f64 / scores.len() as f64);
        prop_assert!(found.percentile < 1.0, "mean - sigma never drops all");
        let recall = found.worth.recall.unwrap();
        let good = pairs.iter().filter(|pair| pair.label != PairLabel::Irrelevant);
        let kept = good.clone().filter(|pair| pair.score >= found.threshold).count();
        prop_assert_eq!(recall, kept as f64 / good.count() as f64);
        let bins = histogram(&pairs);
        prop_assert_eq!(bins.iter().map(|bin| bin.counts.total()).sum::<usize>(), pairs.len());
    }

    #[test]
    fn a_fall_of_all_scores_is_a_fall_of_the_mean(
        scores in prop::collection::vec(0.3..0.9f64, 2..50),
        by in 0.0..0.2f64,
    ) {
        let of = |by: f64| {
            let pairs: Vec<ScoredLabel> = scores
                .iter()
                .map(|score| ScoredLabel { label: PairLabel::Borderline, score: score - by })
                .collect();
            calibrate(&pairs).unwrap()
        };
        let (before, after) = (of(0.0), of(by));
        prop_assert!((before.mean - after.mean - by).abs() < 1e-9);
        prop_assert!((before.sigma - after.sigma).abs() < 1e-9);
    }

    #[test]
    fn settings_with_a_calibrated_threshold_come_back(
        model in "[a-z]{1,8}:[a-z0-9._/-]{1,20}",
        least in 0.0..=1.0f64,
    ) {
        let mut settings = Settings::default();
        settings.set(&format!("rerank_threshold_of.{model}"), &least.to_string()).unwrap();
        let read = settings_of(&settings_map(&settings)).unwrap();
        prop_assert_eq!(read.hash(), settings.hash());
        prop_assert_eq!(read.min_score_for(&model), settings.min_score_for(&model));
        prop_assert_eq!(read, settings);
    }
}
