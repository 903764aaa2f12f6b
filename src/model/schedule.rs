//! What is to be done with the ticks of a schedule: which are due, which were missed, what an earlier run that is still open means for them.
//! Pure: the rows and the time are passed in, and nothing is started here.

use super::cron::Calendar;
use super::request::Request;
use super::words::words;
use jiff::Timestamp;

/// The name of the digest among the schedules: one that no schedule of the configuration can have.
pub const DIGEST: &str = "[digest]";
/// A tick is on time for so long. Whoever starts them looks twice as often.
pub const GRACE_MS: i64 = 60_000;
/// So many missed ticks are run after all, by `catch_up = "all"`.
pub const MAX_CAUGHT_UP: usize = 100;
/// So many missed ticks are written down one by one.
pub const MAX_SKIPPED: usize = 1_000;
/// A clock that goes back further than this has been set; by less, the ticks of that time are simply over.
pub const CLOCK_SET_BACK_MS: i64 = 60_000;

words! {
    /// What a tick does while an earlier session of its schedule is open.
    #[derive(Default)]
    pub enum Overlap {
        #[default]
        Skip => "skip",
        Queue => "queue",
        Cancel => "cancel",
    }
}

words! {
    /// What becomes of ticks that came due while nobody was there to start them.
    #[derive(Default)]
    pub enum CatchUp {
        #[default]
        None => "none",
        One => "one",
        All => "all",
    }
}

words! {
    /// What came of a tick.
    pub enum TickOutcome {
        Started => "started",
        Skipped => "skipped",
        Refused => "refused",
    }
}

/// How a schedule stands in its row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Its ticks count from here on: it was not there before, or was another.
    pub since_ms: i64,
    pub last_tick_ms: Option<i64>,
    /// What came due before it was let go on was missed, however recent.
    pub resumed_at_ms: Option<i64>,
    pub paused: bool,
}

impl Standing {
    /// All ticks up to here are settled.
    pub fn settled_until_ms(&self) -> i64 {
        self.since_ms.max(self.last_tick_ms.unwrap_or(i64::MIN))
    }
}

/// What is wanted of one tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    Run,
    /// It was missed, and is one of several to be run after all.
    CatchUp,
    Skip(String),
}

/// A tick and what is wanted of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tick {
    pub due_at_ms: i64,
    pub wish: Wish,
}

/// Missed ticks beyond the maximum: from the first to the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    pub from_ms: i64,
    pub until_ms: i64,
}

/// What a look at a schedule comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    Nothing,
    /// The clock was set back: ticks count from now on. Those that were started in the time that comes again are not started twice.
    ClockSetBack,
    /// In their order.
    Ticks(Vec<Tick>, Option<Dropped>),
}

/// What is due now.
pub fn due(calendar: &Calendar, standing: &Standing, catch_up: CatchUp, now_ms: i64) -> Due {
    let settled_ms = standing.settled_until_ms();
    if standing.paused {
        return Due::Nothing;
    }
    if settled_ms > now_ms + CLOCK_SET_BACK_MS {
        return Due::ClockSetBack;
    }
    let paused_until_ms = standing.resumed_at_ms.unwrap_or(i64::MIN);
    let late_ms = (now_ms - GRACE_MS).max(paused_until_ms).min(now_ms);
    let (mut ticks, dropped) = missed(calendar, settled_ms, late_ms, catch_up);
    let on_time = Moments {
        calendar,
        after_ms: settled_ms.max(late_ms),
        until_ms: now_ms,
    };
    ticks.extend(on_time.map(|due_at_ms| Tick {
        due_at_ms,
        wish: Wish::Run,
    }));
    match ticks.is_empty() {
        true => Due::Nothing,
        false => Due::Ticks(ticks, dropped),
    }
}

fn missed(
    calendar: &Calendar,
    after_ms: i64,
    until_ms: i64,
    catch_up: CatchUp,
) -> (Vec<Tick>, Option<Dropped>) {
    let moments = |after_ms, until_ms| Moments {
        calendar,
        after_ms,
        until_ms,
    };
    // The newest one stands for all.
    let newest = calendar
        .last_ms(after_ms, until_ms)
        .filter(|_| catch_up == CatchUp::One);
    let listed_until_ms = newest.map_or(until_ms, |newest| newest - 1);
    let most = match catch_up {
        CatchUp::All => MAX_CAUGHT_UP,
        CatchUp::None | CatchUp::One => MAX_SKIPPED,
    };
    let listed: Vec<i64> = moments(after_ms, listed_until_ms).take(most).collect();
    let listed_to_ms = listed.last().copied().unwrap_or(after_ms);
    let dropped = moments(listed_to_ms, listed_until_ms).next();
    let dropped = dropped.map(|from_ms| Dropped {
        from_ms,
        until_ms: calendar
            .last_ms(listed_to_ms, listed_until_ms)
            .unwrap_or(from_ms),
    });
    let wish = match catch_up {
        CatchUp::All => Wish::CatchUp,
        CatchUp::None => Wish::Skip("missed: no daemon ran, or the schedule was paused".to_owned()),
        CatchUp::One => Wish::Skip("missed: one run makes up for all of them".to_owned()),
    };
    let mut ticks: Vec<Tick> = listed
        .into_iter()
        .map(|due_at_ms| Tick {
            due_at_ms,
            wish: wish.clone(),
        })
        .collect();
    ticks.extend(newest.map(|due_at_ms| Tick {
        due_at_ms,
        wish: Wish::Run,
    }));
    (ticks, dropped)
}

/// The moments of a calendar after one time and up to another.
struct Moments<'a> {
    calendar: &'a Calendar,
    after_ms: i64,
    until_ms: i64,
}

impl Iterator for Moments<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        let next = self.calendar.next_ms(self.after_ms);
        let next = next.filter(|next| *next <= self.until_ms)?;
        self.after_ms = next;
        Some(next)
    }
}

/// How a tick goes about an earlier session of its schedule that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtOverlap {
    /// It does not start.
    Skip,
    /// It starts when the other has ended.
    Wait,
    /// The other is cancelled.
    Replace,
}

impl Overlap {
    /// Several runs that are caught up wait for each other in any case: else the first would be the only one, or the last.
    pub fn step(self, wish: &Wish) -> AtOverlap {
        match (wish, self) {
            (Wish::CatchUp, _) | (_, Overlap::Queue) => AtOverlap::Wait,
            (_, Overlap::Skip) => AtOverlap::Skip,
            (_, Overlap::Cancel) => AtOverlap::Replace,
        }
    }
}

/// The moment of a tick's start: spread over `jitter_ms` by its schedule's name and itself, always the same for the same tick.
pub fn spread_ms(name: &str, due_at_ms: i64, jitter_ms: i64) -> i64 {
    let Ok(jitter) = u64::try_from(jitter_ms) else {
        return due_at_ms;
    };
    // FNV-1a, and a last stir: names and ticks differ in few bits.
    let bytes = name.bytes().chain(due_at_ms.to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let stirred = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let share = (stirred ^ stirred >> 32) % (jitter + 1);
    due_at_ms + share as i64
}

/// The keys that a schedule sets itself, for each tick anew.
pub fn key_of_its_own(request: &Request) -> Option<&'static str> {
    let given = [
        ("idempotency_key", request.idempotency_key.is_some()),
        ("not_before", request.not_before.is_some()),
    ];
    given
        .into_iter()
        .find(|(_, given)| *given)
        .map(|(key, _)| key)
}

/// A moment as it is written in a time zone, with its offset from UTC.
pub fn written(at_ms: i64, calendar: &Calendar) -> String {
    match Timestamp::from_millisecond(at_ms) {
        Ok(at) => at
            .to_zoned(calendar.zone.clone())
            .strftime("%Y-%m-%dT%H:%M:%S%:z")
            .to_string(),
        Err(_) => at_ms.to_string(),
    }
}

#[cfg(test)]
mod tests;
