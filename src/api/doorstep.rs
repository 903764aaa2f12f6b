//! Where a connection waits until the head of its first call is whole: with the bytes that have come and nothing else, so that a thousand
//! that send theirs letter by letter hold next to nothing. It must not judge a head; hyper does that.

use std::io::{self, ErrorKind};
use tokio::net::TcpStream;

/// Read at once.
const BITE: usize = 4096;

/// The first bytes of a connection, with a whole head or more of it than is taken. Nothing where nobody is there any more.
pub async fn first_head(stream: &TcpStream, max_bytes: usize) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    loop {
        stream.readable().await?;
        let before = head.len();
        match take_in(stream, &mut head) {
            Ok(0) if head.is_empty() => return Ok(None),
            // Who closes that side may still want to hear what is wrong.
            Ok(0) => return Ok(Some(head)),
            Ok(_) if is_enough(&head, before, max_bytes) => return Ok(Some(head)),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// A function of its own, so that no connection keeps the room for a bite while it waits.
fn take_in(stream: &TcpStream, head: &mut Vec<u8>) -> io::Result<usize> {
    let mut bite = [0; BITE];
    let count = stream.try_read(&mut bite)?;
    head.reserve_exact(count);
    head.extend_from_slice(&bite[..count]);
    Ok(count)
}

/// Whether there is something to be judged; `before` bytes were looked through already.
fn is_enough(head: &[u8], before: usize, max_bytes: usize) -> bool {
    let is_call = head[0].is_ascii_alphabetic() || matches!(head[0], b'\r' | b'\n');
    let news = &head[before.saturating_sub(3)..];
    let ends = |end: &[u8]| news.windows(end.len()).any(|bytes| bytes == end);
    !is_call || head.len() >= max_bytes || ends(b"\r\n\r\n") || ends(b"\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (near, far) = tokio::join!(listener.accept(), TcpStream::connect(address));
        (near.unwrap().0, far.unwrap())
    }

    #[tokio::test]
    async fn a_head_is_whole_however_it_comes() {
        let whole = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
        for at in 1..whole.len() {
            let (near, mut far) = pair().await;
            let heard = async {
                let head = first_head(&near, 100).await.unwrap().unwrap();
                head.starts_with(whole)
            };
            let said = async {
                far.write_all(&whole[..at]).await.unwrap();
                tokio::task::yield_now().await;
                far.write_all(&whole[at..]).await.unwrap();
                far.write_all(b"more").await.unwrap();
            };
            assert!(tokio::join!(heard, said).0, "cut at {at}");
        }
    }

    #[tokio::test]
    async fn what_will_never_be_one_is_handed_on() {
        let long = "x".repeat(200);
        for (said, handed_on) in [
            ("", None),
            ("GET / HT", Some("GET / HT")),
            ("\u{16}\u{3}\u{1}", Some("\u{16}\u{3}\u{1}")),
            (
                "GET / HTTP/1.1\nhost: x\n\n",
                Some("GET / HTTP/1.1\nhost: x\n\n"),
            ),
            (&long, Some(long.as_str())),
        ] {
            let (near, mut far) = pair().await;
            far.write_all(said.as_bytes()).await.unwrap();
            far.shutdown().await.unwrap();
            let head = first_head(&near, 100).await.unwrap();
            assert_eq!(head.as_deref(), handed_on.map(str::as_bytes), "{said}");
        }
    }
}
