//! Sparklines: a distribution as one line of blocks.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One block per bin, proportional to the highest; an empty bin is a dot.
pub(super) fn sparkline(bins: &[usize]) -> String {
    let highest = bins.iter().copied().max().unwrap_or(0).max(1);
    let block = |bin: &usize| match bin {
        0 => '·',
        bin => BLOCKS[(bin * BLOCKS.len()).div_ceil(highest).clamp(1, BLOCKS.len()) - 1],
    };
    bins.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(sparkline(&[0, 1, 4, 8]), "·▁▄█");
        assert_eq!(sparkline(&[0, 1, 800]), "·▁█");
        assert_eq!(sparkline(&[0, 0]), "··");
    }
}
