//! What a genuine delivery becomes, and what is not taken although somebody who may has sent it.

use super::*;

#[tokio::test]
async fn each_kind_of_delivery_becomes_a_session() {
    let desk = Desk::open(site());
    let body = r#"{"text": "this"}"#;
    let posts = [
        ("github", Post::github(GITHUB_SECRET, "g1", body)),
        ("standard", Post::standard(STANDARD_SECRET, "s1", body)),
        ("bearer", Post::bearer(BEARER_SECRET, body)),
        ("open", Post::plain(body)),
    ];
    for (hook, post) in &posts {
        let id = desk.started(hook, post).await;
        let sql = "SELECT trigger || ' ' || agent || ' ' || status || ' ' || objective FROM sessions WHERE id = ?1";
        let row: String = desk.site.cell(sql, [&id]).unwrap();
        assert!(
            row.starts_with("webhook worker created Look at [DATA 1]\n\n[DATA 1 from webhook"),
            "{row}"
        );
        assert!(row.contains("```text\nthis\n```"), "{row}");
    }
    assert_eq!(desk.sessions(), 4);
    assert_eq!(desk.hooks.max_bytes("github"), Some(1_048_576));
    assert_eq!(desk.hooks.max_bytes("nobody"), None);
}

#[tokio::test]
async fn githubs_form_and_greeting() {
    let desk = Desk::open(site());
    let form = "payload=%7B%22text%22%3A+%22a+%26+b%22%7D";
    let post = Post::github(GITHUB_SECRET, "f1", form)
        .changed("content-type", Some("application/x-www-form-urlencoded"));
    let id = desk.started("github", &post).await;
    let objective: String = desk
        .site
        .cell("SELECT objective FROM sessions WHERE id = ?1", [&id])
        .unwrap();
    assert!(objective.contains("\na & b\n"), "{objective}");
    let greeting = Post::github(GITHUB_SECRET, "p1", r#"{"zen": "Design for failure."}"#)
        .changed("x-github-event", Some("ping"));
    let received = desk.send("github", &greeting).await;
    assert!(matches!(received, Received::Ignored { .. }), "{received:?}");
    // Who cannot sign cannot greet either.
    let forged = greeting.changed("x-hub-signature-256", None);
    desk.refused("github", &forged).await;
}

#[tokio::test]
async fn filters_and_templates_decide_what_is_taken() {
    let site = Site::with_worker("echo TASK_COMPLETE").configure(
        "[hooks.h]
        verify = 'bearer'
        secret_env = 'BEARER_HOOK'
        filter = \"payload.action == 'opened'\"
        max_bytes = 500
        [hooks.h.request]
        objective = 'Issue {{ payload.issue.number }}: {{ payload.issue.title }}'
        labels = { who = '{{ payload.sender }}' }
        workspace = { session = 'issue-{{ payload.issue.number }}' }
        max_iterations = 3
        verify = 'true'
        ",
    );
    let desk = Desk::open(site);
    let send = async |body: &str| desk.send("h", &Post::bearer(BEARER_SECRET, body)).await;
    for ignored in [r#"{"action": "closed"}"#, "{}", "", "[]", "7"] {
        let received = send(ignored).await;
        assert!(
            matches!(&received, Received::Ignored { reason } if reason.contains("filter")),
            "{received:?}"
        );
    }
    for (body, words) in [
        ("{", "not JSON"),
        (
            r#"{"action": "opened"}"#,
            "objective: the delivery has no payload.issue.number, payload.issue.title",
        ),
        (
            r#"{"action": "opened", "issue": {"number": 1, "title": "t"}}"#,
            "labels.who: the delivery has no payload.sender",
        ),
    ] {
        let Received::Refused(Refusal::Malformed(said)) = send(body).await else {
            panic!("{body}")
        };
        assert!(said.contains(words), "{said}");
    }
    let long = format!(r#"{{"action": "{}"}}"#, "x".repeat(500));
    assert!(
        matches!(send(&long).await, Received::Refused(Refusal::Malformed(said)) if said.contains("more than 500 bytes"))
    );
    let outside =
        r#"{"action": "opened", "issue": {"number": "../../x", "title": "t"}, "sender": "me"}"#;
    let Received::Refused(Refusal::Unfit(problems)) = send(outside).await else {
        panic!("a workspace outside")
    };
    assert!(
        problems
            .to_string()
            .starts_with("workspace.session: must be a name"),
        "{problems}"
    );
    assert_eq!(desk.sessions(), 0);

    let good =
        r#"{"action": "opened", "issue": {"number": 7, "title": "t"}, "sender": "a\n\u001b[1mb"}"#;
    let Received::Started { session_id } = send(good).await else {
        panic!("not started")
    };
    let row: String = desk
        .site
        .cell("SELECT max_iterations || ' ' || workspace || ' ' || request FROM sessions WHERE id = ?1", [&session_id])
        .unwrap();
    assert!(
        row.starts_with("3 ") && row.contains("issue-7") && row.contains(r#""verify":"true""#),
        "{row}"
    );
    assert!(row.contains(r#"{"who":"a \\u{1b}[1mb"}"#), "{row}");
}

#[tokio::test]
async fn without_a_secret_only_programs_here_are_heard() {
    let desk = Desk::open(site());
    let post = Post::plain(r#"{"text": "x"}"#);
    for stranger in [
        post.clone().remotely(),
        post.clone().with("origin", "https://example.org"),
        post.clone().with("x-forwarded-for", "192.0.2.7"),
    ] {
        assert_eq!(desk.refused("open", &stranger).await, Refusal::NotLoopback);
    }
    desk.started("open", &post).await;
}

#[tokio::test]
async fn a_request_that_cannot_be_kept_is_refused_with_all_that_is_wrong() {
    let site = site().configure(
        "[hooks.dear]
        verify = 'none'
        request = { objective = 'x', budget = { usd = 5.0 } }
        ",
    );
    let desk = Desk::open(site);
    let Refusal::Unfit(problems) = desk.refused("dear", &Post::plain("{}")).await else {
        panic!("not unfit")
    };
    assert!(problems.to_string().contains("budget.usd"), "{problems}");
    assert_eq!(desk.sessions(), 0);
}
