//! Short programs, captured.

use std::path::Path;
use std::time::Duration;

use ralphd::process::{Exit, capture};

use super::{PATIENCE, long_sleep, sleepers, wait_for};

fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn capture_brings_output_and_exit() {
    let said = capture(
        &words(&["sh", "-c", "echo 1.2.3; echo hm >&2; exit 3"]),
        None,
        PATIENCE,
        100,
    )
    .await
    .unwrap();
    assert_eq!(
        (said.exit, said.timed_out, said.truncated),
        (Exit::Code(3), false, false)
    );
    assert_eq!(
        (said.stdout.as_slice(), said.stderr.as_slice()),
        (&b"1.2.3\n"[..], &b"hm\n"[..])
    );
    let long = capture(
        &words(&["head", "-c", "300000", "/dev/zero"]),
        Some(Path::new("/")),
        PATIENCE,
        10,
    )
    .await
    .unwrap();
    assert_eq!(
        (long.exit, long.stdout.len(), long.truncated),
        (Exit::Code(0), 10, true)
    );
    let none = capture(&words(&["no-such-program-here"]), None, PATIENCE, 10)
        .await
        .unwrap();
    assert_eq!(
        none.exit,
        Exit::NotStarted("program not found: no-such-program-here".to_owned())
    );
}

#[tokio::test]
async fn capture_leaves_nothing_behind() {
    let (seen, dropped) = (long_sleep(3), long_sleep(4));
    let detached = format!("echo up; setsid sleep {seen} & sleep {seen}");
    let late = capture(
        &words(&["sh", "-c", &detached]),
        None,
        Duration::from_secs(1),
        100,
    )
    .await
    .unwrap();
    assert_eq!(
        (late.exit, late.timed_out, late.stdout.as_slice()),
        (Exit::Signal(9), true, &b"up\n"[..])
    );
    let quick = capture(
        &words(&["sh", "-c", &format!("setsid sleep {seen} & echo bye")]),
        None,
        PATIENCE,
        100,
    )
    .await
    .unwrap();
    assert_eq!(
        (quick.exit, quick.stdout.as_slice()),
        (Exit::Code(0), &b"bye\n"[..])
    );
    assert_eq!(sleepers(&seen), Vec::<i32>::new());
    let argv = words(&[
        "sh",
        "-c",
        &format!("setsid sleep {dropped} & sleep {dropped}"),
    ]);
    tokio::select! {
        _ = capture(&argv, None, PATIENCE, 100) => panic!("it ended"),
        () = wait_for("both sleepers", || (sleepers(&dropped).len() == 2).then_some(())) => {}
    }
    wait_for("the end of what nobody waits for", || {
        sleepers(&dropped).is_empty().then_some(())
    })
    .await;
}
