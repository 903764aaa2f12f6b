//! Schedules as users write them, right and wrong.

use super::*;
use crate::model::schedule::{CatchUp, Overlap};

const GOOD: &str = "[[schedules]]\nname = 'nightly'\ncron = '0 3 * * *'\n";

#[test]
fn a_schedule_with_its_request_in_place_or_in_a_file() {
    let text = format!(
        "{GOOD}request = {{ objective = 'Go.', max_iterations = 3 }}\n[[schedules]]\nname = 'weekly'\ncron = '@weekly'\ntimezone = 'Europe/Berlin'\nrequest = 'weekly.md'\noverlap = 'queue'\ncatch_up = 'one'\njitter = '10m'\nenabled = false\n"
    );
    let config = read(&text, &[]).unwrap();
    let [nightly, weekly] = config.schedules.as_slice() else {
        panic!("{:?}", config.schedules);
    };
    let ScheduledRequest::Inline(request) = &nightly.request else {
        panic!("{nightly:?}");
    };
    assert_eq!(
        (request.objective.as_str(), request.max_iterations),
        ("Go.", Some(3))
    );
    assert_eq!(
        (nightly.overlap, nightly.catch_up),
        (Overlap::Skip, CatchUp::None)
    );
    assert!(nightly.enabled && nightly.jitter.is_zero());
    let file = ScheduledRequest::File("/etc/ralphd/weekly.md".into());
    assert_eq!(weekly.request, file);
    assert_eq!(weekly.zone().unwrap().iana_name(), Some("Europe/Berlin"));
    assert!(!weekly.enabled);
}

#[test]
fn what_is_wrong_with_a_schedule_is_said_with_its_line() {
    let request = "request = { objective = 'Go.' }";
    for (text, expected) in [
        (GOOD.to_owned(), "1: schedules[0].request: missing".to_owned()),
        (
            format!("[[schedules]]\nname = 'a'\n{request}"),
            "1: schedules[0].cron: missing".to_owned(),
        ),
        (
            format!("[[schedules]]\nname = 'a'\ncron = '0 25 * * *'\n{request}"),
            "3: schedules[0].cron: hour: 25 is not between 0 and 23".to_owned(),
        ),
        (
            format!("[[schedules]]\nname = 'a'\ncron = '0 0 30 2 *'\n{request}"),
            "3: schedules[0].cron: never comes: 2 has no day 30; change the day of month or the month".to_owned(),
        ),
        (
            format!("[[schedules]]\nname = 'a b'\ncron = '@daily'\n{request}"),
            "2: schedules[0].name: must be a name of letters, digits, '.', '_' and '-' that starts with a letter, a digit or '_', is \"a b\"".to_owned(),
        ),
        (
            format!("{GOOD}{request}\n{GOOD}{request}"),
            "6: schedules[1].name: there is a schedule nightly already".to_owned(),
        ),
        (
            format!("{GOOD}{request}\ntimezone = 'Europe/Berln'"),
            "5: schedules[0].timezone: there is no time zone \"Europe/Berln\"; did you mean Europe/Berlin?".to_owned(),
        ),
        (
            format!("{GOOD}request = 5"),
            "4: schedules[0].request: must be a table of keys or the path of a file, is the number 5".to_owned(),
        ),
        (
            format!("{GOOD}request = ' '"),
            "4: schedules[0].request: must not be blank".to_owned(),
        ),
        (
            format!("{GOOD}request = {{ max_iterations = 3 }}"),
            "4: schedules[0].request.objective: missing".to_owned(),
        ),
        (
            format!("{GOOD}[schedules.request]\nobjective = 'Go.'\nmax_iteration = 3"),
            "6: schedules[0].request.max_iteration: unknown key; did you mean max_iterations?".to_owned(),
        ),
        (
            format!("{GOOD}[schedules.request]\nobjective = 'Go.'\nidempotency_key = 'x'"),
            "6: schedules[0].request.idempotency_key: is set by the schedule, for each start anew; leave it out".to_owned(),
        ),
        (
            format!("{GOOD}[schedules.request]\nobjective = 'Go.'\nnot_before = 2026-11-20T02:00:00Z"),
            "6: schedules[0].request.not_before: is set by the schedule, for each start anew; leave it out".to_owned(),
        ),
        (
            format!("{GOOD}request = {{ objective = 'Go.', agent = 'writr' }}\n[agents.writer]\ncommand = ['x']"),
            "4: schedules[0].request.agent: there is no agent writr, only writer; did you mean writer?".to_owned(),
        ),
        (
            format!("{GOOD}{request}\noverlap = 'wait'"),
            "5: schedules[0].overlap: must be \"skip\" or \"queue\" or \"cancel\", is \"wait\"".to_owned(),
        ),
        (
            format!("{GOOD}{request}\ncatch_up = true"),
            "5: schedules[0].catch_up: must be \"none\" or \"one\" or \"all\", is true".to_owned(),
        ),
        (
            format!("{GOOD}{request}\njitter = 5"),
            "5: schedules[0].jitter: must be a duration such as 90s, 30m, 8h or 7d, is the number 5".to_owned(),
        ),
        (
            format!("{GOOD}{request}\ntime_zone = 'UTC'"),
            "5: schedules[0].time_zone: unknown key; did you mean timezone?".to_owned(),
        ),
    ] {
        let error = read(&text, &[]).unwrap_err().to_string();
        assert_eq!(error, format!("{FILE}:{expected}"), "{text}");
    }
}
