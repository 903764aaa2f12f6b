//! Whether files are still those that were imported: by name, size, time of change, and both ends of their content.

use super::Found;
use super::trouble::Trouble;
use std::fmt::Write;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

/// Another number makes all imports anew: to be raised when the same file would be imported otherwise.
const VERSION: u32 = 1;
const END_BYTES: u64 = 64 << 10;

/// One line a file; equal text means that an import can be used again.
pub fn fingerprint(files: &[(Found, String)]) -> Result<String, Trouble> {
    let mut text = format!("{VERSION}\n");
    for (found, table) in files {
        let file = super::import::open(found, u64::MAX - 1)
            .map_err(|trouble| trouble.about(&found.name()))?;
        let facts = facts(&file)?;
        let ends = ends(&file)?;
        let path = found.path.display();
        let _ = writeln!(text, "{table} {path} {} {} {ends:x}", facts.0, facts.1);
    }
    Ok(text)
}

/// Size and time of change in nanoseconds.
pub fn facts(file: &File) -> Result<(u64, i128), Trouble> {
    let facts = file.metadata()?;
    let changed = i128::from(facts.mtime()) * 1_000_000_000 + i128::from(facts.mtime_nsec());
    Ok((facts.len(), changed))
}

fn ends(mut file: &File) -> Result<u64, Trouble> {
    let mut bytes = Vec::new();
    let length = file.metadata()?.len();
    Read::by_ref(&mut file)
        .take(END_BYTES)
        .read_to_end(&mut bytes)?;
    file.seek(SeekFrom::Start(length.saturating_sub(END_BYTES)))?;
    file.take(END_BYTES).read_to_end(&mut bytes)?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    Ok(hasher.finish())
}
