//! Plans at work: what can run when, and how it looks.

use super::*;
use crate::model::task::{TaskState, TaskStep};

/// A plan whose tasks do nothing but depend on each other.
fn plan_of(dependencies: &[(u32, &[u32])]) -> Plan {
    let task = |&(order, depends_on): &(u32, &[u32])| PlanTask {
        depends_on: depends_on.to_vec(),
        ..PlanTask::new(order, TaskKind::Agent, format!("Do {order}"))
    };
    Plan {
        plan_summary: String::new(),
        complexity: None,
        tasks: dependencies.iter().map(task).collect(),
    }
}

#[test]
fn steps_ready_and_block() {
    let mut progress = Progress::of(&plan_of(&[
        (1, &[]),
        (2, &[1]),
        (3, &[1]),
        (4, &[2, 3]),
        (5, &[4]),
        (6, &[]),
    ]));
    assert_eq!(progress.ready(), [1, 6]);
    assert_eq!(progress.unmet(4), Some(2));
    let step = |progress: &mut Progress, order, step| progress.apply(order, step).unwrap();
    step(&mut progress, 1, TaskStep::Claim);
    assert_eq!(step(&mut progress, 1, TaskStep::Complete).readied, [2, 3]);
    assert!(progress.apply(4, TaskStep::Ready).is_err());
    assert_eq!(
        progress.apply(9, TaskStep::Claim),
        Err(StepRefusal::NoSuchTask(9))
    );
    step(&mut progress, 2, TaskStep::Claim);
    assert_eq!(step(&mut progress, 2, TaskStep::Fail).blocked, [4, 5]);
    assert_eq!(progress.standing(), Standing::Open, "3 and 6 go on");
    step(&mut progress, 3, TaskStep::Skip);
    step(&mut progress, 6, TaskStep::Skip);
    assert_eq!(progress.standing(), Standing::Failed);
    // A person may still say that the blocked one is not needed.
    assert_eq!(step(&mut progress, 4, TaskStep::Skip).readied, [5]);
    assert_eq!(progress.standing(), Standing::Open);
    assert_eq!(
        (progress.count(TaskState::Skipped), progress.total()),
        (3, 6)
    );
}

#[test]
fn a_large_plan_is_worked_off() {
    const WIDTH: u32 = 100;
    let tasks = (0..10_000).map(|order| PlanTask {
        depends_on: (0..10)
            .filter_map(|step| {
                ((order / WIDTH) * WIDTH + (order + step * 7) % WIDTH).checked_sub(WIDTH)
            })
            .collect(),
        ..PlanTask::new(order, TaskKind::Agent, "x")
    });
    let plan = Plan {
        plan_summary: String::new(),
        complexity: None,
        tasks: tasks.collect(),
    };
    let graph = Graph::of(&plan.tasks);
    assert_eq!((graph.layers().len(), graph.cycles().len()), (100, 0));
    let mut progress = Progress::of(&plan);
    let mut ready = progress.ready();
    assert_eq!(ready.len(), 100);
    let mut done = 0;
    while let Some(order) = ready.pop() {
        progress.apply(order, TaskStep::Claim).unwrap();
        ready.extend(progress.apply(order, TaskStep::Complete).unwrap().readied);
        done += 1;
    }
    assert_eq!((done, progress.standing()), (10_000, Standing::Completed));
    assert_eq!(draw(&plan.tasks, 80).lines().count(), 10_001);
}

#[test]
fn pictures() {
    for (dependencies, expected) in [
        (vec![(1, &[][..])], vec!["●  1"]),
        (
            vec![(1, &[][..]), (2, &[1]), (3, &[2])],
            vec!["●  1", "●  2", "●  3"],
        ),
        (
            vec![(1, &[][..]), (2, &[1]), (3, &[1]), (4, &[2, 3])],
            vec!["●    1", "├─●  2", "● │  3", "●─╯  4"],
        ),
        // What nobody waits for does not seem to lead anywhere.
        (
            vec![(1, &[][..]), (2, &[]), (3, &[])],
            vec!["●    1", "  ●  2", "●    3"],
        ),
        (
            vec![
                (1, &[][..]),
                (2, &[]),
                (3, &[]),
                (4, &[1, 3]),
                (5, &[1, 2, 3]),
                (6, &[4]),
            ],
            vec![
                "●        1",
                "│ ●      2",
                "│ │ ●    3",
                "├─│─┼─●  4",
                "●─┴─╯ │  5",
                "      ●  6",
            ],
        ),
    ] {
        let plan = plan_of(&dependencies);
        let drawn = draw(&plan.tasks, 60);
        let shown: Vec<&str> = drawn
            .lines()
            .map(|line| line.split("  agent").next().unwrap())
            .collect();
        assert_eq!(shown, expected, "\n{drawn}");
    }
}

#[test]
fn a_picture_says_what_is_done_and_by_whom() {
    let mut plan = plan_of(&[(1, &[]), (12, &[1])]);
    plan.tasks[1].agent = Some("codex".to_owned());
    plan.tasks[1].critical = true;
    plan.tasks[1].kind = TaskKind::Validation;
    plan.tasks[0].description = "Look\n\x1b[31m  around, and then some more of the same".to_owned();
    assert_eq!(
        draw(&plan.tasks, 44),
        "●   1  agent       Look [31m around, and th…\n◆  12  validation  @codex: Do 12"
    );
    // Too narrow for rails.
    assert_eq!(
        draw(&plan.tasks, 32),
        "layer  task  type        after …\n    1     1  agent             …\n    2    12  validation  1     …"
    );
}
