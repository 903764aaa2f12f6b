//! Reads the history on and takes up what is to be told: one notice for each occasion and each who wants to hear of it.
//! It must not send anything, and it writes only where there is something to tell, or to remember how far it was.

use crate::clock::{iso, new_id, now_ms};
use crate::config::Config;
use crate::engine::House;
use crate::model::address;
use crate::model::notice::{
    Budget, CALLBACK, DigestMessage, Message, MessageFacts, Occasion, Question,
};
use crate::report::digest::{Digest, Paper};
use crate::store::driver::Sql;
use crate::store::events::Event;
use crate::store::notices::{self, NewNotice};
use crate::store::review::Span;
use crate::store::sessions::{self, Session};
use anyhow::Result;
use jiff::tz::TimeZone;
use std::collections::BTreeSet;

/// Numbers of events looked through in one go.
const SPAN: i64 = 5_000;
/// So far the bookmark may lag behind where there was nothing to tell: after a crash these are looked through again.
const BOOKMARK_LAG: i64 = 1_000;

/// How far this process has read.
#[derive(Default)]
pub(super) struct Collector {
    position: i64,
}

impl Collector {
    /// Reads to the end of the history; true when there is something new to tell.
    pub(super) async fn collect(&mut self, house: &House) -> Result<bool> {
        let mut any = false;
        loop {
            let (position, config) = (self.position, house.config.clone());
            let (reading, bookmark, new) = house
                .store
                .read(move |sql| {
                    let bookmark = notices::bookmark(sql)?;
                    let reading = notices::read_on(sql, position.max(bookmark), SPAN)?;
                    let mut new = Vec::new();
                    for event in &reading.events {
                        new.extend(told_of(sql, &config, event)?);
                    }
                    Ok((reading, bookmark, new))
                })
                .await?;
            any |= !new.is_empty();
            if !new.is_empty() || reading.upto - bookmark >= BOOKMARK_LAG {
                let upto = reading.upto;
                house
                    .store
                    .write_quietly(move |sql| notices::take_up(sql, &new, upto, now_ms()))
                    .await?;
            }
            self.position = reading.upto;
            house.store.pace().has_read("notices", reading.upto);
            if !reading.more {
                return Ok(any);
            }
        }
    }
}

/// The notices that an event gives rise to.
fn told_of(sql: &mut dyn Sql, config: &Config, event: &Event) -> Result<Vec<NewNotice>> {
    let occasion = Occasion::of_event(&event.kind, event.at_ms, &event.data);
    let (occasion, id) = match (occasion, &event.session_id) {
        (Some(Occasion::Digest), _) => return digest(sql, config, event),
        (Some(occasion), Some(id)) => (occasion, id),
        _ => return Ok(Vec::new()),
    };
    // A session may have been removed since.
    let Some(mut session) = sessions::get(sql, id)? else {
        return Ok(Vec::new());
    };
    if session.parent_session_id.is_some() {
        if !occasion.is_told_of_sub_agents() {
            return Ok(Vec::new());
        }
        let root = sessions::root(sql, id)?;
        session = sessions::expect(sql, &root)?;
    }
    let listeners = listeners(&session, config, occasion);
    if listeners.is_empty() {
        return Ok(Vec::new());
    }
    let body = serde_json::to_string(&message(&session, occasion, event))?;
    let notice = |(target, lane): (String, String)| NewNotice {
        id: new_id(),
        session_id: Some(session.id.clone()),
        target,
        lane,
        occasion,
        event_seq: event.seq,
        body: body.clone(),
    };
    Ok(listeners.into_iter().map(notice).collect())
}

/// The digest of the moment of its tick, for each who gets it.
fn digest(sql: &mut dyn Sql, config: &Config, event: &Event) -> Result<Vec<NewNotice>> {
    let span = Span {
        since_ms: event.at_ms - config.digest.since.as_millis(),
        until_ms: event.at_ms,
    };
    let digest = Digest::of(sql, span)?;
    let zone = config.digest.zone().unwrap_or(TimeZone::UTC);
    let paper = Paper::of(&digest, &zone);
    let facts = serde_json::to_value(&digest)?;
    let message = DigestMessage::new(iso(event.at_ms), &paper.headline, &paper.text(), facts);
    let body = serde_json::to_string(&message)?;
    let notice = |target: &String| NewNotice {
        id: new_id(),
        session_id: None,
        target: target.clone(),
        lane: target.clone(),
        occasion: Occasion::Digest,
        event_seq: event.seq,
        body: body.clone(),
    };
    Ok(config.digest.notify.iter().map(notice).collect())
}

/// Who wants to hear of an occasion: the target, and the receiver that it shares with others.
fn listeners(session: &Session, config: &Config, occasion: Occasion) -> BTreeSet<(String, String)> {
    let named = session.request["notify"].as_array().into_iter().flatten();
    let wants = |name: &&str| {
        // A target that is not there any more is owed it: it may come back with the next start.
        let target = config.notify.get(*name);
        target.is_none_or(|target| target.on.contains(&occasion))
    };
    let named = named.filter_map(|name| name.as_str()).filter(wants);
    let mut listeners: BTreeSet<_> = named
        .map(|name| (name.to_owned(), name.to_owned()))
        .collect();
    if let Some(url) = session.request["callback_url"].as_str() {
        let origin = address::read(url).map(|url| address::origin(&url));
        let lane = format!("{CALLBACK} {}", origin.unwrap_or_default());
        listeners.insert((CALLBACK.to_owned(), lane));
    }
    listeners
}

fn message(session: &Session, occasion: Occasion, event: &Event) -> Message {
    let ended = event.kind.strip_prefix("session.");
    let status = match occasion {
        Occasion::Ended => ended.unwrap_or(session.status.as_str()),
        Occasion::AwaitingHuman => "awaiting_human",
        Occasion::Parked | Occasion::Budget | Occasion::Digest => session.status.as_str(),
    };
    let labels = serde_json::from_value(session.request["labels"].clone());
    let started_ms = session.started_at_ms.unwrap_or(session.created_at_ms);
    let mut facts = MessageFacts {
        session_id: session.id.clone(),
        status: status.to_owned(),
        objective: session.objective.clone(),
        agent: session.agent.clone(),
        trigger: session.trigger.to_string(),
        origin: session.origin.clone(),
        labels: labels.unwrap_or_default(),
        iterations: session.iteration_count,
        max_iterations: session.max_iterations,
        cost_usd: session.cost_usd,
        duration_ms: (event.at_ms - started_ms).max(0),
        ..MessageFacts::default()
    };
    match occasion {
        Occasion::Ended => {
            facts.end_reason = session.end_reason.map(|reason| reason.to_string());
            facts.end_detail = session.end_detail.clone();
            facts.verified = session.verified.map(|verified| verified.to_string());
            facts.answer = session.final_answer.clone();
        }
        Occasion::AwaitingHuman => {
            let asking = event.session_id.as_deref().unwrap_or(&session.id);
            facts.asked = Some(Question::of_event(asking, &event.data));
        }
        Occasion::Parked => {
            facts.parked_until = event.data["until_ms"].as_i64().map(iso);
            facts.parked_because = event.data["reason"].as_str().map(str::to_owned);
        }
        Occasion::Budget => facts.budget = Budget::of_event(&event.data),
        Occasion::Digest => {}
    }
    Message::new(occasion, iso(event.at_ms), facts)
}
