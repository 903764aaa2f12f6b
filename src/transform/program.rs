//! From the text of a filter to a program that can run, or to the place of its mistake. Nothing of it runs here, and no file is read.

use jaq_core::data::JustLut;
use jaq_core::load::{Arena, File, Loader, import};
use jaq_core::{Compiler, Filter};
use jaq_json::Val;

use super::mistake::{not_loaded, undefined};
use super::size;
use super::vocabulary::{INPUT_VARIABLE, definitions, natives};

/// A filter is a program of a few lines; reading a longer one that nests with every byte would take a great deal of memory.
pub const MAX_FILTER_BYTES: usize = 16 << 10;
/// Twice of what reading takes, which is recursive, where the longest filter nests with every byte.
const CHECK_STACK_BYTES: usize = 256 << 20;

/// Whether a filter is written right and calls only functions that exist; if not, the place of the mistake and what is wrong.
pub fn check(filter: &str) -> Result<(), String> {
    within(filter, MAX_FILTER_BYTES)?;
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(CHECK_STACK_BYTES)
            .spawn_scoped(scope, || compile(filter).map(drop))
            .map_err(|error| format!("cannot check the filter: {error}"))?
            .join()
            .unwrap_or_else(|_| Err("it cannot be understood".to_owned()))
    })
}

/// Whether a filter is short enough to be looked at.
pub fn within(filter: &str, max_bytes: usize) -> Result<(), String> {
    if filter.len() <= max_bytes {
        return Ok(());
    }
    Err(format!(
        "the filter is {} long; at most {} are allowed",
        size(filter.len() as u64),
        size(max_bytes as u64)
    ))
}

/// The program of a filter. It recurses as deep as the filter nests: only where the stack has room for that.
pub fn compile(filter: &str) -> Result<Filter<JustLut<Val>>, String> {
    let file = File {
        code: filter,
        path: (),
    };
    let arena = Arena::default();
    let modules = Loader::new(definitions())
        .load(&arena, file)
        .map_err(|errors| not_loaded(filter, errors))?;
    import(&modules, |_| Err(String::new())).map_err(|errors| not_loaded(filter, errors))?;
    Compiler::default()
        .with_funs(natives())
        .with_global_vars([INPUT_VARIABLE])
        .compile(modules)
        .map_err(|errors| undefined(filter, errors))
}
