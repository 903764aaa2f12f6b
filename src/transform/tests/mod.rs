//! Tables of filters, run in this process, and what they give.

mod troubles;

use super::evaluate::evaluate;
use super::*;
use serde_json::Value as Json;
use serde_json::json;
use serde_json::value::RawValue;

const RESULT_BYTES: usize = 10_000;

/// As a plan's tasks leave them: rows of a query, an analysis, a list.
fn results() -> Json {
    json!({
        "1": {"rows": [
            {"id": 7, "customer": 2, "region": "south", "total": "120.50", "at": "2024-02-29T12:00:00Z"},
            {"id": 8, "customer": 1, "region": "north", "total": "80.25", "at": "2024-03-01T00:00:00Z"},
            {"id": 9, "customer": 2, "region": "south", "total": "19.5", "at": "2023-12-31T23:59:59Z"},
        ], "truncated": false},
        "2": {"rows": [{"id": 1, "name": "Zoë"}, {"id": 2, "name": "山田 太郎"}]},
        "3": {"decision": "yes", "confidence": 0.85},
        "10": [3, 1, 2],
    })
}

fn inputs() -> BTreeMap<String, String> {
    [("region", "south"), ("least", "100")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
}

fn evaluated(filter: &str, input: &str) -> Result<String, Trouble> {
    let question = Question {
        filter: filter.to_owned(),
        inputs: inputs(),
        input: RawValue::from_string(input.to_owned()).unwrap(),
    };
    evaluate(&question, RESULT_BYTES)
}

fn result(filter: &str) -> Json {
    let text = evaluated(filter, &results().to_string())
        .unwrap_or_else(|trouble| panic!("{filter}: {trouble}"));
    serde_json::from_str(&text).unwrap()
}

fn trouble(filter: &str) -> (ErrorClass, String) {
    let trouble = evaluated(filter, &results().to_string()).expect_err(filter);
    (trouble.class, trouble.message)
}

#[test]
fn filters_over_results() {
    for (filter, expected) in [
        (".", results()),
        (r#".["3"].decision"#, json!("yes")),
        (r#".["1"].rows | map(.id)"#, json!([7, 8, 9])),
        (
            r#".["1"].rows | map(select(.region == "north") | .id)"#,
            json!([8]),
        ),
        (
            r#".["1"].rows | map(select(.region == $input.region).id)"#,
            json!([7, 9]),
        ),
        (
            r#".["1"].rows | map(select((.total | tonumber) >= ($input.least | tonumber)).id)"#,
            json!([7]),
        ),
        (
            r#".["1"].rows | group_by(.region) | map({region: .[0].region, n: length, sum: (map(.total | tonumber) | add)})"#,
            json!([{"region": "north", "n": 1, "sum": 80.25}, {"region": "south", "n": 2, "sum": 140.0}]),
        ),
        // Two results joined by a key, in three ways.
        (
            r#". as $all | .["1"].rows | map(. as $order | {id, name: ($all["2"].rows[] | select(.id == $order.customer).name)})"#,
            json!([{"id": 7, "name": "山田 太郎"}, {"id": 8, "name": "Zoë"}, {"id": 9, "name": "山田 太郎"}]),
        ),
        (
            r#"(.["2"].rows | map({(.id | tostring): .name}) | add) as $names | [.["1"].rows[] | $names["\(.customer)"]]"#,
            json!(["山田 太郎", "Zoë", "山田 太郎"]),
        ),
        (
            r#"(.["2"].rows | INDEX(.id)) as $names | [.["1"].rows[] | $names[.customer | tostring].name]"#,
            json!(["山田 太郎", "Zoë", "山田 太郎"]),
        ),
        (
            r#"[.["1"].rows[] | select(.region | IN("north", "west")).id]"#,
            json!([8]),
        ),
        (
            r#".["1"].rows | sort_by(.total | tonumber) | map(.id)"#,
            json!([9, 8, 7]),
        ),
        (
            r#".["10"] | sort, (max_by(.)), add, length"#,
            json!([[1, 2, 3], 3, 6, 3]),
        ),
        (
            r#".["2"].rows | map("\(.id): \(.name)") | join("; ")"#,
            json!("1: Zoë; 2: 山田 太郎"),
        ),
        (
            r#".["2"].rows[1].name | length, utf8bytelength, .[:2], explode[0]"#,
            json!([5, 13, "山田", 23665]),
        ),
        (
            r#""Zo\u00eb 🦀" | ascii_downcase, test("zoë"; "i"), (split(" ") | last)"#,
            json!(["zoë 🦀", true, "🦀"]),
        ),
        (
            r#".["1"].rows[0].at | fromdate, (fromdate | todate), (fromdate | strftime("%Y-%m-%d"))"#,
            json!([1_709_208_000, "2024-02-29T12:00:00Z", "2024-02-29"]),
        ),
        (
            r#"[.["1"].rows[] | .at[:7]] | unique"#,
            json!(["2023-12", "2024-02", "2024-03"]),
        ),
        (
            r#""2024-02-29 12:30" | strptime("%Y-%m-%d %H:%M") | mktime"#,
            json!(1_709_209_800),
        ),
        (
            r#".["1"].rows[0].at | capture("(?<year>\\d{4})-(?<month>\\d\\d)")"#,
            json!({"year": "2024", "month": "02"}),
        ),
        (
            r#""a1b22" | gsub("\\d+"; "_"), [scan("\\d+")]"#,
            json!(["a_b_", ["1", "22"]]),
        ),
        (
            r#".["3"] | to_entries | map(.key)"#,
            json!(["decision", "confidence"]),
        ),
        (
            r#".["3"] | with_entries(.value |= tostring)"#,
            json!({"decision": "yes", "confidence": "0.85"}),
        ),
        (
            r#"[.["1"].rows[] | [.id, .region, null]] | map(@csv) | join("\n")"#,
            json!("7,\"south\",\n8,\"north\",\n9,\"south\","),
        ),
        (
            r#"["a\"b", "c\td\\", 1.5, true] | @csv, @tsv"#,
            json!([
                "\"a\"\"b\",\"c\td\\\",1.5,true",
                "a\"b\tc\\td\\\\\t1.5\ttrue"
            ]),
        ),
        (
            r#"{"a": [1, {"b": 2}]} | [leaf_paths], [.. | numbers], del(.a[0])"#,
            json!([[["a", 0], ["a", 1, "b"]], [1, 2], {"a": [{"b": 2}]}]),
        ),
        (r#".["9"].rows? // "none""#, json!("none")),
        (r#"try error("x") catch ."#, json!("x")),
        ("# what follows is null\nempty", Json::Null),
        ("null", Json::Null),
        ("[]", json!([])),
        ("1, 2", json!([1, 2])),
        ("[1, 2]", json!([1, 2])),
        (r#"$input | keys"#, json!(["least", "region"])),
        // Only what a filter does to itself is left of jq's side effects.
        (r#"1 | debug | stderr | debug("x")"#, json!(1)),
    ] {
        assert_eq!(result(filter), expected, "{filter}");
    }
}

/// As text: what is read of it on the other side may be less exact.
#[test]
fn numbers_keep_their_value() {
    for (filter, input, expected) in [
        (".", "9007199254740993", "9007199254740993"),
        (".", "-9223372036854775808", "-9223372036854775808"),
        (".", "18446744073709551615", "18446744073709551615"),
        (
            ".",
            "123456789012345678901234567890",
            "123456789012345678901234567890",
        ),
        (". + 1", "9223372036854775807", "9223372036854775808"),
        (
            ". * .",
            "123456789012345678",
            "15241578753238836527968299765279684",
        ),
        (
            ".",
            "0.1000000000000000055511151231257827",
            "0.1000000000000000055511151231257827",
        ),
        (".", "1.10", "1.10"),
        (".", "1e3", "1e3"),
        (". + 0.2", "0.1", "0.30000000000000004"),
        ("map(tonumber) | add", r#"["19.99", "0.01"]"#, "20.0"),
        (
            "tostring",
            "12345678901234567890.123",
            "\"12345678901234567890.123\"",
        ),
        ("nan, infinite, -infinite | tojson | length", "0", "[3,8,9]"),
        ("nan", "0", "null"),
        (". * 10 == infinite", "1e308", "true"),
    ] {
        assert_eq!(
            evaluated(filter, input).as_deref(),
            Ok(expected),
            "{filter} over {input}"
        );
    }
    // As jq does it: the largest there is.
    for filter in ["infinite", "1e999", "reduce range(400) as $i (1; . * 10)"] {
        let text = evaluated(filter, "0").unwrap();
        assert_eq!(
            serde_json::from_str::<f64>(&text).unwrap(),
            f64::MAX,
            "{filter}"
        );
    }
}
