//! What must not matter: how the bytes were cut, what stands between the lines, where the stream broke off.

use proptest::prelude::*;
use ralphd::agent::stream::Format::{self, *};

use super::cases::{Case, DONE, cases, exits, read, run};

#[test]
fn byte_by_byte_is_the_same() {
    for case in cases() {
        let text = read(case.file);
        assert_eq!(
            run(&case, text.as_bytes().chunks(1)),
            run(&case, [text.as_bytes()]),
            "{}",
            case.file
        );
    }
}

#[test]
fn line_ends_may_be_those_of_windows() {
    for case in cases() {
        let text = read(case.file);
        let windows = text.replace('\n', "\r\n");
        assert_eq!(
            run(&case, [windows.as_bytes()]),
            run(&case, [text.as_bytes()]),
            "{}",
            case.file
        );
    }
}

/// Where the last word that decides on success ends. pi says it before it repeats everything.
fn decided_at(case: &Case, text: &str) -> usize {
    let from = if case.format() == Pi {
        text.rfind("{\"type\":\"message_end\"").unwrap_or(0)
    } else {
        text.trim_end().len()
    };
    text[from..]
        .find('\n')
        .map_or(text.trim_end().len(), |end| from + end)
}

#[test]
fn a_stream_cut_anywhere_keeps_no_promise() {
    for mut case in cases() {
        // Of plain text only the exit code tells that it was cut.
        if case.format() == Text {
            continue;
        }
        case.exit_code = Some(0);
        let text = read(case.file);
        for cut in 0..decided_at(&case, &text) {
            let (report, _) = run(&case, [&text.as_bytes()[..cut]]);
            let kept = report.failure.is_none() && report.final_text.contains("COMPLETE");
            assert!(!kept, "{} cut at {cut}", case.file);
        }
    }
}

#[test]
fn garbage_between_lines_changes_nothing() {
    let garbage: [&[u8]; 11] = [
        b"npm warn deprecated",
        b"{broken",
        b"[1,2]",
        b"null",
        b"{}",
        b"",
        b"\xff\xfe{\"type\":\"result\"",
        b"{\"type\":5,\"message\":\"x\"}",
        b"{\"type\":\"unknown_event\",\"message\":{\"content\":[1,{}]},\"usage\":[]}",
        b"\x1b[31mred\x1b[0m",
        "{\"type\":\"résumé\",\"part\":null}".as_bytes(),
    ];
    for case in cases() {
        // One object over many lines cannot have others between them, and plain text is all words.
        if case.format() == Text || case.file.starts_with("gemini-json") {
            continue;
        }
        let text = read(case.file);
        let mut mixed = Vec::new();
        for (number, line) in text.lines().enumerate() {
            for part in [
                garbage[number % garbage.len()],
                line.as_bytes(),
                garbage[(number * 7 + 3) % garbage.len()],
            ] {
                mixed.extend_from_slice(part);
                mixed.push(b'\n');
            }
        }
        assert_eq!(
            run(&case, [mixed.as_slice()]),
            run(&case, [text.as_bytes()]),
            "{}",
            case.file
        );
    }
}

#[test]
fn bytes_that_are_no_text_are_read_as_best_as_can_be() {
    let case = exits("", Claude, 0);
    let line = b"{\"type\":\"result\",\"is_error\":false,\"result\":\"a\xff\xfeb\"}";
    let (report, _) = run(&case, [line.as_slice()]);
    assert_eq!(
        (report.final_text.as_str(), report.failure),
        ("a\u{fffd}\u{fffd}b", None)
    );
}

#[test]
fn an_answer_of_megabytes_on_one_line_keeps_its_end() {
    let case = exits("", Claude, 0);
    let long = "line of an answer\\n".repeat(180_000);
    let line =
        format!("{{\"is_error\":false,\"result\":\"{long}COMPLETE\",\"type\":\"result\"}}\n");
    assert!(line.len() > 3_000_000);
    let (report, _) = run(&case, line.as_bytes().chunks(65_536));
    assert!(report.final_text.len() <= 256 * 1024 && report.final_text.ends_with("\nCOMPLETE"));
    assert_eq!(report.failure, None);
}

#[test]
fn a_line_over_the_maximum_is_skipped_with_a_warning() {
    let case = exits("", Codex, 0);
    let huge = format!(
        "{{\"type\":\"x\",\"y\":\"{}\"}}\n",
        "z".repeat(17 * 1024 * 1024)
    );
    let sample = read("codex-tool-bypass.jsonl");
    let (report, _) = run(&case, [huge.as_bytes(), sample.as_bytes()]);
    assert_eq!(report.final_text, DONE);
    assert_eq!(
        report.warnings.last().map(String::as_str),
        Some("1 lines over 16 MiB were skipped")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn chunking_changes_nothing(sizes in prop::collection::vec(1_usize..400, 1..40)) {
        for case in cases() {
            let text = read(case.file);
            let mut rest = text.as_bytes();
            let mut chunks = Vec::new();
            for size in sizes.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (chunk, after) = rest.split_at((*size).min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            prop_assert_eq!(run(&case, chunks), run(&case, [text.as_bytes()]), "{}", case.file);
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..2_000),
        code in prop::option::of(-1_i32..300),
    ) {
        for format in Format::ALL {
            let case = Case { exit_code: code, stderr: String::from_utf8_lossy(&bytes).into_owned(), ..exits("", *format, 0) };
            run(&case, [bytes.as_slice()]);
        }
    }

    #[test]
    fn a_flipped_byte_makes_no_reader_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        for case in cases() {
            let mut bytes = read(case.file).into_bytes();
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            run(&case, [bytes.as_slice()]);
        }
    }
}
