//! A tree of source files to search: always the same one.

use std::fs;
use std::io::Write;
use std::path::Path;

pub const FILES: usize = 20_000;
pub const NEEDLE: &str = "quokkacounters";
pub const LARGE: &str = "large.bin.txt";
const FILES_OF_DIRECTORY: usize = 40;
const BYTES_OF_FILE: usize = 10 * 1024;
const WORDS: &[&str] = &[
    "let",
    "fn",
    "return",
    "value",
    "count",
    "self",
    "match",
    "Some(None)",
    "quotient",
    "impl",
    "where",
    "node",
    "queue",
    "// of the tree",
    "\n",
    "\n    ",
    "{",
    "}",
    "=>",
    "error",
    "result",
    "index",
    "\"text\"",
    "0x1f",
    "quokka",
];

/// Makes it; returns how many bytes it holds, the one large file aside, which is ignored by the searches.
pub fn plant(root: &Path) -> usize {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap_or(0)
    };
    let mut bytes = 0;
    for number in 0..FILES {
        let directory = root.join(format!(
            "crate{}/src/part{}",
            number / FILES_OF_DIRECTORY % 50,
            number / FILES_OF_DIRECTORY
        ));
        if number % FILES_OF_DIRECTORY == 0 {
            fs::create_dir_all(&directory).expect("a directory");
        }
        let ending = if number % 10 == 0 { "md" } else { "rs" };
        let mut text = String::with_capacity(BYTES_OF_FILE + 32);
        while text.len() < BYTES_OF_FILE {
            text.push_str(WORDS[next() % WORDS.len()]);
            text.push(' ');
        }
        if number % (FILES / 10) == 0 {
            text.push_str(NEEDLE);
        }
        bytes += text.len();
        fs::write(directory.join(format!("file{number}.{ending}")), text).expect("a file");
    }
    fs::write(root.join("crate0/needle.txt"), "x").expect("a file");
    fs::write(root.join(".ignore"), format!("{LARGE}\n")).expect("a file");
    let mut large = fs::File::create(root.join(LARGE)).expect("a file");
    let line = "one line of many in a large file\n".repeat(1 << 15);
    for _ in 0..100 {
        large.write_all(line.as_bytes()).expect("a file");
    }
    bytes
}
