//! One delivery is one session: at once, again, under another name, by another way in, and after a restart.

use super::*;
use ralphd::store::deliveries::KEPT_MS;
use std::sync::Arc;

const BODY: &str = r#"{"text": "once", "n": 1}"#;

/// Sends all of them at the same time; the ids that the senders got, and how many were told that theirs was the first.
async fn at_once(desk: Arc<Desk>, hook: &'static str, posts: Vec<Post>) -> (Vec<String>, usize) {
    let sending: Vec<_> = posts
        .into_iter()
        .map(|post| {
            let desk = desk.clone();
            tokio::spawn(async move { desk.send(hook, &post).await })
        })
        .collect();
    let (mut ids, mut first) = (Vec::new(), 0);
    for sent in sending {
        match sent.await.unwrap() {
            Received::Started { session_id } => {
                first += 1;
                ids.push(session_id);
            }
            Received::Already { session_id } => ids.push(session_id.unwrap()),
            other => panic!("{other:?}"),
        }
    }
    ids.sort();
    ids.dedup();
    (ids, first)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_at_once_are_one_session_and_all_senders_get_its_id() {
    let desk = Arc::new(Desk::open(site()));
    let again = |post: Post| vec![post; 100];
    let renamed =
        (0..100).map(|n| Post::github(GITHUB_SECRET, &format!("r{n}"), r#"{"text": "r"}"#));
    let cases = [
        ("github", again(Post::github(GITHUB_SECRET, "g1", BODY))),
        // Its id is not signed: whoever saw one could send it again under a hundred others.
        ("github", renamed.collect()),
        (
            "standard",
            again(Post::standard(STANDARD_SECRET, "s1", BODY)),
        ),
        (
            "bearer",
            again(Post::bearer(BEARER_SECRET, BODY).with("idempotency-key", "k1")),
        ),
        (
            "open",
            again(Post::plain(BODY).with("idempotency-key", "k2")),
        ),
    ];
    for (number, (hook, posts)) in cases.into_iter().enumerate() {
        let (ids, first) = at_once(desk.clone(), hook, posts).await;
        assert_eq!((ids.len(), first), (1, 1), "{hook}");
        assert_eq!(desk.sessions(), number as i64 + 1, "{hook}");
    }
    // Without any id, two are two.
    let (ids, first) = at_once(
        desk.clone(),
        "bearer",
        vec![Post::bearer(BEARER_SECRET, BODY); 5],
    )
    .await;
    assert_eq!((ids.len(), first), (5, 5));
}

#[tokio::test]
async fn it_is_known_after_a_restart_for_days_and_when_its_session_is_gone() {
    let desk = Desk::open(site());
    let post = Post::github(GITHUB_SECRET, "g1", BODY);
    let id = desk.started("github", &post).await;
    let desk = desk.reopened();
    assert_eq!(desk.send("github", &post).await, already(&id));
    let next_day = post.clone().at(NOW_MS + 25 * 3600 * 1000);
    assert_eq!(desk.send("github", &next_day).await, already(&id));
    // Another hook is another receiver.
    desk.refused("bearer", &post).await;

    let database = rusqlite::Connection::open(desk.site.state().join("ralphd.db")).unwrap();
    let delete = "PRAGMA foreign_keys = ON; DELETE FROM sessions";
    database.execute_batch(delete).unwrap();
    let gone = Received::Already { session_id: None };
    assert_eq!(desk.send("github", &post).await, gone);

    let later = Post::github(GITHUB_SECRET, "g2", r#"{"text": "later"}"#).at(NOW_MS + KEPT_MS + 1);
    desk.started("github", &later).await;
    let left = "SELECT delivery_id FROM deliveries ORDER BY delivery_id DESC";
    let left: Vec<String> = desk.site.column(left, []);
    assert_eq!((left.len(), left[0].as_str()), (2, "id:g2"), "{left:?}");
}

#[tokio::test]
async fn it_is_new_again_after_a_week_also_where_nothing_came_since() {
    let desk = Desk::open(site());
    let post = Post::github(GITHUB_SECRET, "g1", BODY);
    let first = desk.started("github", &post).await;
    let week = post.clone().at(NOW_MS + KEPT_MS);
    assert_eq!(desk.send("github", &week).await, already(&first));
    let later = post.at(NOW_MS + KEPT_MS + 1);
    let second = desk.started("github", &later).await;
    assert_ne!(second, first);
    assert_eq!(desk.send("github", &later).await, already(&second));
}

#[tokio::test]
async fn a_key_of_ones_own_takes_the_place_of_the_senders_id() {
    let site = site().configure(
        "[hooks.per_issue]
        verify = 'github'
        secret_env = 'GITHUB_HOOK'
        dedupe = '{{ payload.n }}'
        request = { objective = 'Look' }
        ",
    );
    let desk = Desk::open(site);
    let send = async |id: &str, body: &str| {
        let post = Post::github(GITHUB_SECRET, id, body);
        desk.send("per_issue", &post).await
    };
    let Received::Started { session_id } = send("a", r#"{"n": 1}"#).await else {
        panic!("not started")
    };
    assert_eq!(
        send("b", r#"{"n": 1, "more": 2}"#).await,
        already(&session_id)
    );
    assert!(matches!(
        send("a", r#"{"n": 2}"#).await,
        Received::Started { .. }
    ));
    assert!(matches!(
        send("c", r#"{"n": ""}"#).await,
        Received::Refused(Refusal::Malformed(_))
    ));
    assert!(matches!(
        send("d", "{}").await,
        Received::Refused(Refusal::Malformed(_))
    ));
}

#[tokio::test]
async fn one_key_for_all_ways_in() {
    let site = site().configure(
        "[hooks.keyed]
        verify = 'github'
        secret_env = 'GITHUB_HOOK'
        request = { objective = 'Look', idempotency_key = 'issue-{{ payload.n }}' }
        ",
    );
    let desk = Desk::open(site);
    let keyed = desk
        .started("keyed", &Post::github(GITHUB_SECRET, "a", r#"{"n": 7}"#))
        .await;
    let sent = Post::bearer(BEARER_SECRET, BODY).with("idempotency-key", "shared");
    let shared = desk.started("bearer", &sent).await;
    for (key, id) in [("issue-7", &keyed), ("shared", &shared)] {
        let submit = ["submit", "Look", "--idempotency-key", key];
        let file = desk.site.file("request.md");
        std::fs::write(&file, "Look").unwrap();
        let submit = submit.map(|word| {
            if word == "Look" {
                file.to_str().unwrap()
            } else {
                word
            }
        });
        let printed = desk.site.ralphd(&submit).done();
        assert_eq!(printed.trim(), *id, "{key}");
    }
    // And the other way round, under an id that no hook has seen.
    let file = desk.site.file("request.md");
    let submit = [
        "submit",
        file.to_str().unwrap(),
        "--idempotency-key",
        "issue-8",
    ];
    let first = desk.site.ralphd(&submit).done();
    let post = Post::github(GITHUB_SECRET, "b", r#"{"n": 8}"#);
    for _ in 0..2 {
        assert_eq!(desk.send("keyed", &post).await, already(first.trim()));
    }
    assert_eq!(desk.sessions(), 3);
}
