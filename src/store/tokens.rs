//! The verbs of the `tokens` table: make, list, revoke. It never sees a token itself, only its hash.

use super::driver::{Row, Sql, values};
use super::query;
use crate::model::token::{Scope, Token};
use anyhow::{Context, Result};

/// Adds a token.
pub fn add(sql: &mut dyn Sql, token: &Token) -> Result<()> {
    sql.run(
        query!("tokens_add"),
        values![
            &token.id,
            &token.name,
            &token.hash,
            serde_json::to_string(&token.scopes)?,
            token.created_at_ms,
            token.expires_at_ms,
        ],
    )?;
    Ok(())
}

/// All tokens, also those that hold no more, oldest first.
pub fn all(sql: &mut dyn Sql) -> Result<Vec<Token>> {
    let rows = sql.rows(query!("tokens_all"), &[])?;
    rows.iter().map(from_row).collect()
}

/// Takes the tokens of a name, or the one of an id, out of use; returns how many there were.
pub fn revoke(sql: &mut dyn Sql, name_or_id: &str, at_ms: i64) -> Result<usize> {
    sql.run(query!("tokens_revoke"), values![name_or_id, at_ms])
}

fn from_row(row: &Row) -> Result<Token> {
    let scopes: Vec<Scope> =
        serde_json::from_str(&row.text("scopes")?).context("the scopes of a token")?;
    Ok(Token {
        id: row.text("id")?,
        name: row.text("name")?,
        hash: row.text("hash")?,
        scopes,
        created_at_ms: row.int("created_at_ms")?,
        expires_at_ms: row.optional_int("expires_at_ms")?,
        revoked_at_ms: row.optional_int("revoked_at_ms")?,
    })
}
