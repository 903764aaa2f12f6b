//! Runs a filter in this very process, without bounds of time and memory: only for the child.

use jaq_core::data::JustLut;
use jaq_core::{Ctx, Vars};
use jaq_json::{Val, read};
use serde_json::value::RawValue;

use super::failure::failure;
use super::output::Outputs;
use super::program::compile;
use super::{Question, Trouble};

/// The result as JSON: no output is null, one is itself, several are an array.
pub fn evaluate(
    question: &Question<Box<RawValue>>,
    result_bytes: usize,
) -> Result<String, Trouble> {
    let filter = compile(&question.filter)
        .map_err(|mistake| Trouble::other(format!("the filter is not valid: {mistake}")))?;
    let input = read::parse_single(question.input.get().as_bytes()).map_err(|error| {
        Trouble::other(format!("cannot read what the filter is given: {error}"))
    })?;
    let pairs = question.inputs.iter();
    let inputs = pairs.map(|(name, value)| (Val::from(name.clone()), Val::from(value.clone())));
    let variables = Vars::new([Val::obj(inputs.collect())]);
    let context = Ctx::<JustLut<Val>>::new(&filter.lut, variables);
    let mut outputs = Outputs::new(result_bytes);
    for output in filter.id.run((context, input)) {
        outputs.add(&output.map_err(failure)?)?;
    }
    Ok(outputs.into_json())
}
