//! The stream of built-in agents, line by line.

use super::super::{Format, Report, Stream};
use super::*;
use jiff::tz::TimeZone;
use proptest::prelude::*;

fn line(line: &Line<'_>) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(line).unwrap();
    bytes.push(b'\n');
    bytes
}

fn reply(step: u32, text: &str) -> Vec<u8> {
    line(&Line::Reply {
        step,
        text: text.into(),
        more: false,
        model: Some("m".into()),
        usage: StepUsage {
            input_tokens: 100,
            cached_tokens: 40,
            cache_written_tokens: 10,
            output_tokens: 7,
        },
    })
}

fn ended(how: How, class: Option<&str>) -> Vec<u8> {
    line(&Line::Ended {
        how,
        class: class.map(Into::into),
        detail: Some("why".into()),
        reset_at_ms: Some(5),
    })
}

fn read(lines: &[Vec<u8>]) -> Report {
    let mut stream = Stream::new(Format::Ralphd);
    lines.iter().for_each(|line| stream.feed(line));
    stream.finish(&Ending {
        exit_code: Some(0),
        signal: None,
        timed_out: false,
        silent: false,
        stderr_tail: "",
        now_ms: 0,
        time_zone: &TimeZone::UTC,
    })
}

#[test]
fn endings() {
    for (how, class, words, unfinished, doom_loop, failure) in [
        (How::Finished, None, "said", false, false, None),
        (How::MaxSteps, None, "said", true, false, None),
        (How::Asked, None, "said", true, false, None),
        (How::Interrupted, None, "said", true, false, None),
        (How::DoomLoop, None, "said", true, true, None),
        (
            How::Failed,
            Some("rate_limit"),
            "said",
            false,
            false,
            Some(FailureClass::RateLimit),
        ),
        (
            How::Failed,
            None,
            "said",
            false,
            false,
            Some(FailureClass::Other),
        ),
        (
            How::Stopped,
            None,
            "said",
            false,
            false,
            Some(FailureClass::Crash),
        ),
    ] {
        let report = read(&[reply(1, "said"), ended(how, class)]);
        assert_eq!(report.final_text, words, "{how:?}");
        assert_eq!(
            (report.unfinished, report.doom_loop),
            (unfinished, doom_loop),
            "{how:?}"
        );
        assert_eq!(
            report.failure.map(|failure| failure.class),
            failure,
            "{how:?}"
        );
    }
}

#[test]
fn words_before_more_work_are_not_final_even_where_nothing_followed_any_more() {
    for (more, words) in [("true", ""), ("false", "DONE")] {
        let mut stream = Stream::new(Format::Ralphd);
        let line = format!(
            r#"{{"type":"reply","step":1,"text":"DONE","more":{more},"model":null,"usage":{{}}}}"#
        );
        stream.feed(format!("{line}\n").as_bytes());
        let report = stream.finish(&Ending {
            exit_code: None,
            signal: Some(15),
            timed_out: true,
            silent: false,
            stderr_tail: "",
            now_ms: 0,
            time_zone: &TimeZone::UTC,
        });
        assert_eq!(report.final_text, words, "{more}");
    }
}

#[test]
fn all_replies_are_paid_for_and_the_last_one_speaks() {
    let summed_up = line(&Line::Compacted {
        steps: 1,
        step: 2,
        usage: StepUsage {
            input_tokens: 50,
            output_tokens: 3,
            ..StepUsage::default()
        },
    });
    let report = read(&[
        reply(1, "first"),
        summed_up,
        reply(3, "last"),
        ended(How::Finished, None),
    ]);
    assert_eq!(report.final_text, "last");
    assert_eq!(
        (report.input_tokens, report.output_tokens),
        (Some(250), Some(17))
    );
    assert_eq!(
        (report.cached_tokens, report.cache_written_tokens),
        (Some(80), Some(20))
    );
    assert_eq!(report.model.as_deref(), Some("m"));
}

#[test]
fn a_summary_costs_what_its_model_does() {
    let mut stream = Stream::new(Format::Ralphd);
    stream.feed(&reply(1, "first"));
    stream.feed(&line(&Line::Compacted {
        steps: 1,
        step: 2,
        usage: StepUsage::default(),
    }));
    let models = stream.take_steps().into_iter().map(|step| step.model);
    let models: Vec<Option<String>> = models.collect();
    assert_eq!(models, [Some("m".to_owned()), Some("m".to_owned())]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Feature: agent-harnesses, Property 7: Tool call recording completeness
    #[test]
    fn every_call_comes_through_whole(
        calls in prop::collection::vec(
            ("[a-z_]{1,20}", "\\PC{0,200}", "(?s).{0,300}", any::<bool>(), 1u64..1_000_000, 0u32..4),
            0..40,
        )
    ) {
        let mut stream = Stream::new(Format::Ralphd);
        for (index, (name, arguments, ..)) in calls.iter().enumerate() {
            stream.feed(&line(&Line::Call {
                id: index.to_string().into(),
                name: name.into(),
                arguments: arguments.into(),
            }));
        }
        for (index, (_, _, result, ok, duration_ms, retries)) in calls.iter().enumerate() {
            stream.feed(&line(&Line::Result {
                id: index.to_string().into(),
                text: result.into(),
                ok: *ok,
                duration_ms: *duration_ms,
                retries: *retries,
            }));
        }
        let recorded = stream.take_tool_calls();
        prop_assert_eq!(recorded.len(), calls.len());
        for (index, (call, given)) in recorded.iter().zip(&calls).enumerate() {
            let (name, arguments, result, ok, duration_ms, retries) = given;
            prop_assert_eq!(call, &ToolCall {
                position: index as u64 + 1,
                name: name.clone(),
                arguments: arguments.clone(),
                result: result.clone(),
                ok: Some(*ok),
                duration_ms: Some(*duration_ms),
                retries: *retries,
            });
            prop_assert!(call.duration_ms > Some(0));
        }
    }
}
