//! No secret reaches the database: every text on its way in goes through the mask, whatever verb sends it.

use super::driver::{Row, Sql, Value};
use crate::model::mask::Mask;
use anyhow::Result;
use std::borrow::Cow;

/// A transaction behind a mask.
pub struct Masking<'a> {
    pub inner: &'a mut dyn Sql,
    pub mask: &'a Mask,
}

impl Sql for Masking<'_> {
    fn rows(&mut self, statement: &'static str, values: &[Value]) -> Result<Vec<Row>> {
        self.inner.rows(statement, &masked(values, self.mask))
    }

    fn run(&mut self, statement: &'static str, values: &[Value]) -> Result<usize> {
        self.inner.run(statement, &masked(values, self.mask))
    }
}

/// The same values where there is nothing to mask, which is nearly always.
fn masked<'a>(values: &'a [Value], mask: &Mask) -> Cow<'a, [Value]> {
    let mut clean: Cow<'a, [Value]> = Cow::Borrowed(values);
    for (position, value) in values.iter().enumerate() {
        if let Value::Text(text) = value
            && let Cow::Owned(hidden) = mask.text(text)
        {
            clean.to_mut()[position] = Value::Text(hidden);
        }
    }
    clean
}
