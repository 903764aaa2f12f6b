//! The session that every tool has to get through: half of the work and a note for the successor, then the rest and the promise.

use super::place;
use super::setups::{Tool, expected_cost};
use crate::support::model_server::{Exchange, ModelServer, Part, Scene, Tokens};
use crate::support::{Ran, Session, Site};
use std::fs;

const SCENES: &[Scene] = &[
    Scene {
        command: r#"mkdir -p state && echo '{"phase":"half","next_step":"finish the note"}' > state/handoff.json && echo half > note.txt"#,
        words: "Half of the note is written; the rest is for the next one.",
    },
    Scene {
        command: "echo whole > note.txt",
        words: "The note is written.\n\nTASK_COMPLETE",
    },
];
/// Nothing answers there.
const DEAD_PROXY: &str = "http://127.0.0.1:9";

pub fn play(tool: &Tool) {
    let server = ModelServer::start(SCENES);
    let site = site(tool, &server);
    let ran = site.ralphd(&["run", "Write a note.", "--max-iterations", "4"]);
    let told = told_of(&site, &ran, &server);
    assert_eq!(ran.code, Some(0), "{told}");
    let id: String = site.cell("SELECT id FROM sessions", []).unwrap();
    let session = site.session(&id).unwrap();
    assert_eq!(session.ending(), ("completed", "completed"), "{told}");
    assert_eq!(session.iteration_count, 2, "{told}");
    assert_eq!(session.answer(), "The note is written.");
    assert_eq!(
        fs::read_to_string(session.workspace.join("note.txt")).unwrap(),
        "whole\n"
    );
    for (iteration, scene) in site.iterations(&session).iter().zip(SCENES) {
        assert_eq!(iteration.final_text.as_deref(), Some(scene.words), "{told}");
    }
    assert_usage(tool, &site, &session, &server, &told);
    site.assert_nothing_runs();
}

/// A site with the tool as its only agent, set up as its user would.
fn site(tool: &Tool, server: &ModelServer) -> Site {
    let url = server.url();
    let mut site = Site::new()
        .configure("[defaults]\niteration_timeout = \"3m\"\ntransient_retries = 0\n")
        .configure(&format!(
            "[agents.{name}]\npreset = \"{name}\"\n{}",
            tool.settings,
            name = tool.name
        ))
        .variable("PATH", &place::search_path())
        .variable("HTTPS_PROXY", DEAD_PROXY)
        .variable("NO_PROXY", "127.0.0.1");
    let home = site.file("home");
    site = site.variable("HOME", home.to_str().unwrap());
    for (name, value) in (tool.variables)(&url) {
        site = site.variable(name, &value);
    }
    fs::create_dir_all(&home).unwrap();
    for (name, text) in (tool.files)(&url) {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    site
}

/// The rows of both iterations against what the server told the tool, its side requests included.
fn assert_usage(tool: &Tool, site: &Site, session: &Session, server: &ModelServer, told: &str) {
    let stray = |one: &&Exchange| one.iteration.is_none() && one.tokens != Tokens::default();
    assert_eq!(server.exchanges().iter().filter(stray).count(), 0, "{told}");
    for number in 1..=2 {
        let exchanges = server.told(number);
        let played = |part: Part| exchanges.iter().filter(|one| one.part == part).count();
        assert_eq!((played(Part::Call), played(Part::Words)), (1, 1), "{told}");
        let counted: Tokens = exchanges.iter().map(|one| one.tokens).sum();
        let row = Row::read(site, session, number);
        let tokens = (counted.input() as i64, counted.output as i64);
        assert_eq!(row.tokens, tool.tells_tokens.then_some(tokens), "{told}");
        let is_equal = match (row.cost_usd, expected_cost(tool, counted)) {
            (Some(cost), Some(expected)) => (cost - expected).abs() < 1e-9,
            (cost, expected) => cost == expected,
        };
        assert!(is_equal, "cost {:?}\n{told}", row.cost_usd);
        assert_eq!(row.calls, i64::from(tool.tells_calls), "{told}");
    }
}

/// What the rows of one iteration say of its use.
struct Row {
    tokens: Option<(i64, i64)>,
    cost_usd: Option<f64>,
    /// Calls that went well.
    calls: i64,
}

impl Row {
    fn read(site: &Site, session: &Session, number: usize) -> Self {
        let of_iteration = (&session.id, number as i64);
        let token = |column: &str| -> Option<i64> {
            let sql =
                format!("SELECT {column} FROM iterations WHERE session_id = ?1 AND number = ?2");
            site.cell::<Option<i64>>(&sql, of_iteration).flatten()
        };
        let cost = "SELECT cost_usd FROM iterations WHERE session_id = ?1 AND number = ?2";
        let calls =
            "SELECT count(*) FROM tool_calls AS c JOIN iterations AS i ON i.id = c.iteration_id
                     WHERE i.session_id = ?1 AND i.number = ?2 AND c.ok";
        Self {
            tokens: token("input_tokens").zip(token("output_tokens")),
            cost_usd: site.cell::<Option<f64>>(cost, of_iteration).flatten(),
            calls: site.cell(calls, of_iteration).unwrap(),
        }
    }
}

/// All that helps to understand a failure.
fn told_of(site: &Site, ran: &Ran, server: &ModelServer) -> String {
    let mut text = format!("{}\n{}\n", ran.stdout, ran.stderr);
    for exchange in server.exchanges() {
        let Exchange {
            asked,
            model,
            iteration,
            part,
            tokens,
        } = exchange;
        text.push_str(&format!(
            "{asked} {model} iteration {iteration:?}: {part:?}, {tokens:?}\n"
        ));
    }
    let files: Vec<String> = site.column("SELECT output_file FROM iterations", []);
    for file in files {
        for file in [file.clone(), file.replace(".log", ".stderr.log")] {
            let said = fs::read_to_string(&file).unwrap_or_default();
            text.push_str(&format!("--- {file}\n{said}\n"));
        }
    }
    text
}
