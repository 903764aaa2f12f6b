//! The functions a filter can call: jaq's, and those of jq's that jaq leaves out, without any that reach beyond the filter. Of the machine
//! it can learn the time and the time zone.

use jaq_core::data::JustLut;
use jaq_core::load::parse::Def;
use jaq_core::native::Fun;
use jaq_json::Val;

/// What jq has for the command line. Naming one is answered with what there is instead.
pub const REFUSED: [&str; 10] = [
    "env",
    "get_search_list",
    "halt",
    "halt_error",
    "input",
    "input_filename",
    "input_line_number",
    "inputs",
    "modulemeta",
    "$ENV",
];
/// The workflow's inputs.
pub const INPUT_VARIABLE: &str = "$input";

/// Functions written in the language itself.
pub fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    let own = jaq_core::load::parse(include_str!("own.jq"), |parser| parser.defs());
    jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs())
        .filter(|definition| !REFUSED.contains(&definition.name))
        .chain(own.unwrap_or_default())
}

/// Functions written in Rust.
pub fn natives() -> impl Iterator<Item = Fun<JustLut<Val>>> {
    jaq_core::funs()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs())
        .filter(|(name, ..)| !REFUSED.contains(name))
}

/// Every function: its name and how many arguments it takes.
pub fn signatures() -> Vec<(&'static str, usize)> {
    let defined = definitions().map(|definition| (definition.name, definition.args.len()));
    let native = natives().map(|(name, arguments, _)| (name, arguments.len()));
    defined.chain(native).collect()
}
