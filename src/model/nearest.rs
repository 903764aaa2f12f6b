//! The known word nearest to a mistyped one. It only suggests: nothing is ever accepted by likeness.

/// A prefix shorter than this says too little to suggest a whole word.
const PREFIX_CHARACTERS: usize = 3;
/// Longer words are no mistyped ones, and measuring them costs time and room by their length.
const MAX_WORD_BYTES: usize = 200;

/// The known word that `word` was most likely meant to be, if any is near enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_WORD_BYTES {
        return None;
    }
    let written = plain(word);
    known
        .into_iter()
        .filter_map(|candidate| Some((distance(&written, &plain(candidate))?, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn plain(word: &str) -> String {
    word.to_lowercase().replace(['-', ' '], "_")
}

fn distance(written: &str, candidate: &str) -> Option<usize> {
    let distance = strsim::damerau_levenshtein(written, candidate);
    let shorter = written.chars().count().min(candidate.chars().count());
    let longer = written.chars().count().max(candidate.chars().count());
    let cut_off = shorter >= PREFIX_CHARACTERS
        && (candidate.starts_with(written) || written.starts_with(candidate));
    (distance <= (longer / 3).max(1).min(shorter) || cut_off).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        let known = ["max_iterations", "max_parallel", "agent", "env", "verify"];
        for (word, expected) in [
            ("max_iteration", Some("max_iterations")),
            ("max-iterations", Some("max_iterations")),
            ("MAX_PARALEL", Some("max_parallel")),
            ("max_iter", Some("max_iterations")),
            ("agnet", Some("agent")),
            ("evn", Some("env")),
            ("verify_command", Some("verify")),
            ("colour", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
