//! What is to be told: taken up once, kept until it is told, and by numbers that stand for one event each.

use super::*;
use ralphd::model::notice::{NoticeStatus, Occasion};
use ralphd::store::notices::{self, NewNotice, Tried};

fn notice(session: &str, event_seq: i64) -> NewNotice {
    NewNotice {
        id: new_id(),
        session_id: Some(session.to_owned()),
        target: "ops".to_owned(),
        lane: "ops".to_owned(),
        occasion: Occasion::Ended,
        event_seq,
        body: "{}".to_owned(),
    }
}

/// A session that has ended and was reported.
async fn ended(opened: &Opened) -> String {
    let id = opened.create(&new_session()).await;
    let claim = opened.claim("w").await.unwrap();
    opened.complete(claim).await.unwrap();
    let reported = id.clone();
    let report = move |sql: &mut dyn Sql| sessions::set_reported(sql, &reported, now_ms());
    opened.store.write(report).await.unwrap();
    id
}

#[tokio::test]
async fn two_who_take_up_the_same_event_make_one_notice() {
    let opened = open();
    let id = ended(&opened).await;
    let take_up = move |sql: &mut dyn Sql| {
        notices::take_up(sql, &[notice(&id, 3)], 5, 100)?;
        notices::take_up(sql, &[notice(&id, 3), notice(&id, 4)], 4, 100)?;
        let numbers = notices::of_session(sql, &id)?;
        let numbers: Vec<i64> = numbers.iter().map(|notice| notice.event_seq).collect();
        Ok((numbers, notices::bookmark(sql)?))
    };
    let taken = opened.store.write(take_up).await.unwrap();
    assert_eq!(taken, (vec![3, 4], 5));
}

#[tokio::test]
async fn what_is_owed_is_due_by_lane_and_time_until_it_is_settled() {
    let opened = open();
    let id = ended(&opened).await;
    let work = move |sql: &mut dyn Sql| {
        let other = NewNotice {
            lane: "callback http://a.example".to_owned(),
            target: "callback".to_owned(),
            ..notice(&id, 1)
        };
        notices::take_up(sql, &[notice(&id, 1), notice(&id, 2), other], 2, 100)?;
        let due = notices::due(sql, "ops", 100, 10)?;
        assert_eq!(due.len(), 2);
        let again = Tried::Again {
            at_ms: 500,
            error: "no".to_owned(),
        };
        notices::settle(sql, &due[0].0, &again, 110)?;
        notices::settle(sql, &due[1].0, &Tried::Delivered, 110)?;
        assert_eq!(notices::due(sql, "ops", 499, 10)?.len(), 0);
        let lanes = notices::lanes(sql)?;
        let owed = [("callback http://a.example", 100), ("ops", 500)];
        assert_eq!(lanes, owed.map(|(lane, at_ms)| (lane.to_owned(), at_ms)));
        let again = &notices::due(sql, "ops", 500, 10)?[0].0;
        assert_eq!((again.attempt_count, again.event_seq), (1, 1));
        let gone = Tried::GivenUp {
            error: "gone".to_owned(),
        };
        notices::settle(sql, again, &gone, 510)?;
        // Settled is settled.
        notices::settle(sql, again, &Tried::Delivered, 520)?;
        let all = notices::of_session(sql, &id)?;
        let first = all.iter().find(|one| one.id == again.id).unwrap();
        assert_eq!(first.status, NoticeStatus::GivenUp);
        assert_eq!(first.settled_at_ms, Some(510));
        Ok(())
    };
    opened.store.write(work).await.unwrap();
}

#[tokio::test]
async fn a_session_is_kept_while_somebody_is_owed_word_of_it() {
    let opened = open();
    let id = ended(&opened).await;
    let work = move |sql: &mut dyn Sql| {
        notices::take_up(sql, &[notice(&id, 1)], 1, 100)?;
        let early = sessions::prune(sql, i64::MAX, 10)?.len();
        let owed = notices::due(sql, "ops", 100, 1)?.remove(0).0;
        notices::settle(sql, &owed, &Tried::Delivered, 110)?;
        Ok((early, sessions::prune(sql, i64::MAX, 10)?.len()))
    };
    assert_eq!(opened.store.write(work).await.unwrap(), (0, 1));
}

#[tokio::test]
async fn the_number_of_a_pruned_event_is_not_given_out_again() {
    let opened = open();
    ended(&opened).await;
    let work = move |sql: &mut dyn Sql| {
        let before = events::last(sql)?;
        assert_eq!(sessions::prune(sql, i64::MAX, 10)?.len(), 1);
        let left = events::after(sql, None, 0, 100)?.len();
        Ok((before, events::last(sql)?, left))
    };
    let (before, after, left) = opened.store.write(work).await.unwrap();
    assert_eq!((after, left), (before, 1));
}
