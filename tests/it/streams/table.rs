//! Every sample, read whole.

use std::collections::BTreeSet;
use std::fs;

use ralphd::agent::stream::Format::Text;
use ralphd::agent::stream::{Report, ToolCall};

use super::cases::{Case, cases, folder, read, run};

#[test]
fn every_sample_is_read_as_expected() {
    for case in cases() {
        let name = case.file;
        let (report, calls) = run(&case, [read(name).as_bytes()]);
        if case.format() == Text {
            assert!(
                report.final_text.ends_with(case.text),
                "{name}: {}",
                report.final_text
            );
        } else {
            assert_eq!(report.final_text, case.text, "{name}");
        }
        check_usage(&case, &report);
        check_failure(&case, &report);
        assert_eq!(
            (report.tool_call_count, calls.len() as u64),
            (case.calls, case.calls),
            "{name}"
        );
        let as_asked =
            |call: &ToolCall| call.ok == Some(true) && call.arguments.contains("echo hello");
        assert!(calls.iter().all(as_asked), "{name}: {calls:?}");
        let nothing_said = fs::metadata(folder().join(name)).expect("a sample").len() == 0;
        assert_eq!(
            report.agent_session_id.is_none(),
            nothing_said || case.format() == Text,
            "{name}"
        );
    }
}

fn check_usage(case: &Case, report: &Report) {
    let name = case.file;
    assert_eq!(
        report.input_tokens.zip(report.output_tokens),
        case.tokens,
        "{name}"
    );
    assert_eq!(report.cached_tokens, case.tokens.map(|_| 0), "{name}");
    match (report.cost_usd, case.cost) {
        (Some(found), Some(expected)) => {
            assert!((found - expected).abs() < 1e-9, "{name}: {found}")
        }
        (found, expected) => assert_eq!(found, expected, "{name}"),
    }
}

fn check_failure(case: &Case, report: &Report) {
    let name = case.file;
    let failure = report.failure.as_ref();
    assert_eq!(
        failure.map(|failure| failure.class.as_str()),
        case.class,
        "{name}: {failure:?}"
    );
    assert_eq!(
        failure.and_then(|failure| failure.reset_at_ms),
        case.reset_at_ms,
        "{name}"
    );
    if let Some(failure) = failure {
        assert!(
            !failure.detail.is_empty() && !failure.detail.contains('\n'),
            "{name}: {failure:?}"
        );
    }
    assert_eq!(
        report.unfinished,
        name.starts_with("claude-json-max"),
        "{name}"
    );
    match case.warning {
        "" => assert!(report.warnings.is_empty(), "{name}: {:?}", report.warnings),
        warning => assert!(
            report.warnings[0].starts_with(warning),
            "{name}: {:?}",
            report.warnings
        ),
    }
}

#[test]
fn every_sample_is_in_the_table() {
    let mut expected: BTreeSet<String> = cases().iter().map(|case| case.file.to_owned()).collect();
    assert_eq!(expected.len(), cases().len(), "a sample stands twice");
    expected.insert("gemini-json-e400.stderr.txt".to_owned());
    let files = fs::read_dir(folder()).expect("the samples");
    let found: BTreeSet<String> = files
        .map(|file| {
            file.expect("a sample")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(found, expected);
}
