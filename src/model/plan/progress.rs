//! How far a plan is: which tasks can run, what a completion readies, what a failure blocks, when all is over. Every dependency is looked
//! at once, however large the plan. It holds the rule; the rows of the store follow the same one.

use std::fmt;

use super::{Graph, Plan};
use crate::model::session::InvalidStep;
use crate::model::task::{TaskState, TaskStep};

/// The tasks of a plan and where each stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    graph: Graph,
    unmet: Vec<usize>,
    states: Vec<TaskState>,
    counts: [usize; TaskState::ALL.len()],
}

/// What a step did to other tasks, by their orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub readied: Vec<u32>,
    pub blocked: Vec<u32>,
}

/// Where a plan as a whole stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Something runs, can run, or waits for a person.
    Open,
    /// Every task is completed, or skipped on purpose.
    Completed,
    /// Nothing can run any more, and not all is done.
    Failed,
}

/// Why a step was not taken. Nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepRefusal {
    NoSuchTask(u32),
    Invalid(InvalidStep),
    /// It still waits for others.
    Unmet(usize),
}

impl fmt::Display for StepRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchTask(order) => write!(formatter, "there is no task {order}"),
            Self::Invalid(step) => step.fmt(formatter),
            Self::Unmet(count) => write!(formatter, "it waits for {count} other tasks"),
        }
    }
}

impl std::error::Error for StepRefusal {}

impl Progress {
    /// At the beginning: what depends on nothing is ready.
    pub fn of(plan: &Plan) -> Progress {
        let graph = Graph::of(&plan.tasks);
        let unmet: Vec<usize> = graph.dependencies.iter().map(Vec::len).collect();
        let state = |unmet: &usize| match unmet {
            0 => TaskState::Pending,
            _ => TaskState::WaitingDependency,
        };
        let states: Vec<TaskState> = unmet.iter().map(state).collect();
        let mut counts = [0; TaskState::ALL.len()];
        states.iter().for_each(|state| counts[*state as usize] += 1);
        Progress {
            graph,
            unmet,
            states,
            counts,
        }
    }

    /// The orders of the tasks that could run now.
    pub fn ready(&self) -> Vec<u32> {
        let places = 0..self.states.len();
        let pending = places.filter(|&place| self.states[place] == TaskState::Pending);
        pending.map(|place| self.graph.orders[place]).collect()
    }

    pub fn state(&self, order: u32) -> Option<TaskState> {
        self.graph
            .places
            .get(&order)
            .map(|&place| self.states[place])
    }

    /// How many dependencies of a task are not met yet.
    pub fn unmet(&self, order: u32) -> Option<usize> {
        self.graph
            .places
            .get(&order)
            .map(|&place| self.unmet[place])
    }

    pub fn total(&self) -> usize {
        self.states.len()
    }

    pub fn count(&self, state: TaskState) -> usize {
        self.counts[state as usize]
    }

    pub fn standing(&self) -> Standing {
        use TaskState::*;
        let count =
            |states: &[TaskState]| states.iter().map(|&state| self.count(state)).sum::<usize>();
        if count(&[Pending, WaitingDependency, Running, Retrying, HumanRequired]) > 0 {
            Standing::Open
        } else if count(&[Completed, Skipped]) == self.total() {
            Standing::Completed
        } else {
            Standing::Failed
        }
    }

    /// Takes one step of one task, and what follows from it for the tasks that depend on it. A skipped task counts as met: who
    /// depends on it goes on without its result.
    pub fn apply(&mut self, order: u32, step: TaskStep) -> Result<Change, StepRefusal> {
        let place = *self
            .graph
            .places
            .get(&order)
            .ok_or(StepRefusal::NoSuchTask(order))?;
        let before = self.states[place];
        let after = before.after(step).map_err(StepRefusal::Invalid)?;
        let waits = matches!(before, TaskState::WaitingDependency | TaskState::Blocked);
        if waits && step == TaskStep::Ready && self.unmet[place] > 0 {
            return Err(StepRefusal::Unmet(self.unmet[place]));
        }
        self.set(place, after);
        let mut change = Change::default();
        match after {
            TaskState::Completed | TaskState::Skipped => self.release(place, &mut change.readied),
            TaskState::Failed | TaskState::Cancelled | TaskState::Blocked => {
                self.block(place, &mut change.blocked)
            }
            _ => {}
        }
        Ok(change)
    }

    fn release(&mut self, place: usize, readied: &mut Vec<u32>) {
        for index in 0..self.graph.dependents[place].len() {
            let dependent = self.graph.dependents[place][index];
            self.unmet[dependent] -= 1;
            let waits = matches!(
                self.states[dependent],
                TaskState::WaitingDependency | TaskState::Blocked
            );
            if self.unmet[dependent] == 0 && waits {
                self.set(dependent, TaskState::Pending);
                readied.push(self.graph.orders[dependent]);
            }
        }
    }

    fn block(&mut self, place: usize, blocked: &mut Vec<u32>) {
        let mut trail = vec![place];
        while let Some(here) = trail.pop() {
            for index in 0..self.graph.dependents[here].len() {
                let dependent = self.graph.dependents[here][index];
                if self.states[dependent] == TaskState::WaitingDependency {
                    self.set(dependent, TaskState::Blocked);
                    blocked.push(self.graph.orders[dependent]);
                    trail.push(dependent);
                }
            }
        }
    }

    fn set(&mut self, place: usize, state: TaskState) {
        self.counts[self.states[place] as usize] -= 1;
        self.counts[state as usize] += 1;
        self.states[place] = state;
    }
}
