//! Answers of a given form, as planners and judges are asked for them: a real turn under supervision, by the library.

use super::{BOTH, Dialect, KEY};
use crate::support::model_server::{ModelServer, Play};
use ralphd::agent::roster::Roster;
use ralphd::agent::{self, Outcome, TurnEnd};
use ralphd::config::Config;
use ralphd::process::Supervisor;
use ralphd::secrets::Vault;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

fn schema() -> Json {
    json!({
        "type": "object",
        "properties": {
            "is_valid": {"type": "boolean"},
            "message": {"type": "string"},
        },
        "required": ["is_valid", "message"],
        "additionalProperties": false,
    })
}

fn ask(dialect: Dialect, server: &ModelServer) -> Outcome {
    let place = tempfile::tempdir().unwrap();
    let key_file = place.path().join("key");
    std::fs::write(&key_file, KEY).unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&key_file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let text = dialect.agent(
        server,
        &format!("api_key_file = \"{}\"", key_file.display()),
    );
    let config = Config::from_text(&text, None, &Default::default()).unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_ralphd"));
    let supervisor = Supervisor::with_shim(binary);
    let roster = Roster::new(&config, supervisor, binary.to_owned(), Vault::default()).unwrap();
    let workspace = place.path().join("workspace");
    std::fs::create_dir(&workspace).unwrap();
    let prompt_file = place.path().join("prompt.md");
    std::fs::write(&prompt_file, "Is the moon made of cheese?").unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (_stop, stopped) = watch::channel(false);
    let turn = agent::Turn {
        id: "turn".to_owned(),
        commission: agent::Commission {
            session_id: "session".to_owned(),
            task_id: "task".to_owned(),
            iteration: 1,
            workspace,
        },
        prompt_file,
        output_file: place.path().join("0001.log"),
        turn_record: place.path().join("turn"),
        timeout: Duration::from_secs(60),
        silence: None,
        environment: Vec::new(),
        answer_schema: Some(schema()),
        stop: stopped,
        reports: mpsc::channel(16).0,
    };
    let agent = roster.hire("thinker").unwrap();
    runtime.block_on(agent.run(turn)).unwrap()
}

/// The model answers with a document; where the dialect has a tool for that, by calling it.
fn document(dialect: Dialect, answer: Json) -> Play {
    match dialect {
        Dialect::Anthropic => Play::call("answer", answer),
        Dialect::Openai => Play::say(&answer.to_string()),
    }
}

#[test]
fn an_answer_of_the_wanted_form() {
    for dialect in BOTH {
        let answer = json!({"is_valid": false, "message": "It is rock."});
        let server = ModelServer::scripted(vec![document(dialect, answer.clone())]);
        let outcome = ask(dialect, &server);
        assert_eq!((outcome.end, &outcome.failure), (TurnEnd::Finished, &None));
        assert_eq!(outcome.final_text.parse::<Json>().unwrap(), answer);
    }
}

#[test]
fn a_wrong_form_is_asked_for_again_twice_with_what_was_wrong() {
    for dialect in BOTH {
        let good = json!({"is_valid": true, "message": "yes"});
        let server = ModelServer::scripted(vec![
            document(dialect, json!({"is_valid": "perhaps", "message": "?"})),
            document(dialect, json!({"message": "no verdict"})),
            document(dialect, good.clone()),
        ]);
        let outcome = ask(dialect, &server);
        assert_eq!(
            outcome.final_text.parse::<Json>().unwrap(),
            good,
            "{outcome:?}"
        );
        let again = server.requests()[1].body.to_string();
        assert!(again.contains("is_valid"), "{again}");
        assert!(outcome.usage.input_tokens.is_some());
    }
}

#[test]
fn three_wrong_forms_are_left_to_whoever_asked_and_no_form_at_all_is_a_failure() {
    for dialect in BOTH {
        let server = ModelServer::answering(move |_, _| document(dialect, json!({"no": 1})));
        let outcome = ask(dialect, &server);
        assert_eq!(server.requests().len(), 3);
        assert!(outcome.failure.is_none(), "{outcome:?}");
        assert_eq!(outcome.final_text, "{\"no\":1}");
        let server = ModelServer::answering(move |_, _| document(dialect, json!(["no"])));
        let outcome = ask(dialect, &server);
        assert_eq!(server.requests().len(), 3);
        assert!(outcome.failure.is_some(), "{outcome:?}");
        assert_eq!(outcome.final_text, "");
    }
}
