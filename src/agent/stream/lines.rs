//! Splits the bytes of a stream into lines, whatever their chunking. It must not keep more than one line, and must not look into it.

use memchr::memchr;

/// The longest line that is read; tools write whole answers of megabytes as one line.
pub(super) const LINE_MAX_BYTES: usize = 16 * 1024 * 1024;

/// A buffer grown past this by one long line is given back once that line is done.
const KEPT_CAPACITY_BYTES: usize = 256 * 1024;

/// The line that has begun and not ended.
#[derive(Default)]
pub(super) struct Lines {
    pending: Vec<u8>,
    skipping: bool,
    skipped: u64,
}

impl Lines {
    /// Takes the next bytes and hands on every line they end, without line end.
    pub(super) fn feed(&mut self, mut chunk: &[u8], each: &mut dyn FnMut(&[u8])) {
        while let Some(at) = memchr(b'\n', chunk) {
            self.complete(&chunk[..at], each);
            chunk = &chunk[at + 1..];
        }
        self.keep(chunk);
    }

    /// Hands on a last line that had no line end.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(&[u8])) {
        if !self.skipping && !self.pending.is_empty() {
            each(without_carriage_return(&self.pending));
        }
        self.pending = Vec::new();
    }

    /// How many lines were too long to be read.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    fn complete(&mut self, end: &[u8], each: &mut dyn FnMut(&[u8])) {
        if self.pending.is_empty() && !self.skipping && end.len() <= LINE_MAX_BYTES {
            return each(without_carriage_return(end));
        }
        self.keep(end);
        if !self.skipping {
            each(without_carriage_return(&self.pending));
        }
        self.skipping = false;
        self.pending.clear();
        if self.pending.capacity() > KEPT_CAPACITY_BYTES {
            self.pending = Vec::new();
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.skipping {
            return;
        }
        if self.pending.len() + bytes.len() > LINE_MAX_BYTES {
            self.pending = Vec::new();
            self.skipping = true;
            self.skipped += 1;
        } else {
            self.pending.extend_from_slice(bytes);
        }
    }
}

fn without_carriage_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(chunks: &[&[u8]]) -> (Vec<String>, u64) {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        let mut each = |line: &[u8]| seen.push(String::from_utf8_lossy(line).into_owned());
        for chunk in chunks {
            lines.feed(chunk, &mut each);
        }
        lines.finish(&mut each);
        (seen, lines.skipped())
    }

    #[test]
    fn lines_come_out_whole() {
        let table: [(&[&[u8]], &[&str]); 6] = [
            (&[b"a\nb\n"], &["a", "b"]),
            (&[b"a\r\nb\r\n"], &["a", "b"]),
            (&[b"a", b"", b"b\nc"], &["ab", "c"]),
            (&[b"a\r", b"\nb"], &["a", "b"]),
            (&[b"\n\n"], &["", ""]),
            (&[b""], &[]),
        ];
        for (chunks, expected) in table {
            assert_eq!(split(chunks).0, expected, "{chunks:?}");
        }
    }

    #[test]
    fn a_line_over_the_maximum_is_skipped_alone() {
        let huge = vec![b'x'; LINE_MAX_BYTES / 2 + 1];
        let (seen, skipped) = split(&[b"a\n", &huge, &huge, b"y\nb\n"]);
        assert_eq!((seen, skipped), (vec!["a".to_owned(), "b".to_owned()], 1));
        let mut whole = vec![b'x'; LINE_MAX_BYTES + 1];
        whole.extend_from_slice(b"\nb");
        assert_eq!(split(&[&whole]), (vec!["b".to_owned()], 1));
        assert_eq!(split(&[&whole[..LINE_MAX_BYTES + 1]]), (vec![], 1));
    }

    #[test]
    fn the_buffer_is_given_back_after_a_long_line() {
        let mut lines = Lines::default();
        lines.feed(&vec![b'x'; 3_000_000], &mut |_| {});
        lines.feed(b"\nshort", &mut |_| {});
        assert!(lines.pending.capacity() <= KEPT_CAPACITY_BYTES);
    }
}
