//! An earlier session that is open: the new one is skipped, waits, or takes its place.

use super::*;
use ralphd::model::session::{EndReason, SessionStep};
use ralphd::model::task::TaskStep;
use ralphd::store::sessions::Ending;
use ralphd::store::tasks::{self, Claim, Settlement};

const START: &str = "2026-11-16T12:00:00Z";

async fn after_ticks(state: &Path, overlap: &str, count: i64) -> Clockwork {
    let more = format!("overlap = '{overlap}'");
    let clockwork = Clockwork::open(state, &schedule("minutely", "* * * * *", &more));
    for minute in 0..=count {
        clockwork.look(at(START) + minute * MINUTE).await;
    }
    clockwork
}

impl Clockwork {
    async fn claim(&self) -> Option<Claim> {
        let now_ms = at(START) + HOUR;
        let claimed = self
            .store
            .write(move |sql| tasks::claim(sql, "w", now_ms + HOUR, now_ms));
        claimed.await.unwrap()
    }

    async fn complete(&self, claim: Claim) {
        let ending = Ending::new(SessionStep::Complete, EndReason::Completed, None);
        let now_ms = at(START) + HOUR;
        self.write(move |sql| {
            let settlement = Settlement::default();
            tasks::settle(sql, &claim, TaskStep::Complete, &settlement, now_ms)?;
            sessions::end(sql, &claim.session_id, &ending, now_ms)
        })
        .await;
    }

    async fn cancel(&self, id: &str) {
        let id = id.to_owned();
        self.write(move |sql| sessions::cancel(sql, &id, at(START) + HOUR).map(drop))
            .await;
    }

    fn statuses(&self) -> Vec<String> {
        let database = self.database();
        let mut statement = database
            .prepare("SELECT status FROM sessions ORDER BY id")
            .unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }
}

fn session_of(tick: &Row) -> &str {
    tick.3.as_deref().unwrap()
}

#[tokio::test]
async fn skip() {
    let state = tempfile::tempdir().unwrap();
    let clockwork = after_ticks(state.path(), "skip", 3).await;
    let ticks = clockwork.ticks("minutely");
    assert_eq!(
        clockwork.outcomes("minutely"),
        ["started", "skipped", "skipped"]
    );
    let reason = format!(
        "session {} of this schedule is still open",
        session_of(&ticks[0])
    );
    assert_eq!(ticks[1].2.as_deref(), Some(reason.as_str()));
    let claim = clockwork.claim().await.unwrap();
    clockwork.complete(claim).await;
    clockwork.look(at(START) + 4 * MINUTE).await;
    assert_eq!(clockwork.outcomes("minutely")[3], "started");
    let told = "SELECT count(*) FROM events WHERE type = 'schedule.ticked'";
    assert_eq!(clockwork.count(told), 4);
}

#[tokio::test]
async fn queue_keeps_the_order_also_when_one_in_the_middle_goes() {
    let state = tempfile::tempdir().unwrap();
    let clockwork = after_ticks(state.path(), "queue", 4).await;
    let ticks = clockwork.ticks("minutely");
    assert_eq!(clockwork.outcomes("minutely"), ["started"; 4]);
    let first = clockwork.claim().await.unwrap();
    assert_eq!(first.session_id, session_of(&ticks[0]));
    assert!(clockwork.claim().await.is_none(), "the second waits");
    clockwork.cancel(session_of(&ticks[1])).await;
    assert!(
        clockwork.claim().await.is_none(),
        "the third waits for the first now"
    );
    clockwork.complete(first).await;
    let third = clockwork.claim().await.unwrap();
    assert_eq!(third.session_id, session_of(&ticks[2]));
    assert!(clockwork.claim().await.is_none(), "the fourth waits");
    clockwork.complete(third).await;
    let fourth = clockwork.claim().await.unwrap();
    assert_eq!(fourth.session_id, session_of(&ticks[3]));
}

#[tokio::test]
async fn a_queued_one_that_is_paused_stays_so() {
    let state = tempfile::tempdir().unwrap();
    let clockwork = after_ticks(state.path(), "queue", 2).await;
    let ticks = clockwork.ticks("minutely");
    let second = session_of(&ticks[1]).to_owned();
    let (paused, resumed) = (second.clone(), second.clone());
    let now_ms = at(START) + HOUR;
    clockwork
        .write(move |sql| sessions::pause(sql, &paused, false, now_ms).map(drop))
        .await;
    let first = clockwork.claim().await.unwrap();
    clockwork.complete(first).await;
    assert!(clockwork.claim().await.is_none());
    clockwork
        .write(move |sql| sessions::resume(sql, &resumed, now_ms).map(drop))
        .await;
    assert_eq!(clockwork.claim().await.unwrap().session_id, second);
}

#[tokio::test]
async fn cancel_takes_its_place() {
    let state = tempfile::tempdir().unwrap();
    let clockwork = after_ticks(state.path(), "cancel", 2).await;
    assert_eq!(clockwork.outcomes("minutely"), ["started"; 2]);
    assert_eq!(clockwork.statuses(), ["cancelled", "created"]);
    // One whose agent is at work is ended by whoever runs it; the new one waits for that.
    let second = clockwork.claim().await.unwrap();
    clockwork.look(at(START) + 3 * MINUTE).await;
    assert_eq!(clockwork.statuses(), ["cancelled", "executing", "created"]);
    let wish = "SELECT count(*) FROM sessions WHERE control = 'cancel'";
    assert_eq!(clockwork.count(wish), 1);
    assert!(clockwork.claim().await.is_none(), "the third waits");
    clockwork.complete(second).await;
    let third = clockwork.claim().await.unwrap();
    assert_eq!(
        third.session_id,
        session_of(&clockwork.ticks("minutely")[2])
    );
}

#[tokio::test]
async fn runs_that_are_caught_up_wait_for_each_other() {
    for overlap in ["skip", "cancel"] {
        let state = tempfile::tempdir().unwrap();
        let more = format!("overlap = '{overlap}'\ncatch_up = 'all'");
        let clockwork = Clockwork::open(state.path(), &schedule("hourly", "@hourly", &more));
        clockwork.look(at(START)).await;
        clockwork.look(at(START) + 3 * HOUR + 5 * MINUTE).await;
        assert_eq!(clockwork.outcomes("hourly"), ["started"; 3], "{overlap}");
        let open = clockwork.statuses();
        assert_eq!(open, ["created"; 3], "{overlap}");
        for tick in clockwork.ticks("hourly") {
            let claim = clockwork.claim().await.unwrap();
            assert_eq!(claim.session_id, session_of(&tick));
            assert!(clockwork.claim().await.is_none());
            clockwork.complete(claim).await;
        }
    }
}
