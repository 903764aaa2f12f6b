//! What passes and what does not, and what a template can and cannot do.

mod signatures;
mod templates;

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}
