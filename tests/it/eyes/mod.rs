//! What people and machines see of the daemon: numbers, the morning paper, statistics, the live view, the history as a contract.

mod digest;
mod events;
mod metrics;
mod stats;
#[cfg(feature = "otel")]
mod telemetry;
mod watch;

use crate::support::Site;
use std::io::{Read, Write};
use std::net::TcpStream;

/// An answer over HTTP: its status, its head and its body.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// Asks the daemon of a site, with further lines for the head of the request.
fn get(site: &Site, path: &str, head: &str) -> Answer {
    let mut stream = TcpStream::connect(site.read("state/ralphd.http")).unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{head}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}

/// Does what its objective says.
const OBEDIENT: &str = r#"
case $(cat) in
  *"please fail"*) echo no >&2; exit 3;;
  *"please tamper"*) echo "exit 0" > check.sh; echo TASK_COMPLETE;;
  *"please ask"*) mkdir -p state; echo '{"question": "Blue or red?", "options": ["blue", "red"]}' > state/question.json;;
  *) echo TASK_COMPLETE;;
esac"#;

/// A site whose worker does what it is told, at a price.
fn obedient() -> Site {
    Site::with_worker(OBEDIENT).configure(
        "cost_per_iteration = 0.25\nmodel = \"model-x\"\n[defaults]\ntransient_retries = 0\n",
    )
}
