//! `ralphd token new | list | revoke`: who may use the HTTP API. A token is shown once, when it is made; only its hash is kept.

use super::arguments::{NewToken, TokenVerb};
use super::desk::Desk;
use super::exit::{Exit, Failure};
use super::output::{self, Look, Style};
use super::table::{Cell, Table};
use crate::api::auth;
use crate::clock::{new_id, now_ms};
use crate::model::id::short;
use crate::model::token::{Scope, Token};
use crate::queue::wake;
use crate::secrets::random_word;
use crate::store::tokens;
use anyhow::{Result, bail};
use serde_json::json;

/// Says whose token it is, to whoever finds one.
const PREFIX: &str = "ralphd_";
const RANDOM_BYTES: usize = 32;
const TITLES: &[&str] = &["ID", "NAME", "SCOPES", "MADE", "HOLDS"];

pub fn token(desk: Desk, verb: TokenVerb) -> Result<Exit> {
    match verb {
        TokenVerb::New(wanted) => make(&desk, wanted),
        TokenVerb::List => list(&desk),
        TokenVerb::Revoke { which } => revoke(&desk, &which),
    }
}

fn make(desk: &Desk, wanted: NewToken) -> Result<Exit> {
    let secret = format!("{PREFIX}{}", random_word(RANDOM_BYTES)?);
    let now = now_ms();
    let scopes = match wanted.scope.is_empty() {
        true => Scope::ALL.to_vec(),
        false => wanted.scope,
    };
    let token = Token {
        id: new_id(),
        name: wanted.name,
        hash: auth::hash(&secret),
        scopes,
        created_at_ms: now,
        expires_at_ms: wanted.expires.map(|after| now + after.as_millis()),
        revoked_at_ms: None,
    };
    let store = desk.store()?;
    let kept = token.clone();
    desk.block_on(store.write(move |sql| tokens::add(sql, &kept)))?;
    wake::ring(&desk.state);
    if desk.global.json {
        output::print_json(
            &json!({ "id": token.id, "name": token.name, "scopes": token.scopes, "token": secret }),
        )?;
        return Ok(Exit::Done);
    }
    output::print_line(&secret)?;
    if !desk.global.quiet {
        output::remark(
            "ralphd: this is shown once; from now on every call of the HTTP API needs a token",
        );
    }
    Ok(Exit::Done)
}

fn list(desk: &Desk) -> Result<Exit> {
    let store = desk.existing_store()?;
    let all = desk.block_on(store.read(tokens::all))?;
    if desk.global.json {
        output::print_json(&all)?;
        return Ok(Exit::Done);
    }
    if all.is_empty() && !desk.global.quiet {
        output::remark(
            "no tokens; everybody on this machine may use the HTTP API. 'ralphd token new NAME' makes one",
        );
        return Ok(Exit::Done);
    }
    let mut table = Table::new(TITLES, 1);
    for token in &all {
        table.row(row(token, now_ms()));
    }
    output::print_lines(&table.lines(&Look::of_stdout()))?;
    Ok(Exit::Done)
}

fn row(token: &Token, now_ms: i64) -> Vec<Cell> {
    let scopes: Vec<&str> = token.scopes.iter().map(|scope| scope.as_str()).collect();
    let holds = match (token.revoked_at_ms, token.expires_at_ms) {
        (Some(at), _) => (format!("revoked {}", output::local_time(at)), Style::Dim),
        (None, Some(at)) if at <= now_ms => {
            (format!("expired {}", output::local_time(at)), Style::Dim)
        }
        (None, Some(at)) => (format!("until {}", output::local_time(at)), Style::Plain),
        (None, None) => ("for good".to_owned(), Style::Plain),
    };
    vec![
        (short(&token.id).to_owned(), Style::Bold).into(),
        output::harmless(&token.name).into(),
        scopes.join(",").into(),
        output::local_time(token.created_at_ms).into(),
        holds.into(),
    ]
}

fn revoke(desk: &Desk, which: &str) -> Result<Exit> {
    let store = desk.existing_store()?;
    let wanted = which.to_owned();
    let all = desk.block_on(store.read(tokens::all))?;
    let meant =
        |token: &&Token| token.name == wanted || token.id == wanted || short(&token.id) == wanted;
    let ids: Vec<String> = all
        .iter()
        .filter(meant)
        .map(|token| token.id.clone())
        .collect();
    if ids.is_empty() {
        bail!(Failure(format!(
            "there is no token '{which}'; see 'ralphd token list'"
        )));
    }
    let (revoked, is_open) = desk.block_on(store.write(move |sql| {
        let mut count = 0;
        for id in &ids {
            count += tokens::revoke(sql, id, now_ms())?;
        }
        let left = tokens::all(sql)?;
        let is_open = left.iter().all(|token| token.revoked_at_ms.is_some());
        Ok((count, is_open))
    }))?;
    wake::ring(&desk.state);
    if desk.global.json {
        output::print_json(&json!({ "revoked": revoked }))?;
    } else if !desk.global.quiet {
        output::print_line(&match revoked {
            0 => format!("token {which} was revoked before"),
            1 => format!("token {which} is revoked"),
            count => format!("{count} tokens of the name {which} are revoked"),
        })?;
        if is_open {
            output::remark(
                "ralphd: no token is left; everybody on this machine may use the HTTP API now",
            );
        }
    }
    Ok(Exit::Done)
}
