//! The short form of `cargo xtask campaign statistics`: fewer samples and trials, a fixed seed.

use gbrain_bench::campaign::statistics::{OFF, coverage, population, power};
use gbrain_core::stats::POWER;

#[test]
fn intervals_cover() {
    let populations: Vec<_> = population::rates().into_iter().chain(population::shapes()).collect();
    let cells = coverage::survey(&populations, &[4, 10, 30], 120, 1);
    println!("{}", coverage::table(&cells));
    let methods = [
        coverage::Method::ClopperPearson,
        coverage::Method::Mean,
        coverage::Method::Paired,
        coverage::Method::Corrected,
        coverage::Method::Informedness,
    ];
    for method in methods {
        let of: Vec<_> = cells.iter().filter(|cell| cell.method == method).collect();
        assert!(!of.is_empty(), "{method:?}");
        // 120 samples know a coverage to two points: the mean of all cells is what they can hold.
        let mean = of.iter().map(|cell| cell.coverage).sum::<f64>() / of.len() as f64;
        let least = of.iter().map(|cell| cell.coverage).fold(1.0, f64::min);
        assert!(mean >= 0.95 && least >= 0.89, "{method:?}: mean {mean}, least {least}");
    }
    // The check can fail: the percentile bootstrap does not cover four values.
    let boot = cells.iter().filter(|cell| cell.method == coverage::Method::Bootstrap);
    assert!(boot.map(|cell| cell.coverage).fold(1.0, f64::min) < 0.8);
}

#[test]
fn printed_drops_are_found_as_often_as_printed() {
    let populations: Vec<_> = population::shapes()
        .into_iter()
        .take(2)
        .chain(population::rates().into_iter().skip(7).take(1))
        .collect();
    const TRIALS: usize = 2000;
    let cells = power::survey(&populations, &[4, 20], 1, TRIALS, 1);
    println!("{}", power::table(&cells));
    // What the campaign allows, and three standard errors of a power that so many trials know.
    let allowed = OFF + 3.0 * (POWER * (1.0 - POWER) / TRIALS as f64).sqrt();
    for rule in power::RULES {
        let of: Vec<f64> = cells
            .iter()
            .filter(|cell| cell.rule == rule)
            .filter_map(|cell| Some(cell.found?.1))
            .collect();
        assert!(!of.is_empty(), "{rule}");
        for power in &of {
            assert!((power - POWER).abs() < allowed, "{rule}: {power}");
        }
    }
    // Four queries never reach the level.
    assert!(cells.iter().any(|cell| cell.found.is_none() && cell.n == 4));
}
