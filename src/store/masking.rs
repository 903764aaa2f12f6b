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
    fn rows(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        self.inner.rows(statement, &masked(values, self.mask))
    }

    fn run(&mut self, statement: &'static str, values: &[Value<'_>]) -> Result<usize> {
        self.inner.run(statement, &masked(values, self.mask))
    }
}

/// The same values where there is nothing to mask, which is nearly always.
fn masked<'a>(values: &'a [Value<'a>], mask: &Mask) -> Cow<'a, [Value<'a>]> {
    let mut clean: Cow<'a, [Value<'a>]> = Cow::Borrowed(values);
    for (position, value) in values.iter().enumerate() {
        if let Value::Text(text) = value
            && let Cow::Owned(hidden) = mask.text(text)
        {
            clean.to_mut()[position] = Value::Text(Cow::Owned(hidden));
        }
    }
    clean
}
