//! What comes in and what goes out of an agent, and how much of it.

use std::fs;

use ralphd::process::{Exit, Program};

use super::{Place, wait_for};

#[tokio::test]
async fn the_prompt_comes_by_stdin_and_ends() {
    let place = Place::new();
    fs::write(place.file("prompt"), "do it\n").unwrap();
    let program = Program {
        stdin: Some(place.file("prompt")),
        ..place.program(&["cat"])
    };
    assert_eq!(place.ended(&program).await.exit, Exit::Code(0));
    assert_eq!(place.text("out"), "do it\n");
    let silent = Place::new();
    assert_eq!(
        silent.ended(&silent.program(&["cat"])).await.stdout_bytes,
        0
    );
}

#[tokio::test]
async fn output_is_capped_with_a_note() {
    let place = Place::new();
    let program = Program {
        output_cap_bytes: 10,
        ..place.shell("printf 0123456789abc; printf short >&2")
    };
    let ended = place.ended(&program).await;
    assert_eq!(
        (ended.stdout_bytes, ended.stderr_bytes, ended.truncated),
        (13, 5, true)
    );
    assert_eq!(
        place.text("out"),
        "01234567\n[ralphd: 3 bytes left out here]\nbc"
    );
    assert_eq!(place.text("err"), "short");
}

#[tokio::test]
async fn a_line_of_ten_megabytes_arrives_whole() {
    let place = Place::new();
    let program = Program {
        output_cap_bytes: 20_000_000,
        ..place.shell("head -c 10000000 /dev/zero | tr '\\0' x; echo")
    };
    let ended = place.ended(&program).await;
    assert_eq!((ended.stdout_bytes, ended.truncated), (10_000_001, false));
    let text = fs::read(place.file("out")).unwrap();
    assert!(text.len() == 10_000_001 && text[..10_000_000].iter().all(|byte| *byte == b'x'));
}

#[tokio::test]
async fn fifty_megabytes_leave_the_shim_small() {
    let place = Place::new();
    let program =
        place.shell("head -c 50000000 /dev/zero; touch done; until [ -e go ]; do sleep 0.01; done");
    let observe = async {
        wait_for("the output's end", || {
            place.file("done").exists().then_some(())
        })
        .await;
        let pid = place.shim_pid().unwrap();
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        fs::write(place.file("go"), "").unwrap();
        peak_kib
    };
    let (ended, peak_kib) = tokio::join!(place.ended(&program), observe);
    assert_eq!(
        (ended.exit, ended.stdout_bytes, ended.truncated),
        (Exit::Code(0), 50_000_000, true)
    );
    // Most of it is the program itself, which is not optimised here.
    assert!(peak_kib < 24 * 1024, "the shim took {peak_kib} KiB");
}

#[tokio::test]
async fn a_full_disk_does_not_hurt_the_agent() {
    let place = Place::new();
    let program = Program {
        stdout: "/dev/full".into(),
        ..place.shell("head -c 300000 /dev/zero; echo alive >&2; exit 5")
    };
    let ended = place.ended(&program).await;
    assert_eq!(
        (ended.exit, ended.stdout_bytes, ended.truncated),
        (Exit::Code(5), 300_000, true)
    );
    assert_eq!(place.text("err"), "alive\n");
}
