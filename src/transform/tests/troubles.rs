//! How filters fail, where their mistakes are, and what is never let through.

use serde_json::json;

use super::{result, trouble};
use crate::model::policy::ErrorClass;
use crate::process::{Captured, Exit};
use crate::transform::run::judge;
use crate::transform::{Limits, check, program, size, vocabulary};

#[test]
fn errors_while_running() {
    use ErrorClass::{Other, SchemaMismatch};
    for (filter, class, words) in [
        (
            r#".["3"].confidence.name"#,
            SchemaMismatch,
            r#"the filter failed: cannot index 0.85 with "name""#,
        ),
        (
            r#".["9"].rows[]"#,
            SchemaMismatch,
            "cannot use null as iterable",
        ),
        (
            r#".["3"].decision + 1"#,
            SchemaMismatch,
            r#"cannot calculate "yes" + 1"#,
        ),
        (
            r#".["3"].decision | tonumber"#,
            SchemaMismatch,
            "cannot parse ",
        ),
        (
            r#".["3"].decision | fromdate"#,
            Other,
            "the filter failed: ",
        ),
        (r#"true | length"#, SchemaMismatch, "true has no length"),
        (
            r#"error("no customer")"#,
            Other,
            "the filter failed: no customer",
        ),
        (
            r#"error({code: 5})"#,
            Other,
            r#"the filter failed: {"code":5}"#,
        ),
        (r#"1, error("late")"#, Other, "the filter failed: late"),
        (
            "{(1 | tostring): 2, (3): 4}",
            Other,
            "the key 3; a key must be text",
        ),
        (r#""ab" | tobytes"#, Other, "holds bytes"),
        ("[range(100000)]", Other, "larger than 9.7 KiB as JSON"),
        ("range(100000)", Other, "larger than 9.7 KiB as JSON"),
        (r#""é" * 10000"#, Other, "larger than 9.7 KiB as JSON"),
        (
            "reduce range(101) as $i (1; [.])",
            Other,
            "nested deeper than 100 levels",
        ),
    ] {
        let (found, message) = trouble(filter);
        assert!(message.contains(words), "{filter}: {message}");
        assert_eq!(found, class, "{filter}");
    }
    assert!(result("reduce range(100) as $i (1; [.])").is_array());
}

/// A value of 2^60 parts, all of them the same one: small in memory, endless when written down.
#[test]
fn shared_parts_are_not_written_out() {
    let bomb = "reduce range(60) as $i (1; [., .])";
    assert!(trouble(bomb).1.contains("larger than"));
    assert!(
        trouble(&format!("{bomb} | .a"))
            .1
            .starts_with("the filter failed: cannot index [[[[")
    );
    assert!(trouble(&format!("{bomb} | error")).1.ends_with(" …"));
    let long = trouble(r#"[range(100000)] | .name"#).1;
    assert!(
        long.len() < 700 && long.ends_with(r#"99999] with "name""#),
        "{long}"
    );
}

#[test]
fn mistakes_have_a_place() {
    for (filter, expected) in [
        (
            "",
            "line 1, column 1: the filter ends where a value or a function is expected",
        ),
        (
            ".[\"1\"] |\n  map(.a",
            "line 2, column 6, at \"(.a\": this ( is never closed",
        ),
        (
            "\"é\" | .a §",
            "line 1, column 10, at \"§\": unexpected \"§\"",
        ),
        (
            ".a | | .b",
            "line 1, column 6, at \"| .b\": unexpected \"|\", expected a value or a function",
        ),
        (".a .b)", "line 1, column 6, at \")\": unexpected \")\""),
        (
            "if . then 1",
            "line 1, column 12: the filter ends where else or end is expected",
        ),
        (
            "1 2",
            "line 1, column 3, at \"2\": unexpected \"2\", expected the end or an operator",
        ),
        (
            "\"abc",
            "line 1, column 1, at \"\\\"abc\": this \" is never closed",
        ),
        (
            "grup_by(.a)",
            "line 1, column 1, at \"grup_by(.a)\": there is no function grup_by; did you mean group_by?",
        ),
        (
            ".\n| zzyzx",
            "line 2, column 3, at \"zzyzx\": there is no function zzyzx",
        ),
        (
            "group_by",
            "line 1, column 1, at \"group_by\": group_by takes 1 argument, not 0",
        ),
        (
            "$inputs",
            "line 1, column 1, at \"$inputs\": there is no variable $inputs; known: $input and those bound by `as`",
        ),
        (
            "import \"a\" as $a; 1",
            "line 1, column 9, at \"a\\\" as $a; 1\": a filter cannot import or include files",
        ),
        (
            "include \"/etc/passwd\"; 1",
            "line 1, column 10, at \"/etc/passwd\\\"; 1\": a filter cannot import or include files",
        ),
        (
            "sub(\"a\", \"b\")",
            "line 1, column 1, at \"sub(\\\"a\\\", \\\"b\\\")\": sub takes 2 or 3 arguments, not 1; they are separated by ;",
        ),
        (
            "{a: 1; b: 2}",
            "line 1, column 6, at \"; b: 2}\": unexpected \";\", expected \",\" or \"}\"",
        ),
        (
            "\"\\d\"",
            "line 1, column 3, at \"d\\\"\": unexpected \"d\", expected an escape such as \\n, \\\" or \\\\",
        ),
        (
            "break $x",
            "line 1, column 7, at \"$x\": there is no label $x",
        ),
        (
            "a::b",
            "line 1, column 1, at \"a::b\": there is no module a",
        ),
    ] {
        assert_eq!(check(filter), Err(expected.to_owned()), "{filter}");
    }
    let (class, message) = trouble(".a | | .b");
    assert_eq!(class, ErrorClass::Other);
    assert!(
        message.starts_with("the filter is not valid: line 1, column 6"),
        "{message}"
    );
}

#[test]
fn nothing_beyond_the_filter_can_be_named() {
    for name in
        vocabulary::REFUSED
            .into_iter()
            .chain(["$ENV.PATH", "env.PATH", "halt_error(1)", "halt(1)"])
    {
        let mistake = check(name).expect_err(name);
        assert!(
            mistake.contains("is not available here"),
            "{name}: {mistake}"
        );
    }
    for filter in [
        "now | type",
        "$input",
        "{a: 1} | .a as $x | $x",
        "def f(g): g; f(.)",
    ] {
        assert_eq!(check(filter), Ok(()), "{filter}");
    }
}

/// Reading a filter recurses; it must not end the process that only wants to know whether it is right.
#[test]
fn whatever_nests_can_be_checked() {
    let longest = |part: &str, end: &str| {
        let times = (MAX - 1) / (part.len() + end.len());
        format!("{}1{}", part.repeat(times), end.repeat(times))
    };
    const MAX: usize = program::MAX_FILTER_BYTES;
    for (part, end) in [
        ("(", ")"),
        ("[", "]"),
        ("{a:", "}"),
        ("-", ""),
        ("1|", ""),
        ("1,", ""),
        ("1//", ""),
        ("1+", ""),
        (".=", ""),
        ("try ", ""),
        ("1 as $x|", ""),
        ("def f:", ";1"),
        ("if ", " then 1 end"),
        ("\"\\(", ")\""),
        ("map(", ")"),
        (".[", "]"),
    ] {
        assert_eq!(check(&longest(part, end)), Ok(()), "{part}");
    }
    assert!(check(&"(".repeat(MAX)).is_err());
    let long = check(&" ".repeat(MAX + 1)).unwrap_err();
    assert_eq!(
        long,
        "the filter is 16 KiB long; at most 16 KiB are allowed"
    );
}

#[test]
fn how_a_process_ended_says_what_became_of_the_filter() {
    let limits = Limits::default();
    let captured = |exit, timed_out, stdout: &str, stderr: &str| Captured {
        exit,
        timed_out,
        stdout: stdout.into(),
        stderr: stderr.into(),
        truncated: false,
        leftovers_killed: 0,
    };
    for (captured, class, words) in [
        (
            captured(Exit::Signal(9), true, "", ""),
            ErrorClass::Timeout,
            "the filter did not end within 60 s",
        ),
        (
            captured(
                Exit::Signal(6),
                false,
                "",
                "memory allocation of 80 bytes failed\n",
            ),
            ErrorClass::Other,
            "(1 GiB)",
        ),
        (
            captured(
                Exit::Signal(6),
                false,
                "",
                "thread 'x' has overflowed its stack",
            ),
            ErrorClass::Other,
            "nests too deeply",
        ),
        (
            captured(Exit::Signal(9), false, "", ""),
            ErrorClass::Other,
            "the filter's process was ended by signal 9",
        ),
        (
            captured(Exit::Code(1), false, "", "no\n"),
            ErrorClass::Other,
            "the filter's process ended with code 1: no",
        ),
        (
            captured(Exit::NotStarted("no file".into()), false, "", ""),
            ErrorClass::Other,
            "cannot run the filter: no file",
        ),
        (
            captured(Exit::Code(0), false, "{\"res", ""),
            ErrorClass::Other,
            "no readable result",
        ),
        (
            captured(
                Exit::Code(0),
                false,
                r#"{"trouble":{"class":"schema_mismatch","message":"m"}}"#,
                "",
            ),
            ErrorClass::SchemaMismatch,
            "m",
        ),
    ] {
        let trouble = judge(&captured, &limits).unwrap_err();
        assert_eq!(trouble.class, class, "{words}");
        assert!(trouble.message.contains(words), "{trouble}");
    }
    let good = captured(Exit::Code(0), false, r#"{"result":[1]}"#, "");
    assert_eq!(judge(&good, &limits), Ok(json!([1])));
}

#[test]
fn sizes_are_for_people() {
    for (bytes, expected) in [
        (0, "0 bytes"),
        (1_023, "1023 bytes"),
        (1_024, "1 KiB"),
        (1_536, "1.5 KiB"),
        (1 << 20, "1 MiB"),
        (1 << 30, "1 GiB"),
        (5_000_000, "4.7 MiB"),
    ] {
        assert_eq!(size(bytes), expected);
    }
}
