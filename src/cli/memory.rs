//! How the daemon stays small while it waits: large buffers go back to the system at once, and what only a start needs, of memory
//! and of code, goes after it. Nothing here may fail: where the system refuses, only more memory is used.

use std::ops::Range;

/// Buffers from this size on go back to the system as soon as they are free.
#[cfg(target_env = "gnu")]
const LARGE_BUFFER_BYTES: i32 = 256 * 1024;

/// The C library raises the size from which on it gives memory back with every large buffer it meets: after one line of megabytes
/// each thread that reads would keep as much for itself. To be called before any other thread is there.
pub fn give_back_buffers() {
    #[cfg(target_env = "gnu")]
    // SAFETY: two plain numbers.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BUFFER_BYTES);
    }
}

/// What only the start needed goes back to the system. To be called when the start is over.
pub fn give_back_the_start() {
    give_back_freed();
    give_back_code();
}

/// First looks over a long history are made by several threads, and the C library keeps for each what it once had.
fn give_back_freed() {
    #[cfg(target_env = "gnu")]
    // SAFETY: one plain number; only memory that nobody has goes.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Reading the command line and the configuration goes through most of the program; waiting goes through very little of it.
/// The system maps code in large pieces and keeps it mapped: what is used again comes back from its cache.
fn give_back_code() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for code in maps.lines().filter_map(code) {
        // SAFETY: the range is mapped from a file and nobody can write to it, so each page comes back as it was.
        unsafe {
            libc::madvise(code.start as *mut _, code.len(), libc::MADV_DONTNEED);
        }
    }
}

/// The addresses of a line of `/proc/self/maps`, if it is code of a file. Data that the start has adjusted is not: that would not come back.
fn code(line: &str) -> Option<Range<usize>> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (rights, file) = (words.next()?, words.nth(3)?);
    let address = |text| usize::from_str_radix(text, 16).ok();
    (rights == "r-xp" && file.starts_with('/')).then_some(address(start)?..address(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_code_of_files_goes_back() {
        let kept = [
            "55d0053a2000-55d0053c3000 rw-p 00000000 00:00 0    [heap]",
            "7f9e84100000-7f9e84200000 r--p 017f2000 fe:00 1234 /usr/bin/ralphd",
            "7f9e84100000-7f9e84200000 rwxp 0051e000 fe:00 1234 /usr/bin/ralphd",
            "7f9e84100000-7f9e84200000 r-xp 00000000 00:00 0",
            "7ffd5a1d2000-7ffd5a1d4000 r-xp 00000000 00:00 0    [vdso]",
            "nonsense",
            "",
        ];
        for line in kept {
            assert_eq!(code(line), None, "{line}");
        }
        let line = "55d003000000-55d0042d4000 r-xp 0051e000 fe:00 1234   /opt/our tools/ralphd";
        assert_eq!(code(line), Some(0x55d0_0300_0000..0x55d0_042d_4000));
    }

    #[test]
    fn code_that_went_back_still_works() {
        let before = serde_json::json!({"kept": [1, 2, 3]}).to_string();
        give_back_code();
        assert_eq!(serde_json::json!({"kept": [1, 2, 3]}).to_string(), before);
    }
}
