//! `ralphd demo`: the whole way of a request, live, with nothing configured and no network.

use super::arguments::Demo;
use super::desk::{Desk, house};
use super::exit::Exit;
use super::{follow, output};
use crate::clock::new_id;
use crate::config::{Config, http};
use crate::daemon;
use crate::model::id::short;
use crate::report;
use crate::secrets::Vault;
use crate::store::sessions;
use anyhow::{Context, Result};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// The check that the promise has to pass.
const VERIFY: &str = "test \"$(wc -l < haiku.txt)\" -eq 3";

pub fn demo(desk: Desk, demo: &Demo) -> Result<Exit> {
    let state = std::env::temp_dir().join(format!("ralphd-demo-{}", short(&new_id())));
    let exit = desk.block_on(show(&state))?;
    if demo.clean {
        std::fs::remove_dir_all(&state)
            .with_context(|| format!("cannot remove {}", state.display()))?;
    } else {
        output::print_line(&format!(
            "\nLook further:\n  sqlite3 -readonly {0}/ralphd.db 'SELECT * FROM v_session_progress'\n  ralphd --state {0} list\n\nAll of it is in {0}; remove it when you have seen enough.",
            state.display()
        ))?;
    }
    Ok(exit)
}

async fn show(state: &Path) -> Result<Exit> {
    let lock = daemon::lock(state)?;
    let mut config = Config::default();
    // The address may be a real daemon's.
    config.http.listen = http::OFF.to_owned();
    let house = house(Arc::new(config), state, Vault::of_environment(&[]))?;
    let (down, shutdown) = watch::channel(false);
    let (tell_ready, ready) = oneshot::channel();
    let running = tokio::spawn(daemon::run(house.clone(), lock, shutdown, move || {
        let _ = tell_ready.send(());
    }));
    if ready.await.is_err() {
        running.await??;
        anyhow::bail!("the daemon ended before it was ready");
    }
    output::print_line(&format!("A daemon is running on {}", state.display()))?;
    drop_request(state)?;
    let mut session = None;
    follow::follow(&house.store, follow::Whose::Everybodys, 0, |news| {
        if let Some(line) = news.line() {
            output::print_line(&line)?;
        }
        session = session.take().or_else(|| news.event.session_id.clone());
        Ok(match news.is_end() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })
    .await?;
    down.send_replace(true);
    running.await??;
    let id = session.context("no session appeared")?;
    let session = house
        .store
        .read(move |sql| sessions::expect(sql, &id))
        .await?;
    let answer = report::text_path(&state.join("outbox"), &session);
    let text = std::fs::read_to_string(&answer)
        .with_context(|| format!("cannot read {}", answer.display()))?;
    output::print_line(&format!("\nThe answer, {}:\n\n{text}", answer.display()))?;
    Ok(Exit::of_session(&session))
}

/// Drops a request as a person would: written elsewhere, then moved in.
fn drop_request(state: &Path) -> Result<()> {
    let text = format!(
        "---\nmax_iterations: 5\nverify: {}\n---\nWrite a haiku about a long night of work into haiku.txt, one line per iteration.\n",
        VERIFY
    );
    let (draft, request) = (state.join("haiku.md"), state.join("inbox").join("haiku.md"));
    std::fs::write(&draft, &text)
        .and_then(|()| std::fs::rename(&draft, &request))
        .context("cannot drop the request")?;
    output::print_line(&format!(
        "A request is dropped into {}:\n\n{text}",
        request.display()
    ))
}
