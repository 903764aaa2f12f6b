//! What an agent gets and what it cannot get around: environment, limits, signals, control group.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ralphd::process::{Exit, Limits, Outcome, Program};

use super::{Place, long_sleep, sleepers};

#[tokio::test]
async fn the_environment_is_the_given_one_and_stays_in_memory() {
    let place = Place::new();
    place.ended(&place.program(&["env"])).await;
    let text = place.text("out");
    let mut names: Vec<&str> = text
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["GIVEN", "PATH", "RALPHD_TURN"]);
    assert!(text.contains(&format!("RALPHD_TURN={}", place.mark)));
    let record = fs::read(place.dir()).unwrap();
    assert!(!String::from_utf8_lossy(&record).contains("s3cret"));
    assert_eq!(
        fs::metadata(place.dir()).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[tokio::test]
async fn limits_hold() {
    let place = Place::new();
    let limits = Limits {
        open_files: Some(77),
        file_size_bytes: Some(1024),
        ..Limits::default()
    };
    let script = "ulimit -n; ulimit -c; (head -c 5000 /dev/zero >big) 2>/dev/null; wc -c <big; head -c 5000 /dev/zero";
    let ended = place
        .ended(&Program {
            limits,
            ..place.shell(script)
        })
        .await;
    assert!(
        place.text("out").starts_with("77\n0\n1024\n"),
        "{}",
        place.text("out")
    );
    assert_eq!(
        ended.stdout_bytes,
        10 + 5000,
        "captured output is not the agent's file"
    );
}

#[tokio::test]
async fn signals_and_descriptors_are_as_new() {
    let place = Place::new();
    let shim = place.wrapper("trap '' HUP INT USR1 CHLD; exec 9</dev/null");
    let program = place.shell("grep -E '^Sig(Blk|Ign)' /proc/self/status; ls /proc/self/fd | tr '\\n' ' '; cut -d' ' -f6 /proc/$$/stat; echo $$");
    let Outcome::Ended(ended) = place.run_as(&shim, &program).await else {
        panic!("lost")
    };
    assert_eq!(ended.exit, Exit::Code(0));
    let text = place.text("out");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..2],
        ["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"]
    );
    // As `ls` finds them, which opens one of its own to look: the shell has the ends of a pipe open for a moment.
    assert!(lines[2].starts_with("0 1 2 3 "), "{text}");
    assert_eq!(
        lines[2].trim_start_matches("0 1 2 3 "),
        lines[3],
        "the agent leads its session"
    );
}

#[tokio::test]
async fn a_delegated_control_group_holds_the_turn() {
    let place = Place::new();
    let parent = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"]
        .map(|mount| Path::new(mount).join(format!("test-{}", place.mark)))
        .into_iter()
        .find(|group| {
            group.parent().unwrap().join("cgroup.procs").exists() && fs::create_dir(group).is_ok()
        });
    let Some(parent) = parent else {
        return println!("skipped: no writable version 2 hierarchy");
    };
    let flags = rustix::fs::XattrFlags::empty();
    let delegated = ["user.delegate", "trusted.delegate"]
        .into_iter()
        .any(|name| {
            parent.join("cgroup.kill").exists()
                && rustix::fs::setxattr(&parent, name, b"1", flags).is_ok()
        });
    if delegated {
        let hidden = long_sleep(2);
        let shim = place.wrapper(&format!("echo $$ >{}/cgroup.procs", parent.display()));
        let script = format!(
            "cat /proc/self/cgroup; env -i setsid sh -c \"trap '' TERM; touch ready; while :; do sleep {hidden}; done\" & \
                      until [ -e ready ]; do sleep 0.01; done"
        );
        let Outcome::Ended(ended) = place.run_as(&shim, &place.shell(&script)).await else {
            panic!("lost")
        };
        assert!(
            place
                .text("out")
                .contains(&format!("/ralphd-{}\n", place.mark)),
            "{}",
            place.text("out")
        );
        assert_eq!(ended.exit, Exit::Code(0));
        assert!(ended.leftovers_killed >= 1);
        assert!(!parent.join(format!("ralphd-{}", place.mark)).exists());
        assert_eq!(sleepers(&hidden), Vec::<i32>::new());
    } else {
        println!("skipped: the group cannot be marked as delegated");
    }
    fs::remove_dir(&parent).unwrap();
}
