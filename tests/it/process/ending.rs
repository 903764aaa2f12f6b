//! How turns end: by themselves, by the clock, by request; and that nothing is left of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ralphd::process::{Cause, Exit, Outcome, Program, Supervisor};
use tokio::sync::watch;

use super::{BINARY, Place, environment, long_sleep, sleepers, wait_for};

#[tokio::test]
async fn the_exit_is_the_agents() {
    for (script, exit, out, err) in [
        (
            "echo hello; echo oops >&2",
            Exit::Code(0),
            "hello\n",
            "oops\n",
        ),
        ("printf last; exit 7", Exit::Code(7), "last", ""),
        ("kill -SEGV $$", Exit::Signal(11), "", ""),
        ("exec >&- 2>&-; sleep 0.05; exit 3", Exit::Code(3), "", ""),
    ] {
        let place = Place::new();
        let ended = place.ended(&place.shell(script)).await;
        assert_eq!(
            (ended.exit, ended.cause),
            (exit, Cause::Finished),
            "{script}"
        );
        assert_eq!(
            (place.text("out").as_str(), place.text("err").as_str()),
            (out, err),
            "{script}"
        );
        assert_eq!(
            (ended.stdout_bytes, ended.stderr_bytes),
            (out.len() as u64, err.len() as u64)
        );
        assert_eq!((ended.leftovers_killed, ended.truncated), (0, false));
        assert!(ended.started_at_ms <= ended.ended_at_ms && ended.started_at_ms > 0);
        let mode = fs::metadata(place.file("out"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let place = Place::new();
    fs::write(place.file("plain"), "x").unwrap();
    let plain = &place.file("plain").display().to_string();
    let orphan = place.wrapper("");
    fs::write(&orphan, "#!/no/such/interpreter\n").unwrap();
    let orphan = orphan.to_str().unwrap();
    let missing_cwd = Program {
        cwd: place.file("nowhere"),
        ..place.program(&["true"])
    };
    let missing_prompt = Program {
        stdin: Some(place.file("no-prompt")),
        ..place.program(&["true"])
    };
    let missing_output = Program {
        stdout: place.file("no/dir/out"),
        ..place.program(&["true"])
    };
    for (program, expected) in [
        (
            place.program(&["nope-nope"]),
            "program not found: nope-nope".to_owned(),
        ),
        (
            place.program(&[plain]),
            format!("program not executable: {plain}"),
        ),
        (
            place.program(&[orphan]),
            format!("the interpreter of {orphan} was not found"),
        ),
        (
            missing_cwd,
            format!(
                "working directory missing: {}",
                place.file("nowhere").display()
            ),
        ),
        (
            missing_prompt,
            format!(
                "cannot read the prompt {}",
                place.file("no-prompt").display()
            ),
        ),
        (
            missing_output,
            format!("cannot create {}", place.file("no/dir/out").display()),
        ),
        (place.program(&[]), "no program named".to_owned()),
    ] {
        let turn = Place::new();
        let Exit::NotStarted(reason) = turn.ended(&program).await.exit else {
            panic!("{expected}: it started")
        };
        assert!(reason.starts_with(&expected), "{reason} / {expected}");
    }
}

#[tokio::test]
async fn a_hundred_detached_children_do_not_outlive_the_agent() {
    let place = Place::new();
    let program = place.shell(
        "i=0; while [ $i -lt 100 ]; do (setsid sh -c 'sleep 600 & echo $! >>pids' &) ; i=$((i+1)); done; \
         until [ $(cat pids 2>/dev/null | wc -l) -ge 100 ]; do sleep 0.01; done; echo done",
    );
    let ended = place.ended(&program).await;
    assert_eq!((ended.exit, ended.cause), (Exit::Code(0), Cause::Finished));
    assert_eq!(place.text("out"), "done\n");
    assert!(ended.leftovers_killed >= 100, "{}", ended.leftovers_killed);
    assert!(ended.ended_at_ms - ended.started_at_ms < 20_000);
    assert_eq!(place.alive(), Vec::<i32>::new());
}

#[tokio::test]
async fn leftovers_that_ignore_the_request_or_hide_are_killed() {
    let place = Place::new();
    let hidden = long_sleep(1);
    let program = place.shell(&format!(
        "(trap '' TERM; touch ready; while :; do sleep 1; done) & env -i setsid sleep {hidden} & \
         until [ -e ready ]; do sleep 0.01; done",
    ));
    let ended = place.ended(&program).await;
    assert_eq!((ended.exit, ended.cause), (Exit::Code(0), Cause::Finished));
    assert!(ended.leftovers_killed >= 2);
    assert_eq!(place.alive(), Vec::<i32>::new());
    assert_eq!(sleepers(&hidden), Vec::<i32>::new());
}

#[tokio::test]
async fn the_request_to_end_comes_once() {
    let place = Place::new();
    let program = Program {
        deadline_ms: 1000,
        kill_grace_ms: 400,
        ..place.shell("trap 'echo term' TERM; while :; do sleep 0.02; done")
    };
    assert_eq!(place.ended(&program).await.exit, Exit::Signal(9));
    assert_eq!(place.text("out"), "term\n");
}

#[tokio::test]
async fn orphans_that_end_are_reaped_while_the_agent_runs() {
    let place = Place::new();
    let program = place.shell(
        "i=0; while [ $i -lt 50 ]; do (true &); i=$((i+1)); done; touch done; \
         until [ -e go ]; do sleep 0.01; done",
    );
    let observe = async {
        wait_for("the orphans", || place.file("done").exists().then_some(())).await;
        let shim = place.shim_pid().unwrap();
        let only_the_agent = || {
            let children = fs::read_dir("/proc").unwrap().filter(|entry| {
                let stat = entry.as_ref().unwrap().path().join("stat");
                let stat = fs::read_to_string(stat).unwrap_or_default();
                stat.rsplit(')').next().unwrap().split(' ').nth(2) == Some(&shim.to_string())
            });
            (children.count() == 1).then_some(())
        };
        wait_for("the end of the zombies", only_the_agent).await;
        fs::write(place.file("go"), "").unwrap();
    };
    let (ended, ()) = tokio::join!(place.ended(&program), observe);
    assert_eq!((ended.exit, ended.leftovers_killed), (Exit::Code(0), 0));
}

#[tokio::test]
async fn the_deadline_ends_the_whole_tree() {
    for (script, exit) in [
        (
            "sleep 600 & trap '' TERM; echo words; setsid sh -c \"trap '' TERM; sleep 600\" & while :; do sleep 1; done",
            Exit::Signal(9),
        ),
        (
            "trap 'echo last words; exit 4' TERM; echo words; sleep 600 & wait",
            Exit::Code(4),
        ),
    ] {
        let place = Place::new();
        let program = Program {
            deadline_ms: 1000,
            kill_grace_ms: 300,
            ..place.shell(script)
        };
        let ended = place.ended(&program).await;
        assert_eq!(
            (&ended.exit, ended.cause),
            (&exit, Cause::TimedOut),
            "{script}"
        );
        assert!(place.text("out").starts_with("words\n"));
        assert_eq!(
            place.text("out").contains("last words"),
            exit == Exit::Code(4)
        );
        assert_eq!(place.alive(), Vec::<i32>::new());
    }
}

#[tokio::test]
async fn silence_ends_a_turn_and_output_keeps_it() {
    let quiet = Place::new();
    let program = Program {
        silence_ms: Some(200),
        ..quiet.shell("echo one; sleep 600")
    };
    let ended = quiet.ended(&program).await;
    assert_eq!((ended.exit, ended.cause), (Exit::Signal(15), Cause::Silent));
    let busy = Place::new();
    let script = "i=0; while [ $i -lt 12 ]; do echo . >&2; sleep 0.1; i=$((i+1)); done";
    let program = Program {
        silence_ms: Some(900),
        ..busy.shell(script)
    };
    assert_eq!(busy.ended(&program).await.cause, Cause::Finished);
}

#[tokio::test]
async fn the_stop_channel_stops() {
    let place = Place::new();
    let program = place.shell("echo $$ >pid; exec sleep 600");
    let (ask, stop) = watch::channel(false);
    let (dir, environment) = (place.dir(), environment());
    let supervisor = Supervisor::with_shim(BINARY);
    let asking = async {
        wait_for("the agent's start", || {
            (!place.text("pid").is_empty()).then_some(())
        })
        .await;
        let shim = place.shim_pid().unwrap();
        ask.send(true).unwrap();
        shim
    };
    let (outcome, shim) = tokio::join!(supervisor.run(&dir, &program, &environment, stop), asking);
    let Outcome::Ended(ended) = outcome.unwrap() else {
        panic!("lost")
    };
    assert_eq!(
        (ended.exit, ended.cause),
        (Exit::Signal(15), Cause::Stopped)
    );
    assert!(
        !Path::new(&format!("/proc/{shim}")).exists(),
        "the shim is a zombie"
    );
}

#[tokio::test]
async fn a_stop_that_is_there_before_the_start_is_never_lost() {
    for _ in 0..20 {
        let place = Place::new();
        let (_ask, stop) = watch::channel(true);
        let program = place.program(&["sleep", "600"]);
        let outcome = Supervisor::with_shim(BINARY)
            .run(&place.dir(), &program, &environment(), stop)
            .await
            .unwrap();
        let Outcome::Ended(ended) = outcome else {
            panic!("lost")
        };
        assert_eq!(ended.cause, Cause::Stopped, "{ended:?}");
    }
}

#[tokio::test]
async fn a_storm_of_forks_ends() {
    let place = Place::new();
    let script = "trap '' TERM; i=0; while [ $i -lt 1000 ]; do (setsid sh -c 'sleep 0.02; sleep 0.02; sleep 600' &); i=$((i+1)); done; sleep 600";
    let program = Program {
        deadline_ms: 1500,
        kill_grace_ms: 100,
        ..place.shell(script)
    };
    let ended = place.ended(&program).await;
    assert_eq!(
        (ended.exit, ended.cause),
        (Exit::Signal(9), Cause::TimedOut)
    );
    assert_eq!(place.alive(), Vec::<i32>::new());
}
