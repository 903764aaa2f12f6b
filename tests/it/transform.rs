//! Filters in a process of their own, by the real binary: what they give, and that nothing hostile gets further than its bounds.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use ralphd::model::policy::ErrorClass;
use ralphd::transform::{Limits, Trouble, run};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::support::wait_for;

/// The binary under a name of its own, by which its processes are found.
struct Bench {
    _directory: TempDir,
    program: PathBuf,
    limits: Limits,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("ralphd");
        symlink(env!("CARGO_BIN_EXE_ralphd"), &program).unwrap();
        Self {
            _directory: directory,
            program,
            limits: Limits::default(),
        }
    }

    async fn run(&self, filter: &str, input: &Json) -> Result<Json, Trouble> {
        let inputs = BTreeMap::from([("region".to_owned(), "south".to_owned())]);
        let outcome = run(&self.program, filter, input, &inputs, &self.limits).await;
        assert_eq!(self.processes(), Vec::<i32>::new(), "{filter}");
        outcome
    }

    async fn trouble(&self, filter: &str) -> (ErrorClass, String) {
        let trouble = self.run(filter, &Json::Null).await.expect_err(filter);
        (trouble.class, trouble.message)
    }

    fn processes(&self) -> Vec<i32> {
        let name = self.program.to_str().unwrap().as_bytes();
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid: &i32| {
                std::fs::read(format!("/proc/{pid}/cmdline"))
                    .is_ok_and(|words| words.starts_with(name))
            })
            .collect()
    }
}

#[tokio::test]
async fn results_come_back() {
    let bench = Bench::new();
    let input = json!({"1": {"rows": [{"id": 1, "r": "south"}, {"id": 2, "r": "north"}]}, "2": [18446744073709551615_u64, 0.1]});
    for (filter, expected) in [
        (".", input.clone()),
        (
            r#".["1"].rows[] | select(.r == $input.region)"#,
            json!({"id": 1, "r": "south"}),
        ),
        (r#".["1"].rows[].id"#, json!([1, 2])),
        ("empty", Json::Null),
        (r#".["2"]"#, json!([18446744073709551615_u64, 0.1])),
        (r#""\u0000 \"山\"""#, json!("\u{0} \"山\"")),
    ] {
        assert_eq!(bench.run(filter, &input).await, Ok(expected), "{filter}");
    }
}

#[tokio::test]
async fn mistakes_and_errors_come_back() {
    let bench = Bench::new();
    let (class, message) = bench.trouble(".a | | .b").await;
    assert_eq!(class, ErrorClass::Other);
    assert!(message.contains("line 1, column 6"), "{message}");
    let (class, message) = bench.trouble("5 | .name").await;
    assert_eq!(class, ErrorClass::SchemaMismatch);
    assert_eq!(message, r#"the filter failed: cannot index 5 with "name""#);
}

#[tokio::test]
async fn an_endless_filter_is_ended() {
    let bench = Bench {
        limits: Limits {
            time: Duration::from_secs(1),
            ..Limits::default()
        },
        ..Bench::new()
    };
    for filter in [
        "def f: f; f",
        "last(repeat(1))",
        "repeat(empty)",
        "until(false; .)",
        "[limit(3; repeat(empty))]",
        "def f: (., 1) | f; f | empty",
    ] {
        let (class, message) = bench.trouble(filter).await;
        assert_eq!(class, ErrorClass::Timeout, "{filter}: {message}");
        assert_eq!(message, "the filter did not end within 1 s");
    }
}

#[tokio::test]
async fn a_filter_that_wants_the_whole_memory_gets_none_of_it() {
    let bench = Bench {
        limits: Limits {
            // How fast the machine is decides nothing here.
            time: Duration::from_secs(600),
            memory_bytes: 128 << 20,
            ..Limits::default()
        },
        ..Bench::new()
    };
    for (filter, words) in [
        ("[range(1e12)]", "more memory than it may have (128 MiB)"),
        ("[limit(1000000000; repeat(.))] | length", "more memory"),
        (r#""x" * 10000000000"#, "more memory"),
        (r#""xx" * 9223372036854775807"#, "more memory"),
        (r#"reduce range(60) as $i ("x"; . + .)"#, "more memory"),
        ("reduce range(60) as $i ([1]; . + .)", "more memory"),
        (
            "reduce range(60) as $i (1; [., .]) | tojson | length",
            "more memory",
        ),
        ("def f: 1 + f; f", "recurses or nests too deeply"),
        ("def f: [f]; f", "recurses or nests too deeply"),
        (
            r#""[" * 10000000 | fromjson"#,
            "recurses or nests too deeply",
        ),
        (
            "reduce range(100000000) as $i (1; [.]) | length",
            "the filter ",
        ),
        ("repeat(1)", "larger than 1 MiB as JSON"),
        ("repeat(\"\")", "larger than 1 MiB as JSON"),
        ("[range(1000000)]", "larger than 1 MiB as JSON"),
        (r#""x" * 2000000"#, "larger than 1 MiB as JSON"),
        (
            "reduce range(40) as $i (1; [., .])",
            "larger than 1 MiB as JSON",
        ),
        (
            "reduce range(1000) as $i (1; [.])",
            "nested deeper than 100 levels",
        ),
        (
            "reduce range(100000) as $i (1; {a: .})",
            "nested deeper than 100 levels",
        ),
    ] {
        let (class, message) = bench.trouble(filter).await;
        assert!(message.contains(words), "{filter}: {message}");
        assert_eq!(class, ErrorClass::Other, "{filter}");
    }
}

#[tokio::test]
async fn a_filter_sees_neither_environment_nor_files() {
    let bench = Bench::new();
    for filter in [
        "env",
        "$ENV",
        "$ENV.PATH",
        "env | keys",
        "input",
        "[inputs]",
        "input_filename",
        "halt",
        "\"x\" | halt_error(1)",
        "include \"/etc/passwd\"; .",
        "import \"/etc/passwd\" as $secret; $secret",
    ] {
        let (class, message) = bench.trouble(filter).await;
        assert_eq!(class, ErrorClass::Other, "{filter}");
        assert!(
            message.starts_with("the filter is not valid: "),
            "{filter}: {message}"
        );
    }
    let said = bench
        .run(r#""secret" | debug | stderr | 1"#, &Json::Null)
        .await;
    assert_eq!(said, Ok(json!(1)));
}

#[tokio::test]
async fn large_inputs_are_fine_up_to_their_limit() {
    let mut bench = Bench::new();
    let rows: Vec<Json> = (0..100_000)
        .map(|id| json!({"id": id, "region": (if id % 2 == 0 { "north" } else { "south" }), "text": "twenty-odd characters"}))
        .collect();
    let input = json!({ "1": rows });
    assert!(input.to_string().len() > 5_000_000);
    let filter = r#".["1"] | group_by(.region) | map({(.[0].region): length}) | add"#;
    let counted = bench.run(filter, &input).await;
    assert_eq!(counted, Ok(json!({"north": 50_000, "south": 50_000})));
    bench.limits.input_bytes = 5_000_000;
    let trouble = bench.run(filter, &input).await.unwrap_err();
    assert!(trouble.message.contains("at most 4.7 MiB"), "{trouble}");
    bench.limits.filter_bytes = 10;
    let trouble = bench.run(filter, &Json::Null).await.unwrap_err();
    assert!(trouble.message.contains("at most 10 bytes"), "{trouble}");
}

/// Nobody waits for it any more: whoever asked has gone away.
#[tokio::test(flavor = "multi_thread")]
async fn a_filter_ends_with_the_interest_in_it() {
    let bench = Bench::new();
    let (program, limits) = (bench.program.clone(), bench.limits.clone());
    let endless = tokio::spawn(async move {
        run(
            &program,
            "def f: f; f",
            &Json::Null,
            &BTreeMap::new(),
            &limits,
        )
        .await
    });
    wait_for("the filter's process", || {
        (!bench.processes().is_empty()).then_some(())
    });
    endless.abort();
    wait_for("its end", || bench.processes().is_empty().then_some(()));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_trouble() {
    let bench = Bench {
        program: PathBuf::from("/nowhere/ralphd"),
        ..Bench::new()
    };
    let (class, message) = bench.trouble(".").await;
    assert_eq!(class, ErrorClass::Other);
    assert!(message.starts_with("cannot run the filter: "), "{message}");
}
