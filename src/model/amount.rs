//! Amounts as people read them: lengths of time, money, bytes. Pure words.

/// A length of time: `4s`, `3m 12s`, `2h 05m`, `3d 04h`.
pub fn duration(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3600..86_400 => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d {:02}h", seconds / 86_400, seconds / 3600 % 24),
    }
}

/// A length of time in its largest unit: `4s`, `3m`, `2h`, `5d`.
pub fn age(ms: i64) -> String {
    let whole = duration(ms);
    whole.split(' ').next().unwrap_or_default().to_owned()
}

/// Dollars and cents; less than a cent is not nothing.
pub fn money(usd: f64) -> String {
    match usd > 0.0 && usd < 0.005 {
        true => format!("${usd:.4}"),
        false => format!("${usd:.2}"),
    }
}

/// Bytes in a unit that people read.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut amount = bytes as f64;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{amount:.1} {}", UNITS[unit]),
    }
}

/// So many of something, in the singular or the plural.
pub fn many(count: i64, one: &str, more: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        for (seconds, long, short) in [
            (-5, "0s", "0s"),
            (4, "4s", "4s"),
            (59, "59s", "59s"),
            (192, "3m 12s", "3m"),
            (3600, "1h 00m", "1h"),
            (7500, "2h 05m", "2h"),
            (86_400, "1d 00h", "1d"),
            (273_600, "3d 04h", "3d"),
        ] {
            assert_eq!(duration(seconds * 1000), long);
            assert_eq!(age(seconds * 1000), short);
        }
    }

    #[test]
    fn money_and_sizes() {
        for (usd, shown) in [
            (0.0, "$0.00"),
            (0.42, "$0.42"),
            (12.5, "$12.50"),
            (0.0021, "$0.0021"),
        ] {
            assert_eq!(money(usd), shown);
        }
        for (bytes, shown) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1536, "1.5 KiB"),
            (5 << 30, "5.0 GiB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
    }

    #[test]
    fn one_and_many() {
        assert_eq!(many(1, "iteration", "iterations"), "1 iteration");
        assert_eq!(many(0, "iteration", "iterations"), "0 iterations");
    }
}
