//! A caller of the HTTP API: every byte that it sends is the test's choice, and an answer is what came over the wire.

use super::Site;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Only bounds a test that has failed already.
const PATIENCE: Duration = Duration::from_secs(90);

/// Whom to call, and what to say with every call.
#[derive(Clone)]
pub struct Http {
    pub address: SocketAddr,
    headers: Vec<(String, String)>,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Site {
    /// A caller of the daemon that works here now.
    pub fn http(&self) -> Http {
        let address = self.read("state/ralphd.http");
        Http {
            address: address.parse().unwrap(),
            headers: Vec::new(),
        }
    }
}

impl Http {
    /// With one more header.
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut caller = self.clone();
        caller.headers.push((name.to_owned(), value.to_owned()));
        caller
    }

    /// Shows a token.
    pub fn bearing(&self, token: &str) -> Self {
        self.with("authorization", &format!("Bearer {token}"))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.call("GET", path, b"")
    }

    /// Posts JSON.
    pub fn post(&self, path: &str, body: &Json) -> Answer {
        let caller = self.with("content-type", "application/json");
        caller.call("POST", path, body.to_string().as_bytes())
    }

    /// One call on a connection of its own.
    pub fn call(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        let mut connection = self.connect();
        connection
            .write_all(&self.head(method, path, body.len()))
            .unwrap();
        // An answer may come before all of a body was taken.
        let _ = connection.write_all(body);
        Opened::read(connection).whole(method == "HEAD")
    }

    /// Calls and leaves the answer's body unread.
    pub fn open(&self, path: &str) -> Opened {
        let mut connection = self.connect();
        connection.write_all(&self.head("GET", path, 0)).unwrap();
        Opened::read(connection)
    }

    pub fn connect(&self) -> TcpStream {
        let connection = TcpStream::connect(self.address).unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        connection.set_write_timeout(Some(PATIENCE)).unwrap();
        connection
    }

    /// What a call begins with.
    pub fn head(&self, method: &str, path: &str, body_bytes: usize) -> Vec<u8> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        let given = |name: &str| self.headers.iter().any(|(known, _)| known == name);
        if !given("host") {
            head.push_str(&format!("host: {}\r\n", self.address));
        }
        if (body_bytes > 0 || method == "POST") && !given("content-length") {
            head.push_str(&format!("content-length: {body_bytes}\r\n"));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head.into_bytes()
    }
}

impl Answer {
    pub fn json(&self) -> Json {
        let read = serde_json::from_str(&self.body);
        read.unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What it says, after it was asserted that it is this kind of answer.
    pub fn expect(self, status: u16) -> Json {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.headers["content-type"], "application/json", "{self:?}");
        self.json()
    }

    /// The same for a refusal; returns its detail.
    pub fn refused(self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.headers["content-type"], "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["type"], "about:blank", "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(problem["instance"], self.headers["x-request-id"].as_str());
        assert!(
            problem["title"]
                .as_str()
                .is_some_and(|title| !title.is_empty())
        );
        problem["detail"].as_str().unwrap().to_owned()
    }
}

/// An answer whose head was read.
pub struct Opened {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    connection: BufReader<TcpStream>,
    /// What is left of the chunk that is being read.
    chunk: usize,
}

impl Opened {
    pub fn read(connection: TcpStream) -> Self {
        let mut connection = BufReader::new(connection);
        let mut line = || {
            let mut line = String::new();
            connection.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        };
        let first = line();
        let status = first
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no answer: {first:?}"));
        let mut headers = BTreeMap::new();
        while let Some((name, value)) = line().split_once(':') {
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        Self {
            status,
            headers,
            connection,
            chunk: 0,
        }
    }

    fn whole(mut self, head_only: bool) -> Answer {
        let length = self.headers.get("content-length");
        let length = length.map(|length| length.parse::<usize>().unwrap());
        let mut bytes = Vec::new();
        if let Some(length) = length.filter(|_| !head_only) {
            bytes.resize(length, 0);
            self.connection.read_exact(&mut bytes).unwrap();
        } else if self.headers.contains_key("transfer-encoding") && !head_only {
            while let Some(byte) = self.byte() {
                bytes.push(byte);
            }
        }
        Answer {
            status: self.status,
            headers: self.headers,
            body: String::from_utf8(bytes).unwrap(),
        }
    }

    /// The next line of a body that comes bit by bit; nothing at its end.
    pub fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        loop {
            match self.byte() {
                Some(b'\n') => return Some(String::from_utf8(line).unwrap()),
                Some(byte) => line.push(byte),
                None => {
                    assert!(line.is_empty(), "it broke off within a line");
                    return None;
                }
            }
        }
    }

    fn byte(&mut self) -> Option<u8> {
        if self.chunk == 0 {
            let mut size = String::new();
            self.connection.read_line(&mut size).unwrap();
            self.chunk = usize::from_str_radix(size.trim(), 16).expect("a chunk, not a cut");
            if self.chunk == 0 {
                return None;
            }
        }
        let mut byte = [0];
        self.connection.read_exact(&mut byte).unwrap();
        self.chunk -= 1;
        if self.chunk == 0 {
            let mut end = [0; 2];
            self.connection.read_exact(&mut end).unwrap();
        }
        Some(byte[0])
    }
}
