//! The beginning and the end of a stream, whatever lies between, with memory that does not grow.

/// What is kept of a stream.
pub struct Kept {
    head: Vec<u8>,
    tail: Vec<u8>,
    head_cap: usize,
    tail_cap: usize,
    seen_bytes: u64,
}

impl Kept {
    pub fn new(cap_bytes: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: Vec::new(),
            head_cap: cap_bytes / 2,
            tail_cap: cap_bytes - cap_bytes / 2,
            seen_bytes: 0,
        }
    }

    pub fn keep(&mut self, bytes: &[u8]) {
        self.seen_bytes += bytes.len() as u64;
        let fitting = bytes.len().min(self.head_cap - self.head.len());
        let (first, rest) = bytes.split_at(fitting);
        self.head.extend_from_slice(first);
        let newest = &rest[rest.len().saturating_sub(self.tail_cap)..];
        self.tail.extend_from_slice(newest);
        // Moved only when twice full, so that each byte is moved once at most.
        if self.tail.len() > self.tail_cap.saturating_mul(2) {
            self.trim();
        }
    }

    fn trim(&mut self) {
        let surplus = self.tail.len().saturating_sub(self.tail_cap);
        self.tail.drain(..surplus);
    }

    pub fn is_truncated(&self) -> bool {
        self.seen_bytes > (self.head_cap + self.tail_cap) as u64
    }

    /// The beginning, a note of what is missing if anything is, and the end.
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.trim();
        let missing = self.seen_bytes - (self.head.len() + self.tail.len()) as u64;
        if missing > 0 {
            let note = format!("\n[… {missing} bytes left out …]\n");
            self.head.extend_from_slice(note.as_bytes());
        }
        self.head.append(&mut self.tail);
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_kept_however_they_come() {
        for (cap, text, expected) in [
            (10, "", ""),
            (10, "0123456789", "0123456789"),
            (10, "0123456789a", "01234\n[… 1 bytes left out …]\n6789a"),
            (3, "0123456789", "0\n[… 7 bytes left out …]\n89"),
            (0, "abc", "\n[… 3 bytes left out …]\n"),
        ] {
            for step in [1, 2, 3, 7, 100] {
                let mut kept = Kept::new(cap);
                for piece in text.as_bytes().chunks(step) {
                    kept.keep(piece);
                }
                assert_eq!(kept.is_truncated(), text.len() > cap);
                let bytes = kept.into_bytes();
                assert_eq!(String::from_utf8_lossy(&bytes), expected, "{cap} {step}");
            }
        }
    }
}
