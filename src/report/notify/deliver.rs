//! One try to deliver a notice, and what is written down of it. Who is told, and how, is looked up anew for every try: a mended
//! configuration counts for what is owed already.

use super::post::{Posting, Ways};
use super::{RETRY, exec, ntfy, secret, slack, webhook};
use crate::clock::now_ms;
use crate::config::Target;
use crate::config::notify::TargetKind;
use crate::engine::House;
use crate::model::notice::{CALLBACK, Refusal, Told, next_try_ms};
use crate::store::driver::Sql;
use crate::store::notices::{self, Notice, Tried};
use std::sync::Arc;
use tokio::time::sleep;

/// Carries notices to their targets.
pub(super) struct Courier {
    house: Arc<House>,
    ways: Ways,
}

impl Courier {
    pub(super) fn new(house: Arc<House>) -> Self {
        Self {
            house,
            ways: Ways::default(),
        }
    }

    /// Tries once, and writes down what came of it. It does not return before that is on disk, so that nothing is sent again meanwhile.
    pub(super) async fn carry(&self, notice: &Notice, callback_url: Option<String>) {
        let tried = match self.attempt(notice, callback_url.as_deref()).await {
            Ok(()) => Tried::Delivered,
            Err(refusal) => self.after(notice, &refusal),
        };
        if let Tried::GivenUp { error } = &tried {
            let (session, target) = (&notice.session_id, &notice.target);
            tracing::warn!(session, target, "a notice is given up: {error}");
        }
        while let Err(error) = self.write_down(notice, &tried).await {
            tracing::error!("what came of a notice cannot be written: {error:#}");
            sleep(RETRY).await;
        }
    }

    async fn write_down(&self, notice: &Notice, tried: &Tried) -> anyhow::Result<()> {
        let gives_up = matches!(tried, Tried::GivenUp { .. });
        let (notice, tried) = (notice.clone(), tried.clone());
        let settle = move |sql: &mut dyn Sql| notices::settle(sql, &notice, &tried, now_ms());
        match gives_up {
            // It has an event.
            true => self.house.store.write_for_watchers(settle).await,
            false => self.house.store.write_quietly(settle).await,
        }
    }

    fn after(&self, notice: &Notice, refusal: &Refusal) -> Tried {
        let config = &self.house.config;
        let backoff = match config.notify.get(&notice.target) {
            Some(target) => target.backoff,
            None => config.callbacks.backoff,
        };
        let attempts = u32::try_from(notice.attempt_count + 1).unwrap_or(u32::MAX);
        let next = next_try_ms(
            backoff.as_millis(),
            attempts,
            refusal,
            seed_of(&notice.id),
            now_ms(),
        );
        let error = refusal.reason.clone();
        match next {
            Some(at_ms) => Tried::Again { at_ms, error },
            None => Tried::GivenUp { error },
        }
    }

    async fn attempt(&self, notice: &Notice, callback_url: Option<&str>) -> Result<(), Refusal> {
        if notice.target == CALLBACK {
            let url = callback_url.unwrap_or_default();
            let posting = self.callback(notice, url)?;
            return self.ways.post(posting).await;
        }
        let name = &notice.target;
        match self.house.config.notify.get(name) {
            None => Err(format!("[notify.{name}] is not in the configuration any more").into()),
            Some(target) => self.tell(notice, target).await,
        }
    }

    fn callback(&self, notice: &Notice, url: &str) -> Result<Posting, Refusal> {
        let callbacks = &self.house.config.callbacks;
        let key = secret::read(
            &self.house.secrets,
            callbacks.secret_env.as_deref(),
            callbacks.secret_file.as_deref(),
        )?;
        let mut posting = Posting::new(url, notice.body.clone(), callbacks.timeout)?;
        posting.allow_private = callbacks.allow_private;
        posting.section = "[callbacks]".to_owned();
        webhook::sign(posting, notice, key.as_deref())
    }

    async fn tell(&self, notice: &Notice, target: &Target) -> Result<(), Refusal> {
        let vault = &self.house.secrets;
        let url = || secret::address(vault, target);
        let message = || -> Result<Told, Refusal> {
            Told::read(notice.occasion, &notice.body)
                .map_err(|error| format!("its text cannot be read: {error}").into())
        };
        let mut posting = match target.kind {
            TargetKind::Webhook => {
                let (variable, file) = (&target.secret_env, &target.secret_file);
                let key = secret::read(vault, variable.as_deref(), file.as_deref())?;
                let posting = Posting::new(&url()?, notice.body.clone(), target.timeout)?;
                webhook::sign(posting, notice, key.as_deref())?
            }
            TargetKind::Ntfy => {
                let (variable, file) = (&target.token_env, &target.token_file);
                let token = secret::read(vault, variable.as_deref(), file.as_deref())?;
                ntfy::posting(&url()?, &message()?, target, token.as_deref())?
            }
            TargetKind::Slack => Posting::new(&url()?, slack::body(&message()?), target.timeout)?,
            TargetKind::Exec => return exec::run(&self.house, notice, target).await,
        };
        posting.allow_private = target.allow_private;
        posting.section = format!("[notify.{}]", notice.target);
        self.ways.post(posting).await
    }
}

/// Another number for every notice.
fn seed_of(id: &str) -> u64 {
    let digits: String = id
        .chars()
        .rev()
        .filter(|letter| *letter != '-')
        .take(12)
        .collect();
    u64::from_str_radix(&digits, 16).unwrap_or(0)
}
