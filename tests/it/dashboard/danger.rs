//! The dashboard and those who mean ill: without a token, with a page of their own, or with words for an agent to repeat.

use super::browser::browser;
use super::{ASKS, DONE, ENDLESS, SCHEDULES};
use crate::support::{Daemon, Site};

/// Says all that would harm a page, asks with more of it, and answers with the rest. What is said last is what a page shows of a long log.
const HOSTILE: &str = r#"mkdir -p state
if grep -q 'Answer: <i>one</i>'; then
    echo '<script>window.pwned = 3</script>'; echo TASK_COMPLETE
else
    head -c 5000000 /dev/zero | tr '\0' x; echo ' the end of a long line'
    echo '<script>window.pwned = 1</script>'
    echo '<img src=x onerror="window.pwned = 2">'
    echo '</pre></main><svg onload="window.pwned = 6"><iframe src="javascript:parent.pwned = 7">'
    printf '\033[31mred\033[0m \033]0;title\007 \033[2J\r\n'
    printf 'turned \342\200\256 around \342\201\246 and \342\200\217 so\n'
    printf 'no letters: \377\376 \000 \302\233\n'
    echo '"><script>window.pwned = 8</script>' >'<img src=x onerror=pwned=9>.txt'
    echo '{"phase": "</dd><script>window.pwned = 10</script>", "next_step": "<b>go on</b>"}' >state/handoff.json
    echo '{"question": "Is it <b>bold</b>? <img src=x onerror=pwned=4>", "options": ["<i>one</i>", "\" autofocus onfocus=pwned=11 x=\""]}' >state/question.json
fi"#;

/// Five million letters without an end of a line.
const UNBROKEN: &str =
    "head -c 5000000 /dev/zero | tr '\\0' x; until [ -e \"$HERE/never\" ]; do sleep 0.05; done";

const HOSTILE_OBJECTIVE: &str =
    "<script>window.pwned = 5</script> & \"quotes\" 'too' \u{202e} turned";

fn token(site: &Site, options: &[&str]) -> String {
    let words = [&["token", "new", "tester"], options].concat();
    let shown = site.ralphd(&words).done();
    shown.trim().to_owned()
}

#[test]
fn one_logs_in_with_a_token_and_out_again() {
    let Some(browser) = browser() else { return };
    let site = Site::with_worker(DONE);
    let token = token(&site, &[]);
    let daemon = Daemon::start(site);
    daemon.drop_file("fence.md", "Paint the fence.");
    let session = daemon.ended("fence");
    let given = [("token", token.as_str()), ("session", &session.id)];
    browser.play("login", &daemon, &given);
    assert!(!daemon.log().contains(&token));
}

#[test]
fn a_token_that_may_only_read_is_offered_nothing_to_do() {
    let Some(browser) = browser() else { return };
    let site = Site::with_worker(ASKS).configure(SCHEDULES);
    let token = token(&site, &["--scope", "read"]);
    let daemon = Daemon::start(site);
    daemon.drop_file("fence.md", "Paint the fence.");
    let session = daemon.in_state("fence", "awaiting_human");
    let given = [("token", token.as_str()), ("session", &session.id)];
    browser.play("reader", &daemon, &given);
}

#[test]
fn what_another_page_posts_is_refused() {
    let Some(browser) = browser() else { return };
    let site = Site::with_worker(ENDLESS);
    let token = token(&site, &[]);
    let daemon = Daemon::start(site);
    daemon.drop_file("fence.md", "Paint the fence.");
    let session = daemon.in_state("fence", "executing");
    let given = [("token", token.as_str()), ("session", &session.id)];
    browser.play("forgery", &daemon, &given);
}

#[test]
fn what_an_agent_says_is_text_and_the_page_stays_alive() {
    let Some(browser) = browser() else { return };
    let site = Site::new()
        .agent("hostile", HOSTILE)
        .agent("unbroken", UNBROKEN);
    let daemon = Daemon::start(site);
    daemon.drop_file("unbroken.md", "---\nagent: unbroken\n---\nGo.");
    daemon.drop_file("hostile.md", HOSTILE_OBJECTIVE);
    let hostile = daemon.in_state("hostile", "awaiting_human").id;
    let unbroken = daemon.in_state("unbroken", "executing").id;
    let pages = [
        "/".to_owned(),
        format!("/sessions/{hostile}"),
        format!("/sessions/{hostile}/changes?iteration=1"),
        format!("/sessions/{hostile}/log?iteration=1&before=4000000"),
        format!("/sessions/{unbroken}"),
    ];
    let given = [("session", hostile.as_str()), ("pages", &pages.join(","))];
    browser.play("hostile", &daemon, &given);
}
