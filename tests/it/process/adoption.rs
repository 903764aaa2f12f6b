//! A turn outlives its daemon, and runs once whoever dies when.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralphd::process::{
    Cause, Ended, Exit, Limits, Outcome, Program, Sighting, Supervisor, forget, look, sweep,
};
use tokio::sync::watch;

use super::{BINARY, Place, environment, wait_for};

#[test]
fn a_new_daemon_adopts_the_turn_of_a_dropped_one() {
    let place = Place::new();
    let program = place.shell("echo ran >>runs; until [ -e go ]; do sleep 0.01; done; exit 9");
    let first = tokio::runtime::Runtime::new().unwrap();
    let (dir, given) = (place.dir(), program.clone());
    first.spawn(async move {
        let (_keep, stop) = watch::channel(false);
        Supervisor::with_shim(BINARY)
            .run(&dir, &given, &environment(), stop)
            .await
    });
    let shim = first.block_on(wait_for("the agent's start", || {
        (!place.text("runs").is_empty()).then(|| place.shim_pid().unwrap())
    }));
    first.shutdown_background();
    assert!(
        forget(&place.dir())
            .unwrap_err()
            .to_string()
            .contains("still runs")
    );
    let second = tokio::runtime::Runtime::new().unwrap();
    let release = async {
        assert_eq!(place.shim_pid(), Some(shim));
        fs::write(place.file("go"), "").unwrap();
    };
    let (ended, ()) = second.block_on(async { tokio::join!(place.ended(&program), release) });
    assert_eq!(ended.exit, Exit::Code(9));
    assert_eq!(place.text("runs"), "ran\n");
    let again = second.block_on(place.ended(&program));
    assert_eq!(again, ended);
    assert_eq!(look(&place.dir()).unwrap(), Sighting::Ended(ended));
    assert_eq!(place.text("runs"), "ran\n");
    forget(&place.dir()).unwrap();
    forget(&place.dir()).unwrap();
    assert_eq!(look(&place.dir()).unwrap(), Sighting::NeverStarted);
}

const DAEMON_DIR: &str = "RALPHD_TEST_DAEMON_DIR";

fn orphaned_program(root: &Path) -> Program {
    Program {
        argv: [
            "sh",
            "-c",
            "echo ran >>runs; until [ -e go ]; do sleep 0.01; done; echo end",
        ]
        .map(str::to_owned)
        .to_vec(),
        cwd: root.to_owned(),
        stdin: None,
        stdout: root.join("out"),
        stderr: root.join("err"),
        output_cap_bytes: 1000,
        deadline_ms: 60_000,
        silence_ms: None,
        kill_grace_ms: 1000,
        limits: Limits::default(),
        secret_names: Vec::new(),
        secrets: Vec::new(),
    }
}

/// Plays the daemon that is killed; does nothing unless the test below starts it.
#[tokio::test]
async fn daemon_to_be_killed() {
    let Some(dir) = std::env::var_os(DAEMON_DIR).map(PathBuf::from) else {
        return;
    };
    let (_keep, stop) = watch::channel(false);
    let program = orphaned_program(dir.parent().unwrap());
    Supervisor::with_shim(BINARY)
        .run(&dir, &program, &environment(), stop)
        .await
        .unwrap();
}

fn start_daemon(place: &Place) -> std::process::Child {
    std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "process::adoption::daemon_to_be_killed",
            "--nocapture",
        ])
        .env(DAEMON_DIR, place.dir())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_killed_daemon_loses_nothing() {
    let place = Place::new();
    let mut daemon = start_daemon(&place);
    wait_for("the agent's start", || {
        (!place.text("runs").is_empty()).then_some(())
    })
    .await;
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let shim = place.shim_pid().expect("the shim outlives its daemon");
    let release = async {
        assert_eq!(place.shim_pid(), Some(shim));
        fs::write(place.file("go"), "").unwrap();
    };
    let program = orphaned_program(place.root.path());
    let (ended, ()) = tokio::join!(place.ended(&program), release);
    assert_eq!((ended.exit, ended.cause), (Exit::Code(0), Cause::Finished));
    assert_eq!(
        (place.text("runs").as_str(), place.text("out").as_str()),
        ("ran\n", "end\n")
    );
}

#[tokio::test]
async fn at_whatever_moment_the_daemon_dies_the_agent_runs_once() {
    for step in 0..40 {
        let place = Place::new();
        fs::write(place.file("go"), "").unwrap();
        let mut daemon = start_daemon(&place);
        tokio::time::sleep(Duration::from_micros(step * 400)).await;
        daemon.kill().unwrap();
        let ended = place.ended(&orphaned_program(place.root.path())).await;
        daemon.wait().unwrap();
        assert_eq!(ended.exit, Exit::Code(0), "killed in step {step}");
        wait_for("late shims", || place.alive().is_empty().then_some(())).await;
        assert_eq!(place.text("runs"), "ran\n", "killed in step {step}");
    }
}

#[tokio::test]
async fn at_whatever_moment_the_shim_dies_the_agent_never_runs_twice() {
    for step in 0..40 {
        let place = Place::new();
        let program = orphaned_program(place.root.path());
        let murder = async {
            let shim = wait_for("the shim", || place.alive().first().copied()).await;
            tokio::time::sleep(Duration::from_micros(step * 100)).await;
            let pid = rustix::process::Pid::from_raw(shim).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            fs::write(place.file("go"), "").unwrap();
        };
        let (outcome, ()) = tokio::join!(place.run(&program), murder);
        sweep(&place.mark);
        let runs = place.text("runs").lines().count();
        match outcome {
            Outcome::Ended(_) => assert_eq!(runs, 1, "killed in step {step}"),
            Outcome::Lost => assert!(runs <= 1, "killed in step {step}: {runs} runs"),
        }
    }
}

#[tokio::test]
async fn a_shim_that_has_no_lock_yet_is_not_doubled() {
    let place = Place::new();
    let program = place.shell("echo ran >>runs");
    let slow = place.wrapper("echo up >>slow; until [ -e \"${2%/*}/go\" ]; do sleep 0.01; done");
    let script = fs::read_to_string(&slow)
        .unwrap()
        .replace("echo up >>slow", "echo up >>\"${2%/*}/slow\"");
    fs::write(&slow, script).unwrap();
    {
        let starting = place.run_as(&slow, &program);
        let seen = wait_for("the slow shim", || {
            (!place.text("slow").is_empty()).then_some(())
        });
        tokio::select! { _ = starting => panic!("it ended"), () = seen => {} }
    }
    assert_eq!(look(&place.dir()).unwrap(), Sighting::NeverStarted);
    fs::write(place.file("go"), "").unwrap();
    let ended = place.ended(&program).await;
    assert_eq!(ended.exit, Exit::Code(0));
    wait_for("the slow shim's end", || {
        place.alive().is_empty().then_some(())
    })
    .await;
    assert_eq!(place.text("runs"), "ran\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_callers_run_it_once() {
    for _ in 0..5 {
        let place = Place::new();
        let program = place.shell("echo ran >>runs; sleep 0.05; exit 2");
        let (a, b, c, d) = tokio::join!(
            place.ended(&program),
            place.ended(&program),
            place.ended(&program),
            place.ended(&program)
        );
        assert!(a == b && b == c && c == d);
        assert_eq!(
            (a.exit, place.text("runs").as_str()),
            (Exit::Code(2), "ran\n")
        );
    }
}

fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_killed_shim_means_lost_and_sweep_clears_the_rest() {
    let place = Place::new();
    let program = place.shell("setsid sh -c 'sleep 600 & sleep 600' & echo $$ >pid; wait");
    let murder = async {
        let agent: i32 = wait_for("the agent", || place.text("pid").trim().parse().ok()).await;
        wait_for("its children", || (place.alive().len() >= 5).then_some(())).await;
        kill(place.shim_pid().unwrap());
        agent
    };
    let (outcome, agent) = tokio::join!(place.run(&program), murder);
    assert_eq!(outcome, Outcome::Lost);
    assert_eq!(look(&place.dir()).unwrap(), Sighting::Lost);
    wait_for("the agent's death", || {
        (!place.alive().contains(&agent)).then_some(())
    })
    .await;
    assert!(
        !place.alive().is_empty(),
        "the grandchildren are what sweep is for"
    );
    assert!(sweep(&place.mark) >= 1);
    assert_eq!(place.alive(), Vec::<i32>::new());
    assert_eq!(sweep(&place.mark), 0);
    assert_eq!(place.run(&program).await, Outcome::Lost);
}

#[tokio::test]
async fn every_state_a_dead_daemon_may_leave_is_understood() {
    let recorded = r#"S{"exit":{"code":6},"cause":"finished","stdout_bytes":0,"stderr_bytes":0,"truncated":false,
        "leftovers_killed":0,"started_at_ms":1,"ended_at_ms":2}"#;
    for (record, expected) in [
        (None, Some(0)),
        (Some(""), Some(0)),
        (Some("    "), Some(0)),
        (Some("S"), None),
        (Some("S   "), None),
        (Some("S{\"exit\":"), None),
        (Some(recorded), Some(6)),
    ] {
        let place = Place::new();
        if let Some(text) = record {
            fs::write(place.dir(), text).unwrap();
        }
        let code = match place.run(&place.program(&["true"])).await {
            Outcome::Ended(Ended {
                exit: Exit::Code(code),
                ..
            }) => Some(code),
            Outcome::Lost => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(code, expected, "{record:?}");
    }
}

#[tokio::test]
async fn a_shim_that_cannot_begin_is_an_error_with_its_words() {
    let place = Place::new();
    let broken = place.wrapper("echo broken for a test >&2; exit 1");
    let (_keep, stop) = watch::channel(false);
    let supervisor = Supervisor::with_shim(broken);
    let error = supervisor
        .run(
            &place.dir(),
            &place.program(&["true"]),
            &environment(),
            stop,
        )
        .await
        .unwrap_err();
    assert!(error.to_string().contains("broken for a test"), "{error:#}");
}
