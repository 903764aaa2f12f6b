//! The dashboard: the daemon's own pages for people, at `/`. Server-rendered, readable without script; `script.js` only keeps them
//! fresh. Everything by agents and callers is text: it goes through `model/harmless` and the templates' escaping, never around them.
//! It must not decide anything: it shows what the rows say, and acts by the same verbs as the API and the command line.
//!
//! `page` is how a page is made and sent, `door` who comes in, `form` how forms are read, `live` what tells open pages to look again;
//! the other files are one page each.

mod act;
mod agents;
mod assets;
mod changes;
mod chart;
mod costs;
mod door;
mod fields;
mod form;
mod graph;
mod list;
mod live;
mod log;
mod page;
mod schedules;
mod session;
mod submit;

use super::feed::Feed;
use super::route::Route;
use anyhow::Result;
use live::Pulse;
use minijinja::Environment;
use page::Kept;
use std::sync::Arc;

/// What the pages share.
pub struct Dashboard {
    templates: Environment<'static>,
    pulse: Arc<Pulse>,
    kept: Kept,
}

impl Dashboard {
    pub fn new(feed: &Arc<Feed>) -> Result<Self> {
        Ok(Self {
            templates: page::templates()?,
            pulse: Pulse::new(feed),
            kept: Kept::new()?,
        })
    }

    /// What tells open pages that something has changed; run by the listener.
    pub fn pulse(&self) -> Arc<Pulse> {
        self.pulse.clone()
    }
}

pub fn routes() -> Vec<Route> {
    let mut routes = list::routes();
    routes.extend(submit::routes());
    routes.extend(session::routes());
    routes.extend(log::routes());
    routes.extend(changes::routes());
    routes.extend(act::routes());
    routes.extend(schedules::routes());
    routes.extend(agents::routes());
    routes.extend(costs::routes());
    routes.extend(live::routes());
    routes.extend(door::routes());
    routes.extend(assets::routes());
    routes
}
