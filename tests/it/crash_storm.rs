//! The daemon killed again and again, at moments that only the seed knows, while requests come in.

use crate::support::tools::usage_limit;
use crate::support::{Daemon, Site, wait_for};
use std::fs;
use std::time::Duration;

/// Overrides how often the daemon is killed: `RALPHD_TEST_KILLS=200 cargo test storm`.
const KILLS_VARIABLE: &str = "RALPHD_TEST_KILLS";
const KILLS: usize = 30;
/// A request comes in with every so many-th kill.
const KILLS_PER_REQUEST: usize = 3;

/// A small generator: the same moments in every run.
struct Moments(u64);

impl Moments {
    fn next(&mut self) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_millis(10 + self.0 % 190)
    }
}

fn kills() -> usize {
    let given = std::env::var(KILLS_VARIABLE).ok();
    given.map_or(KILLS, |text| {
        text.parse().expect("RALPHD_TEST_KILLS is a number")
    })
}

/// Kills the daemon of a site again and again while requests come in; returns when all of them have completed, with their names.
fn storm(site: Site) -> (Daemon, Vec<String>) {
    let mut daemon = Daemon::start(site);
    let mut moments = Moments(0x9E37_79B9_7F4A_7C15);
    let mut names = Vec::new();
    for number in 0..kills() {
        if number % KILLS_PER_REQUEST == 0 {
            let name = format!("storm{number}");
            let front = if number % 2 == 0 {
                "verify: test -s steps"
            } else {
                "priority: 1"
            };
            daemon.drop_file(&format!("{name}.md"), &format!("---\n{front}\n---\nGo."));
            names.push(name);
        }
        // The moment of the kill is the input of this test, not a way to wait for anything.
        std::thread::sleep(moments.next());
        daemon.kill9();
        daemon.spawn_again();
    }
    daemon.wait_until_ready();
    for name in &names {
        let session = daemon.ended(name);
        assert_eq!(
            session.ending(),
            ("completed", "completed"),
            "{name}: {:?}",
            session.end_detail
        );
        assert_eq!(daemon.events(&session, "session.completed"), 1);
    }
    (daemon, names)
}

#[test]
fn every_session_completes_exactly_once_through_a_storm_of_kills() {
    let script = "echo x >>steps; sleep 0.05; [ $(wc -l <steps) -ge 4 ] && echo TASK_COMPLETE || echo \"$(wc -l <steps) steps\"";
    let (daemon, names) = storm(Site::with_worker(script));
    for name in &names {
        let session = daemon.session(name).unwrap();
        let verdicts = daemon.verdicts(&session);
        assert_eq!(session.iteration_count, 4, "{name}: {verdicts:?}");
    }
    assert_exactly_once(&daemon, names.len());
}

#[test]
fn limits_stand_ins_and_summaries_are_paid_once_through_a_storm_of_kills() {
    let works = "echo x >>steps; sleep 0.05; [ $(wc -l <steps) -ge 3 ] && echo TASK_COMPLETE || echo \"$(wc -l <steps) steps\"";
    let site = Site::with_worker(&usage_limit("3600"))
        .configure("output = \"claude\"\nfallback = \"other\"\n")
        .agent("other", works)
        .configure("cost_per_iteration = 1.0\n")
        .agent("scribe", "sleep 0.05; echo 'He worked.'")
        .configure(
            "cost_per_iteration = 0.25\n[defaults]\nagent = \"worker\"\nsummarizer = \"scribe\"\n",
        );
    let (daemon, names) = storm(site);
    for name in &names {
        let session = daemon.session(name).unwrap();
        let verdicts = daemon.verdicts(&session);
        assert_eq!(
            (session.iteration_count, verdicts.len()),
            (3, 4),
            "{name}: {verdicts:?}"
        );
        assert_eq!(daemon.events(&session, "agent.changed"), 1, "{name}");
        assert_eq!(daemon.events(&session, "iteration.summarized"), 2, "{name}");
        let cost = "SELECT cost_usd FROM sessions WHERE id = ?1";
        assert_eq!(daemon.cell(cost, [&session.id]), Some(3.5), "{name}");
    }
    let runs = ["worker", "other", "scribe"].map(|agent| daemon.runs(agent));
    assert_eq!(runs, [1, 3, 2].map(|each| each * names.len()));
    daemon.assert_nothing_runs();
}

/// A killed daemon loses nothing: no turn was lost, and none ran twice.
fn assert_exactly_once(daemon: &Daemon, requests: usize) {
    let count = i64::try_from(requests).unwrap();
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), count);
    assert_eq!(daemon.count("SELECT count(*) FROM iterations WHERE verdict <> 'promised' AND verdict <> 'unfinished'"), 0);
    assert_eq!(daemon.count("SELECT count(*) FROM iterations"), 4 * count);
    assert_eq!(daemon.runs("worker"), 4 * requests);
    let answers = fs::read_dir(daemon.state().join("outbox")).unwrap();
    let texts = answers.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_str().unwrap().ends_with(".md")
    });
    assert_eq!(texts.count(), requests);
    let left = |folder: &str| fs::read_dir(daemon.state().join(folder)).unwrap().count();
    // What a killed daemon left of an ended turn, the next has removed at its start.
    wait_for("the files of all turns to be gone", || {
        (left("turns") == 0).then_some(())
    });
    daemon.assert_nothing_runs();
}
