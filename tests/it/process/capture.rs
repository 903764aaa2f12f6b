//! Short programs, captured.

use std::path::PathBuf;
use std::time::Duration;

use ralphd::process::{Errand, Exit, Surroundings, capture};

use super::{PATIENCE, long_sleep, sleepers, wait_for};

fn errand(argv: &[&str], cap_bytes: usize) -> Errand {
    let argv = argv.iter().map(ToString::to_string).collect();
    Errand::new(argv, PATIENCE, cap_bytes)
}

fn shell(script: &str) -> Errand {
    errand(&["sh", "-c", script], 100)
}

#[tokio::test]
async fn capture_brings_output_and_exit() {
    let said = capture(&shell("echo 1.2.3; echo hm >&2; exit 3"))
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
    let long = capture(&Errand {
        cwd: Some(PathBuf::from("/")),
        ..errand(&["head", "-c", "300000", "/dev/zero"], 10)
    })
    .await
    .unwrap();
    assert_eq!((long.exit, long.truncated), (Exit::Code(0), true));
    assert_eq!(
        String::from_utf8_lossy(&long.stdout),
        "\0\0\0\0\0\n[… 299990 bytes left out …]\n\0\0\0\0\0"
    );
    let none = capture(&errand(&["no-such-program-here"], 10))
        .await
        .unwrap();
    assert_eq!(
        none.exit,
        Exit::NotStarted("program not found: no-such-program-here".to_owned())
    );
    let killed = capture(&shell("kill -15 $$")).await.unwrap();
    assert_eq!(killed.exit, Exit::Signal(15));
}

#[tokio::test]
async fn nothing_that_stands_open_here_is_handed_on() {
    let open = std::fs::File::open("/dev/zero").unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    let script = "for d in /proc/$$/fd/*; do readlink $d; done";
    let said = capture(&errand(&["sh", "-c", script], 10_000))
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&said.stdout);
    assert!(
        said.contains("/dev/null") && !said.contains("/dev/zero"),
        "{said}"
    );
}

#[tokio::test]
async fn streams_together_keep_their_order() {
    let said = capture(&Errand {
        together: true,
        ..shell("echo 1; echo 2 >&2; echo 3; echo 4 >&2")
    })
    .await
    .unwrap();
    assert_eq!(said.stdout, b"1\n2\n3\n4\n");
    assert_eq!(said.stderr, b"");
}

#[tokio::test]
async fn input_reaches_who_reads_it_and_blocks_nobody() {
    let input = vec![b'x'; 3_000_000];
    for (script, expected) in [("wc -c | tr -d ' '", "3000000\n"), ("echo no", "no\n")] {
        let said = capture(&Errand {
            input: Some(input.clone()),
            ..shell(script)
        })
        .await
        .unwrap();
        assert_eq!(said.exit, Exit::Code(0));
        assert_eq!(String::from_utf8_lossy(&said.stdout), expected);
    }
}

#[tokio::test]
async fn the_environment_is_the_one_asked_for() {
    let given = vec![("GIVEN".to_owned(), "one".to_owned())];
    for (environment, expected) in [
        (Surroundings::Whole(given.clone()), "one-"),
        (Surroundings::Allowed(given), "one-set"),
    ] {
        let said = capture(&Errand {
            environment,
            ..errand(&["/bin/sh", "-c", "echo $GIVEN-${HOME:+set}"], 100)
        })
        .await
        .unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), expected);
    }
}

#[tokio::test]
async fn capture_leaves_nothing_behind() {
    let (seen, dropped) = (long_sleep(3), long_sleep(4));
    let late = capture(&Errand {
        deadline: Duration::from_secs(1),
        ..shell(&format!("echo up; setsid sleep {seen} & sleep {seen}"))
    })
    .await
    .unwrap();
    assert_eq!(
        (late.exit, late.timed_out, late.stdout.as_slice()),
        (Exit::Signal(9), true, &b"up\n"[..])
    );
    let hidden = format!("(env -i setsid sh -c 'sleep {seen} & sleep {seen}' &) ; echo bye");
    let quick = capture(&shell(&hidden)).await.unwrap();
    assert_eq!(
        (quick.exit, quick.stdout.as_slice()),
        (Exit::Code(0), &b"bye\n"[..])
    );
    assert!(quick.leftovers_killed >= 1);
    assert_eq!(sleepers(&seen), Vec::<i32>::new());
    let unwanted = shell(&format!("setsid sleep {dropped} & sleep {dropped}"));
    tokio::select! {
        _ = capture(&unwanted) => panic!("it ended"),
        () = wait_for("both sleepers", || (sleepers(&dropped).len() == 2).then_some(())) => {}
    }
    wait_for("the end of what nobody waits for", || {
        sleepers(&dropped).is_empty().then_some(())
    })
    .await;
}

#[tokio::test]
async fn many_at_once_do_not_hold_each_other() {
    let mut all = tokio::task::JoinSet::new();
    for number in 0..40 {
        all.spawn(async move {
            let errand = shell(&format!("sleep 0.0{}; echo {number}", number % 10));
            let said = capture(&errand).await.unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), format!("{number}\n"));
        });
    }
    all.join_all().await;
}
