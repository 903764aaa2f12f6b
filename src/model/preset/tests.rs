//! The presets against what was tried with the tools themselves.

use super::*;

#[test]
fn command_lines_are_as_they_were_tried() {
    for (name, expected) in [
        (
            "claude",
            "claude -p --output-format stream-json --verbose --dangerously-skip-permissions",
        ),
        (
            "codex",
            "codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -",
        ),
        ("gemini", "gemini -o stream-json --approval-mode yolo"),
        (
            "opencode",
            "opencode run --format json --print-logs --title ralphd --auto",
        ),
        ("pi", "pi -p --mode json"),
        ("qwen", "qwen -o stream-json --approval-mode yolo"),
        (
            "copilot",
            "copilot --output-format json --allow-all-tools -p",
        ),
        ("cline", "cline --json"),
        ("droid", "droid exec -o stream-json --auto high"),
        ("cn", "cn --format json --auto -p"),
        ("llm", "llm"),
    ] {
        let preset = Preset::named(name).expect("a preset");
        assert_eq!(preset.command_line(None).join(" "), expected);
    }
    assert!(Preset::named("nobody").is_none());
}

#[test]
fn a_clouds_credentials_are_passed_on_only_to_a_tool_that_is_told_to_use_it() {
    let claude = Preset::named("claude").expect("a preset");
    for (set, name, expected) in [
        ("", "ANTHROPIC_API_KEY", true),
        ("", "AWS_PROFILE", false),
        ("CLAUDE_CODE_USE_VERTEX", "AWS_PROFILE", false),
        ("CLAUDE_CODE_USE_BEDROCK", "AWS_PROFILE", true),
        (
            "CLAUDE_CODE_USE_VERTEX",
            "GOOGLE_APPLICATION_CREDENTIALS",
            true,
        ),
    ] {
        let names = claude.passed_names(|asked| asked == set);
        assert_eq!(names.contains(&name), expected, "{name} with {set:?}");
    }
}

#[test]
fn a_model_is_named_before_the_prompt() {
    for (name, expected) in [
        (
            "codex",
            "codex exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox -m x -",
        ),
        ("gemini", "gemini -o stream-json --approval-mode yolo -m x"),
        (
            "copilot",
            "copilot --output-format json --allow-all-tools --model x -p",
        ),
        ("cn", "cn --format json --auto -p"),
    ] {
        let preset = Preset::named(name).expect("a preset");
        assert_eq!(preset.command_line(Some("x")).join(" "), expected);
    }
}

#[test]
fn every_key_is_passed_on_from_the_environment_too() {
    for preset in PRESETS {
        let passed = preset.passed_names(|_| false);
        for variable in preset.key_variables {
            assert!(passed.contains(variable), "{variable}");
        }
    }
}

#[test]
fn names_are_unique_and_every_format_is_used() {
    let mut names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), PRESETS.len());
    // ralphd's own loop is no tool of others.
    let spoken = Format::ALL
        .iter()
        .filter(|format| **format != Format::Ralphd);
    for format in spoken {
        assert!(
            PRESETS.iter().any(|preset| preset.format == *format),
            "{format}"
        );
    }
}
