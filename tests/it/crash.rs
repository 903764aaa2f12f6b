//! Nothing that dies takes a request along: kill -9 of the daemon, of a shim, of both, at any moment.

use crate::support::{Daemon, Ran, Site, is_alive, kill, wait_for};
use std::fs;

/// Waits for the test's word before it is done.
const WAITS: &str = "until [ -e \"$HERE/go\" ]; do sleep 0.02; done; echo TASK_COMPLETE";

/// The most that `min_free_bytes` may be.
const MOST_WANTED: u64 = 1 << 40;

fn let_go(daemon: &Daemon) {
    fs::write(daemon.file("go"), "").unwrap();
}

fn wait_for_runs(daemon: &Daemon, count: usize) {
    wait_for("the agents to run", || {
        (daemon.runs("worker") >= count).then_some(())
    });
}

fn only_shim(daemon: &Daemon) -> i32 {
    wait_for("the shim", || daemon.shims().first().copied())
}

#[test]
fn a_turn_outlives_the_daemon_and_is_adopted() {
    let mut daemon = Daemon::start(Site::with_worker(WAITS));
    daemon.drop_file("long.md", "Go.");
    wait_for_runs(&daemon, 1);
    daemon.kill9();
    daemon.restart();
    let_go(&daemon);
    let session = daemon.ended("long");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.iteration_count, 1);
    assert_eq!(daemon.verdicts(&session), [("promised".to_owned(), true)]);
    assert_eq!(daemon.runs("worker"), 1);
}

#[test]
fn a_turn_that_ends_while_no_daemon_runs_is_read_by_the_next() {
    let mut daemon = Daemon::start(Site::with_worker(WAITS));
    daemon.drop_file("long.md", "Go.");
    wait_for_runs(&daemon, 1);
    daemon.kill9();
    let_go(&daemon);
    wait_for("the turn's end", || {
        daemon.turn_processes().is_empty().then_some(())
    });
    daemon.restart();
    let session = daemon.ended("long");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(daemon.runs("worker"), 1);
}

#[test]
fn a_check_outlives_the_daemon_too() {
    let mut daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    let here = daemon.root().display().to_string();
    let check = format!("echo run >>{here}/checks; until [ -e {here}/go ]; do sleep 0.02; done");
    daemon.drop_file("long.md", &format!("---\nverify: \"{check}\"\n---\nGo."));
    wait_for("the check", || {
        (!daemon.read("checks").is_empty()).then_some(())
    });
    daemon.kill9();
    daemon.restart();
    let_go(&daemon);
    let session = daemon.ended("long");
    assert_eq!(session.verified.as_deref(), Some("verified"));
    assert_eq!(
        (daemon.runs("worker"), daemon.read("checks").lines().count()),
        (1, 1)
    );
}

/// Starts somebody who would stay behind, and leaves his process id.
const STRAYS: &str = "setsid sleep 600 & echo $! >>\"$HERE/strays\"";

fn strays(daemon: &Daemon, count: usize) -> Vec<i32> {
    wait_for("the strays", || {
        let text = daemon.read("strays");
        let pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        (pids.len() >= count).then_some(pids)
    })
}

#[test]
fn a_turn_that_vanished_with_its_shim_runs_again() {
    let mut daemon = Daemon::start(Site::with_worker(&format!("{STRAYS}; {WAITS}")));
    daemon.drop_file("long.md", "Go.");
    strays(&daemon, 1);
    let shim = only_shim(&daemon);
    daemon.kill9();
    kill(shim);
    wait_for("the shim's death", || (!is_alive(shim)).then_some(()));
    daemon.restart();
    let first = strays(&daemon, 2)[0];
    assert!(!is_alive(first), "never two agents in one workspace");
    let_go(&daemon);
    let session = daemon.ended("long");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.iteration_count, 1);
    let expected = [("lost".to_owned(), false), ("promised".to_owned(), true)];
    assert_eq!(daemon.verdicts(&session), expected);
    daemon.assert_nothing_runs();
}

#[test]
fn a_shim_that_dies_under_a_living_daemon() {
    let daemon = Daemon::start(Site::with_worker(&format!("{STRAYS}; {WAITS}")));
    daemon.drop_file("long.md", "Go.");
    strays(&daemon, 1);
    kill(only_shim(&daemon));
    let first = strays(&daemon, 2)[0];
    assert!(!is_alive(first), "never two agents in one workspace");
    let_go(&daemon);
    assert_eq!(daemon.ended("long").ending(), ("completed", "completed"));
    daemon.assert_nothing_runs();
}

#[test]
fn a_check_whose_shim_dies_runs_again_alone() {
    let daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    let here = daemon.root().display().to_string();
    let check = format!("HERE={here}; {STRAYS}; until [ -e {here}/go ]; do sleep 0.02; done");
    let front = format!("verify: '{check}'");
    daemon.drop_file("long.md", &format!("---\n{front}\n---\nGo."));
    strays(&daemon, 1);
    kill(only_shim(&daemon));
    let first = strays(&daemon, 2)[0];
    assert!(!is_alive(first), "never two checks in one workspace");
    let_go(&daemon);
    let session = daemon.ended("long");
    assert_eq!(session.verified.as_deref(), Some("verified"));
    assert_eq!(daemon.runs("worker"), 1);
    daemon.assert_nothing_runs();
}

#[test]
fn a_task_that_kills_whoever_works_on_it_is_poison() {
    let murder = "kill -9 $(cat \"$HERE/state/ralphd.lock\"); kill -9 $PPID; sleep 600";
    let site = Site::with_worker(murder).agent("innocent", WAITS);
    let mut daemon = Daemon::start(site);
    daemon.drop_file("innocent.md", "---\nagent: innocent\n---\nGo.");
    wait_for("the innocent", || {
        (daemon.runs("innocent") == 1).then_some(())
    });
    daemon.drop_file("poison.md", "---\nagent: worker\n---\nGo.");
    wait_for("the poison to be known", || {
        if !daemon.is_running() {
            daemon.spawn_again();
        }
        daemon
            .session("poison")
            .filter(|session| session.status == "failed")
    });
    daemon.wait_until_ready();
    let session = daemon.ended("poison");
    assert_eq!(session.ending(), ("failed", "poison"));
    assert_eq!(daemon.runs("worker"), 3);
    let (text, _) = daemon.outbox("poison", &session);
    assert!(text.contains("poison") && text.contains("died"), "{text}");
    let_go(&daemon);
    assert_eq!(
        daemon.ended("innocent").ending(),
        ("completed", "completed")
    );
    assert_eq!(daemon.runs("innocent"), 1);
    daemon.assert_nothing_runs();
}

#[test]
fn daemons_that_die_before_a_turn_begins_are_not_held_against_it() {
    let mut daemon = Daemon::start(Site::with_worker(WAITS));
    daemon.drop_file("unlucky.md", "Go.");
    for deaths in 0..8 {
        // Mostly before the shim has started; where it was quicker, its turn is adopted, which is as good.
        wait_for("the task to be claimed", || {
            (daemon.log().matches("task claimed").count() > deaths).then_some(())
        });
        daemon.kill9();
        daemon.spawn_again();
    }
    let_go(&daemon);
    let session = daemon.ended("unlucky");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(daemon.runs("worker"), 1);
}

#[test]
fn a_task_that_kills_its_own_shim_is_poison_too() {
    let daemon = Daemon::start(Site::with_worker("kill -9 $PPID; sleep 600"));
    daemon.drop_file("poison.md", "Go.");
    let session = daemon.ended("poison");
    assert_eq!(session.ending(), ("failed", "poison"));
    assert_eq!(
        daemon.verdicts(&session),
        vec![("lost".to_owned(), false); 3]
    );
    daemon.assert_nothing_runs();
}

#[test]
fn a_check_that_kills_its_own_shim_has_failed() {
    let daemon = Daemon::start(Site::with_worker(
        "echo \"turn $TURNS\"; echo TASK_COMPLETE",
    ));
    let front = "max_iterations: 2\nverify: 'kill -9 $PPID; sleep 600'";
    daemon.drop_file("check.md", &format!("---\n{front}\n---\nGo."));
    let session = daemon.ended("check");
    assert_eq!(session.ending(), ("failed", "max_iterations"));
    let second = daemon.iterations(&session)[1].prompt();
    assert!(
        second.contains("it vanished: its supervisor was killed"),
        "{second}"
    );
    daemon.assert_nothing_runs();
}

#[test]
fn a_stop_ends_the_agents_and_parks_their_tasks() {
    let site = Site::with_worker(WAITS)
        .agent("stubborn", &format!("trap '' TERM; {WAITS}"))
        .variable("RALPHD_PROCESS__KILL_GRACE", "1s");
    let mut daemon = Daemon::start(site);
    for name in ["a", "b", "c"] {
        daemon.drop_file(&format!("{name}.md"), "---\nagent: worker\n---\nGo.");
    }
    daemon.drop_file("d.md", "---\nagent: stubborn\n---\nGo.");
    wait_for_runs(&daemon, 3);
    wait_for("the stubborn one", || {
        (daemon.runs("stubborn") == 1).then_some(())
    });
    assert_eq!(daemon.terminate().code(), Some(0));
    daemon.assert_nothing_runs();
    let tasks: Vec<String> = daemon.column("SELECT status FROM tasks", []);
    assert_eq!(tasks, ["pending"; 4]);
    let_go(&daemon);
    daemon.restart();
    for name in ["a", "b", "c", "d"] {
        let session = daemon.ended(name);
        assert_eq!(session.ending(), ("completed", "completed"), "{name}");
        assert_eq!(session.iteration_count, 1);
    }
}

#[test]
fn only_one_daemon_works_on_a_state() {
    let mut daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    let second = daemon.ralphd(&["serve"]);
    assert_eq!(second.code, Some(1), "{second:?}");
    let first = format!("pid {}", daemon.pid());
    assert!(second.stderr.contains(&first), "{second:?}");
    assert!(daemon.is_running());
    daemon.drop_file("still.md", "Go.");
    assert_eq!(daemon.ended("still").status, "completed");
}

#[test]
fn what_an_agent_leaves_behind_is_ended_with_its_turn() {
    let script = "for number in $(seq 100); do (setsid sleep 600 &); done; echo TASK_COMPLETE";
    let daemon = Daemon::start(Site::with_worker(script));
    daemon.drop_file("herd.md", "Go.");
    assert_eq!(daemon.ended("herd").ending(), ("completed", "completed"));
    daemon.assert_nothing_runs();
}

#[test]
fn a_database_of_a_newer_version_is_refused_in_one_sentence() {
    let site = Site::with_worker("echo TASK_COMPLETE");
    fs::create_dir_all(site.state()).unwrap();
    let database = rusqlite::Connection::open(site.state().join("ralphd.db")).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    drop(database);
    for verb in [&["serve"][..], &["cancel", "0199"]] {
        let ran: Ran = site.ralphd(verb);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("schema version 99"), "{ran:?}");
        assert_eq!(ran.stderr.trim().lines().count(), 1, "{ran:?}");
    }
}

#[test]
fn a_foreground_run_that_dies_is_finished_by_the_daemon() {
    let site = Site::with_worker(WAITS).variable("RALPHD_QUEUE__HEARTBEAT", "500ms");
    let daemon = Daemon::start(site);
    let mut command = daemon.command(&["run", "Go on alone", "--quiet"]);
    let mut run = command.spawn().unwrap();
    wait_for_runs(&daemon, 1);
    run.kill().unwrap();
    run.wait().unwrap();
    let_go(&daemon);
    let session = daemon.ended("go-on-alone");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(session.iteration_count, 1);
    assert_eq!(daemon.runs("worker"), 1);
}

#[test]
fn a_stop_during_a_check_leaves_its_turn_to_be_judged() {
    let mut daemon = Daemon::start(Site::with_worker("echo TASK_COMPLETE"));
    let here = daemon.root().display().to_string();
    let check = format!("echo run >>{here}/checks; until [ -e {here}/go ]; do sleep 0.02; done");
    daemon.drop_file("long.md", &format!("---\nverify: \"{check}\"\n---\nGo."));
    wait_for("the check", || {
        (!daemon.read("checks").is_empty()).then_some(())
    });
    assert_eq!(daemon.terminate().code(), Some(0));
    daemon.assert_nothing_runs();
    let_go(&daemon);
    daemon.restart();
    let session = daemon.ended("long");
    assert_eq!(session.verified.as_deref(), Some("verified"));
    assert_eq!(session.iteration_count, 1);
    assert_eq!(
        daemon.runs("worker"),
        1,
        "the agent had kept its word already"
    );
}

#[test]
fn a_stop_during_a_check_leaves_an_adopted_turn_to_be_judged_too() {
    let mut daemon = Daemon::start(Site::with_worker(WAITS));
    let here = daemon.root().display().to_string();
    let check = format!("echo run >>{here}/checks; until [ -e {here}/good ]; do sleep 0.02; done");
    daemon.drop_file("long.md", &format!("---\nverify: \"{check}\"\n---\nGo."));
    wait_for_runs(&daemon, 1);
    daemon.kill9();
    daemon.restart();
    let_go(&daemon);
    wait_for("the check", || {
        (!daemon.read("checks").is_empty()).then_some(())
    });
    assert_eq!(daemon.terminate().code(), Some(0));
    fs::write(daemon.file("good"), "").unwrap();
    daemon.restart();
    let session = daemon.ended("long");
    assert_eq!(session.verified.as_deref(), Some("verified"));
    assert_eq!(daemon.verdicts(&session), [("promised".to_owned(), true)]);
    assert_eq!(daemon.runs("worker"), 1);
}

#[test]
fn a_turn_is_adopted_also_where_no_new_one_may_start_for_want_of_room() {
    let mut daemon = Daemon::start(Site::with_worker(WAITS));
    let disk = rustix::fs::statvfs(daemon.state()).unwrap();
    if disk.f_bavail * disk.f_frsize >= MOST_WANTED {
        println!("SKIPPED: want of room: there is more than can be wanted");
        return;
    }
    daemon.drop_file("long.md", "Go.");
    wait_for_runs(&daemon, 1);
    daemon.kill9();
    let wanted = format!("[workspaces]\nmin_free_bytes = {MOST_WANTED}\n");
    let config = daemon.read("ralphd.toml") + &wanted;
    fs::write(daemon.file("ralphd.toml"), config).unwrap();
    daemon.restart();
    daemon.drop_file("later.md", "Go.");
    let parked = "SELECT parked_reason FROM tasks WHERE parked_reason LIKE '%min_free_bytes%'";
    wait_for("the new one to wait", || daemon.cell::<String>(parked, []));
    let_go(&daemon);
    let session = daemon.ended("long");
    assert_eq!(daemon.verdicts(&session), [("promised".to_owned(), true)]);
    assert_eq!(daemon.runs("worker"), 1);
}

#[test]
fn a_power_cut_before_the_prompt_was_on_the_disk_costs_one_turn() {
    for began in [true, false] {
        let mut daemon = Daemon::start(Site::with_worker(WAITS));
        daemon.drop_file("long.md", "Go.");
        wait_for_runs(&daemon, 1);
        let shim = only_shim(&daemon);
        daemon.kill9();
        kill(shim);
        wait_for("the end of all processes", || {
            daemon.turn_processes().into_iter().for_each(kill);
            daemon.turn_processes().is_empty().then_some(())
        });
        let files = "SELECT prompt_file FROM iterations UNION ALL SELECT ?1 || '/turns/' || id FROM iterations";
        let state = daemon.state().display().to_string();
        let files: Vec<String> = daemon.column(files, [state]);
        fs::remove_file(&files[0]).unwrap();
        if !began {
            fs::remove_file(&files[1]).unwrap();
        }
        let_go(&daemon);
        daemon.restart();
        let session = daemon.ended("long");
        assert_eq!(
            daemon.verdicts(&session),
            [("lost".to_owned(), false), ("promised".to_owned(), true)],
            "began: {began}"
        );
        assert_eq!(daemon.runs("worker"), 2);
    }
}

#[test]
fn a_stop_during_a_backoff_forgets_nothing() {
    let site = Site::with_worker("[ -e \"$HERE/go\" ] && echo TASK_COMPLETE || exit 7")
        .variable("RALPHD_DEFAULTS__TRANSIENT_BACKOFF", "1s");
    let mut daemon = Daemon::start(site);
    daemon.drop_file("shaky.md", "Go.");
    wait_for("the backoff", || {
        let parked = "SELECT parked_until_ms FROM tasks WHERE parked_until_ms IS NOT NULL";
        daemon.cell::<i64>(parked, [])
    });
    assert_eq!(daemon.terminate().code(), Some(0));
    let_go(&daemon);
    daemon.restart();
    let session = daemon.ended("shaky");
    assert_eq!(session.ending(), ("completed", "completed"));
    assert_eq!(daemon.verdicts(&session)[0], ("failed".to_owned(), false));
}

#[test]
fn an_agent_that_is_no_longer_configured_is_ended_with_its_session() {
    let site = Site::with_worker("exec sleep 600").agent("other", "echo TASK_COMPLETE");
    let mut daemon = Daemon::start(site);
    daemon.drop_file("job.md", "---\nagent: worker\n---\nGo.");
    wait_for("the agent", || (daemon.runs("worker") == 1).then_some(()));
    daemon.kill9();
    let config = std::fs::read_to_string(daemon.file("ralphd.toml")).unwrap();
    let config = config.replace("[agents.worker]", "[agents.renamed]");
    std::fs::write(daemon.file("ralphd.toml"), config).unwrap();
    daemon.restart();
    let session = daemon.ended("job");
    assert_eq!(session.ending(), ("failed", "agent_failed"));
    wait_for("the agent to be gone", || {
        daemon.turn_processes().is_empty().then_some(())
    });
    assert_eq!(
        daemon.count("SELECT count(*) FROM iterations WHERE ended_at_ms IS NULL"),
        0
    );
}
