//! Numbers about numbers: the middle of many, and the one that most do not exceed. Pure.

/// The value that `share` of all do not exceed; nothing of nothing.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = (last as f64 * share).ceil() as usize;
    sorted.get(place.min(last)).copied()
}

/// The value in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.len(), sorted.len() % 2) {
        (0, _) => None,
        (_, 1) => Some(sorted[middle]),
        (_, _) => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_upper_end() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        for (values, middle, most) in [
            (&[][..], None, None),
            (&[3.0][..], Some(3.0), Some(3.0)),
            (&[9.0, 1.0][..], Some(5.0), Some(9.0)),
            (&[5.0, 1.0, 3.0][..], Some(3.0), Some(5.0)),
            (&ten[..], Some(5.5), Some(10.0)),
        ] {
            assert_eq!(median(values), middle, "{values:?}");
            assert_eq!(quantile(values, 0.9), most, "{values:?}");
        }
        let hundred: Vec<f64> = (0..=100).map(f64::from).collect();
        assert_eq!(quantile(&hundred, 0.9), Some(90.0));
    }
}
