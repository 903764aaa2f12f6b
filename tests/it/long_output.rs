//! An agent that says more than is kept of it: its last words count all the same, and its log stays within the cap.

use crate::support::{Daemon, Site};

const CAP_BYTES: u64 = 65_536;

/// A stream of codex of some megabytes, with its answer at the very end.
const TALKS: &str = r#"
echo '{"type":"thread.started","thread_id":"the first line"}'
long=$(head -c 30000 /dev/zero | tr '\0' x)
for number in $(seq 100); do
  echo '{"type":"item.completed","item":{"id":"i'$number'","type":"command_execution","command":"cat '$number'","aggregated_output":"'$long'","exit_code":0}}'
done
echo '{"type":"item.completed","item":{"id":"m","type":"agent_message","text":"TASK_COMPLETE"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":900,"cached_input_tokens":0,"output_tokens":20}}'
"#;

#[test]
fn the_last_words_after_the_cap_count() {
    let site = Site::with_worker(TALKS).configure(&format!(
        "output = \"codex\"\n[process]\noutput_cap_bytes = {CAP_BYTES}\n"
    ));
    let daemon = Daemon::start(site);
    daemon.drop_file("talk.md", "Go.");
    let session = daemon.ended("talk");
    assert_eq!(session.ending(), ("completed", "completed"));
    let iterations = daemon.iterations(&session);
    assert_eq!(iterations.len(), 1);
    let (input, output): (i64, i64) = (
        daemon
            .cell("SELECT input_tokens FROM iterations", [])
            .unwrap(),
        daemon
            .cell("SELECT output_tokens FROM iterations", [])
            .unwrap(),
    );
    assert_eq!((input, output), (900, 20));
    let log = std::fs::read_to_string(&iterations[0].output_file).unwrap();
    assert!(log.starts_with(r#"{"type":"thread.started""#));
    assert!(log.contains("bytes left out here]\n"));
    assert!(log.ends_with("\"output_tokens\":20}}\n"));
    assert!(log.len() as u64 <= CAP_BYTES + 100, "{}", log.len());
    let shown = daemon.ralphd(&["logs", &session.id]).done();
    assert_eq!(shown, log);
}
