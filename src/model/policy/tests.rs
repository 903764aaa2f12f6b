//! What follows a failure: by class, by policy, by the analyzer, and for every combination.

use super::*;

const PLAIN: Setback = Setback {
    policy: None,
    class: ErrorClass::Other,
    retries: 0,
    max_retries: MAX_RETRIES,
    critical: false,
    autonomy: 4,
    session_failures: 1,
    replans: 0,
    analyzer: None,
};

const AGAIN: Decision = Decision::Retry { with_error: true };
const SAME_AGAIN: Decision = Decision::Retry { with_error: false };

/// For each class: first failure, second, third; then the first of a critical task. All at autonomy 4.
#[test]
fn every_class_has_its_habit() {
    use Decision::*;
    let table = [
        ("sql_error", [AGAIN, AGAIN, Fail], AGAIN),
        ("timeout", [SAME_AGAIN, Skip, Skip], SAME_AGAIN),
        ("no_data", [Skip, Skip, Skip], Fail),
        ("ambiguous", [AskHuman, AskHuman, AskHuman], AskHuman),
        ("permission", [Stop, Stop, Stop], Stop),
        ("schema_mismatch", [Replan, Replan, Replan], Replan),
        ("format", [AskHuman, AskHuman, AskHuman], AskHuman),
        ("other", [AGAIN, AGAIN, Fail], AGAIN),
    ];
    assert_eq!(table.len(), ErrorClass::ALL.len());
    for (class, in_turn, when_critical) in table {
        let class = class.parse().unwrap();
        for (retries, expected) in (0..).zip(in_turn) {
            let setback = Setback {
                class,
                retries,
                ..PLAIN
            };
            assert_eq!(decide(&setback), expected, "{class} after {retries}");
        }
        let setback = Setback {
            class,
            critical: true,
            ..PLAIN
        };
        assert_eq!(decide(&setback), when_critical, "critical {class}");
    }
}

/// For each policy: fresh, out of retries and new plans, the latter at autonomy 3, and fresh but critical.
#[test]
fn every_policy_has_its_way() {
    use Decision::*;
    let table = [
        (OnFailure::Retry, AGAIN, Fail, AskHuman, AGAIN),
        (OnFailure::Skip, Skip, Skip, Skip, Fail),
        (OnFailure::Stop, Stop, Stop, Stop, Stop),
        (OnFailure::Human, AskHuman, AskHuman, AskHuman, AskHuman),
        (OnFailure::Replan, Replan, Fail, AskHuman, Replan),
        (
            OnFailure::Auto,
            AskAnalyzer,
            AskAnalyzer,
            AskAnalyzer,
            AskAnalyzer,
        ),
    ];
    assert_eq!(table.len(), OnFailure::ALL.len());
    for (policy, fresh, worn, worn_with_a_person, critical) in table {
        // An author's own word counts for every class.
        for &class in ErrorClass::ALL
            .iter()
            .filter(|&&class| class != ErrorClass::Timeout)
        {
            let new = Setback {
                policy: Some(policy),
                class,
                ..PLAIN
            };
            let used_up = Setback {
                retries: MAX_RETRIES,
                replans: MAX_REPLANS,
                ..new
            };
            assert_eq!(decide(&new), fresh, "{policy} {class}");
            assert_eq!(decide(&used_up), worn, "{policy} {class}");
            assert_eq!(
                decide(&Setback {
                    autonomy: 3,
                    ..used_up
                }),
                worn_with_a_person,
                "{policy} {class}"
            );
            assert_eq!(
                decide(&Setback {
                    critical: true,
                    ..new
                }),
                critical,
                "{policy} {class}"
            );
        }
    }
}

#[test]
fn the_analyzer_is_followed_within_limits() {
    use Decision::*;
    for (choice, fresh, worn, critical) in [
        (AnalyzerChoice::Retry, AGAIN, Fail, AGAIN),
        (AnalyzerChoice::Skip, Skip, Skip, Fail),
        (AnalyzerChoice::Stop, Stop, Stop, Stop),
        (AnalyzerChoice::Human, AskHuman, AskHuman, AskHuman),
        (AnalyzerChoice::Replan, Replan, Fail, Replan),
    ] {
        let new = Setback {
            policy: Some(OnFailure::Auto),
            analyzer: Some(choice),
            ..PLAIN
        };
        assert_eq!(decide(&new), fresh, "{choice}");
        let used_up = Setback {
            retries: MAX_RETRIES,
            replans: MAX_REPLANS,
            ..new
        };
        assert_eq!(decide(&used_up), worn, "{choice}");
        assert_eq!(
            decide(&Setback {
                critical: true,
                ..new
            }),
            critical,
            "{choice}"
        );
        let third = Setback {
            session_failures: FAILURES_FOR_A_HUMAN,
            ..new
        };
        assert_eq!(decide(&third), AskHuman, "{choice}");
    }
}

/// Every combination: what must never happen, whatever else is true.
#[test]
fn what_holds_for_every_setback() {
    let policies = OnFailure::ALL
        .iter()
        .map(|&policy| Some(policy))
        .chain([None]);
    let choices: Vec<_> = AnalyzerChoice::ALL
        .iter()
        .map(|&choice| Some(choice))
        .chain([None])
        .collect();
    for policy in policies {
        for bits in 0..ErrorClass::ALL.len() * choices.len() * 4 * 4 * 4 * 5 * 2 {
            let mut rest = bits;
            let mut digit = |base: usize| {
                let digit = rest % base;
                rest /= base;
                digit
            };
            let setback = Setback {
                policy,
                class: ErrorClass::ALL[digit(ErrorClass::ALL.len())],
                analyzer: choices[digit(choices.len())],
                retries: digit(4) as u32,
                session_failures: digit(4) as u32 + 1,
                replans: digit(4) as u32,
                autonomy: digit(5) as u8 + 1,
                critical: digit(2) == 1,
                max_retries: MAX_RETRIES,
            };
            assert_bounded(&setback);
        }
    }
}

fn assert_bounded(setback: &Setback) {
    let decision = decide(setback);
    match decision {
        Decision::Skip => assert!(!setback.critical, "{setback:?}"),
        Decision::Retry { .. } => assert!(setback.retries < setback.max_retries, "{setback:?}"),
        Decision::Replan => assert!(setback.replans < MAX_REPLANS, "{setback:?}"),
        Decision::Fail => assert!(setback.autonomy > ASK_BEFORE_GIVING_UP_UP_TO, "{setback:?}"),
        Decision::AskAnalyzer => {
            assert_eq!(
                (setback.policy, setback.analyzer),
                (Some(OnFailure::Auto), None),
                "{setback:?}"
            );
        }
        Decision::Stop | Decision::AskHuman => {}
    }
    if setback.policy == Some(OnFailure::Auto) && setback.session_failures >= FAILURES_FOR_A_HUMAN {
        assert_eq!(decision, Decision::AskHuman, "{setback:?}");
    }
}
