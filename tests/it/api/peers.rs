//! Peers that are too large, too slow or too many: each gets its due, and nobody else waits for it.

use super::{done_at_once, for_later, submit};
use crate::support::http::{Http, Opened};
use crate::support::{Daemon, Site};
use serde_json::json;
use std::io::{Read, Write};

fn impatient(more: &str) -> Daemon {
    let site = Site::with_worker("echo TASK_COMPLETE");
    Daemon::start(site.configure(&format!("[http]\nclient_timeout = \"1s\"\n{more}")))
}

/// Sends bytes and reads the answer.
fn answer_to(http: &Http, bytes: &[u8]) -> Opened {
    let mut connection = http.connect();
    connection.write_all(bytes).unwrap();
    Opened::read(connection)
}

#[test]
fn a_body_over_the_limit_is_refused_before_it_is_taken() {
    let daemon = done_at_once();
    let http = daemon.http().with("content-type", "application/json");
    let limit = 1 << 20;
    for (length, status) in [(limit, 100), (limit + 1, 413), (usize::MAX / 2, 413)] {
        // Nothing of it is sent before it is asked for.
        let head = http
            .with("expect", "100-continue")
            .head("POST", "/v1/sessions", length);
        assert_eq!(answer_to(&http, &head).status, status, "{length}");
    }
    // Nor does it help not to say how long it is.
    let chunked = http
        .with("transfer-encoding", "chunked")
        .with("content-length", "0");
    let head = String::from_utf8(chunked.head("POST", "/v1/sessions", 0)).unwrap();
    let head = head.replace("content-length: 0\r\n", "");
    let chunk = [&b"10000\r\n"[..], &[b' '; 0x10000], b"\r\n"].concat();
    let mut connection = http.connect();
    connection.write_all(head.as_bytes()).unwrap();
    while connection.write_all(&chunk).is_ok() {}
    // The rest of it is not waited for: what is still under way may cut the answer off, and the session is not there all the same.
    submit(&daemon.http(), &for_later("Others go on."));
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 1);

    let small = Site::with_worker("echo").configure("[http]\nmax_body_bytes = 100\n");
    let daemon = Daemon::start(small);
    let request = json!({ "objective": "x".repeat(100) });
    let detail = daemon.http().post("/v1/sessions", &request).refused(413);
    assert!(detail.contains("more than 100 bytes"), "{detail}");
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let daemon = impatient("");
    let http = daemon.http().with("content-type", "application/json");
    let mut begun = http.head("POST", "/v1/sessions", 100);
    begun.extend_from_slice(b"{\"objective\":");
    let answer = answer_to(&http, &begun);
    assert_eq!(answer.status, 408);
    assert_eq!(answer.headers["content-type"], "application/problem+json");
    // One that breaks off is no request.
    let mut connection = http.connect();
    connection.write_all(&begun).unwrap();
    connection.shutdown(std::net::Shutdown::Write).unwrap();
    let _ = connection.read(&mut [0; 1024]);
    submit(&daemon.http(), &for_later("Others go on."));
    assert_eq!(daemon.count("SELECT count(*) FROM sessions"), 1);
}

#[test]
fn who_says_nothing_or_never_ends_its_head_is_hung_up_on() {
    let daemon = impatient("max_connections = 3\n");
    let http = daemon.http();
    for begun in [
        "",
        "GET /healthz HTTP/1.1\r\nhost: ",
        "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n",
    ] {
        let mut connections: Vec<_> = (0..3).map(|_| http.connect()).collect();
        for connection in &mut connections {
            connection.write_all(begun.as_bytes()).unwrap();
        }
        // All places are taken: the next one waits until they are hung up on.
        submit(&http, &for_later("Waits for a place."));
        for mut connection in connections {
            let mut said = String::new();
            connection.read_to_string(&mut said).unwrap();
            let answered = begun.ends_with("\r\n\r\n");
            assert_eq!(said.starts_with("HTTP/1.1 200"), answered, "{said}");
        }
    }
}

#[test]
fn what_is_not_http_is_refused_and_forgotten() {
    let daemon = done_at_once();
    let http = daemon.http();
    let long = format!(
        "GET /healthz HTTP/1.1\r\nx: {}\r\n\r\n",
        "y".repeat(100_000)
    );
    let two_lengths = "POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{} ";
    let cases: [&[u8]; 6] = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"hello\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nna me: x\r\n\r\n",
        b"GET /a b HTTP/1.1\r\n\r\n",
        long.as_bytes(),
        two_lengths.as_bytes(),
    ];
    for bytes in cases {
        let mut connection = http.connect();
        let _ = connection.write_all(bytes);
        let mut said = Vec::new();
        let _ = connection.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said);
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{said}");
    }
    // Bytes that are no text, in every place that takes some.
    let odd = b"GET /v1/sessions?agent=%ff%00&label=a=%fe HTTP/1.1\r\nhost: localhost\r\nx-odd: \xff\xfe\r\nconnection: close\r\n\r\n";
    assert_eq!(answer_to(&http, odd).status, 200);
    let odd = b"GET /v1/sessions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer \xff\r\nconnection: close\r\n\r\n";
    assert_eq!(answer_to(&http, odd).status, 401);
    let odd = b"POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-type: \xff\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    assert_eq!(answer_to(&http, odd).status, 415);
    submit(&http, &for_later("Others go on."));
}
