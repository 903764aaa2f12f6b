//! A schedule as it is worked by: its configuration with the expression read and the zone found, and the request of each tick.

use crate::clock::{iso, new_id};
use crate::config::{self, Config, ScheduledRequest};
use crate::files::{Unreadable, read_regular};
use crate::model::cron::Calendar;
use crate::model::request::Request;
use crate::model::schedule::{CatchUp, Overlap, key_of_its_own, spread_ms};
use crate::model::session::Trigger;
use crate::store::sessions::NewSession;
use crate::trigger::intake::{Origin, Reception, parse};
use anyhow::{Context, Result, anyhow, bail};
use jiff::Timestamp;
use std::path::Path;

/// A schedule, ready to be asked.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub name: String,
    pub calendar: Calendar,
    /// As people call it.
    pub zone_name: String,
    /// What makes its ticks: where this is another, it is another schedule.
    pub definition: String,
    pub overlap: Overlap,
    pub catch_up: CatchUp,
    pub jitter_ms: i64,
    pub enabled: bool,
    request: ScheduledRequest,
}

/// All schedules of a configuration, in its order.
pub fn all(config: &Config) -> Result<Vec<Schedule>> {
    config.schedules.iter().map(Schedule::of_config).collect()
}

/// The one of this name.
pub fn named(config: &Config, name: &str) -> Result<Option<Schedule>> {
    let found = config
        .schedules
        .iter()
        .find(|schedule| schedule.name == name);
    found.map(Schedule::of_config).transpose()
}

impl Schedule {
    fn of_config(config: &config::Schedule) -> Result<Self> {
        let name = &config.name;
        let zone = config
            .zone()
            .map_err(|message| anyhow!("schedule {name}: timezone: {message}"))?;
        let zone_name = match (&config.timezone, zone.iana_name()) {
            (Some(given), _) => given.clone(),
            (None, Some(own)) => own.to_owned(),
            (None, None) => "local time".to_owned(),
        };
        let expression = config
            .cron
            .parse()
            .with_context(|| format!("schedule {name}: cron"))?;
        Ok(Self {
            definition: format!("{expression} {zone_name}"),
            calendar: Calendar { expression, zone },
            zone_name,
            name: name.clone(),
            overlap: config.overlap,
            catch_up: config.catch_up,
            jitter_ms: config.jitter.as_millis(),
            enabled: config.enabled,
            request: config.request.clone(),
        })
    }

    /// The session of the tick that was due at `due_at_ms`; nothing is stored yet.
    pub(super) fn prepare(
        &self,
        reception: Reception<'_>,
        due_at_ms: i64,
        at_ms: i64,
    ) -> Result<NewSession> {
        let mut request = self.request(reception.config.inbox.max_bytes)?;
        request.idempotency_key = Some(format!("cron:{}:{}", self.name, iso(due_at_ms)));
        if self.jitter_ms > 0 {
            let start_ms = spread_ms(&self.name, due_at_ms, self.jitter_ms);
            request.not_before = Some(Timestamp::from_millisecond(start_ms)?);
        }
        let new = reception.prepare(request, self.origin())?;
        Ok(NewSession {
            created_at_ms: at_ms,
            ..new
        })
    }

    /// The request of a start that no tick asks for. Ticks count its session as one of the schedule's all the same.
    pub fn extra_request(&self, max_bytes: u64) -> Result<(Request, Origin)> {
        let mut request = self.request(max_bytes)?;
        request.idempotency_key = Some(format!("cron:{}:now:{}", self.name, new_id()));
        Ok((request, self.origin()))
    }

    fn origin(&self) -> Origin {
        Origin {
            stem: Some(self.name.clone()),
            ..Origin::new(Trigger::Cron)
        }
    }

    fn request(&self, max_bytes: u64) -> Result<Request> {
        match &self.request {
            ScheduledRequest::Inline(request) => Ok((**request).clone()),
            ScheduledRequest::File(path) => {
                read(path, max_bytes).with_context(|| format!("the request in {}", path.display()))
            }
        }
    }
}

fn read(path: &Path, max_bytes: u64) -> Result<Request> {
    let bytes = read_regular(path, max_bytes).map_err(|problem| match problem {
        Unreadable::Missing => anyhow!("there is no such file"),
        problem => anyhow!("{problem}"),
    })?;
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("it is not UTF-8"))?;
    let request = parse(&text)?;
    match key_of_its_own(&request) {
        None => Ok(request),
        Some(key) => bail!("{key}: is set by the schedule, for each start anew; leave it out"),
    }
}
