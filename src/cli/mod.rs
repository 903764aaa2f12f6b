//! The command line: one file a verb. It parses, calls the rooms below, and turns what it gets into text or JSON and an exit code.
//! It must not decide anything that a daemon would decide otherwise.

mod act;
mod agents;
mod arguments;
mod database;
mod demo;
mod desk;
mod digest;
mod doctor;
mod exit;
mod follow;
mod init;
mod list;
mod logs;
mod memory;
mod nearby;
mod output;
mod plan;
mod points;
mod reference;
mod request;
mod run;
mod schedule;
mod scratch;
mod serve;
mod show;
mod stats;
mod submit;
mod table;
mod token;
mod watch;
mod workflow;
mod workspace;

pub use arguments::{Arguments, Verb};
pub use exit::{Exit, Failure};

use desk::Desk;

/// Does what the command line asks for and says how the process is to end.
pub fn run(arguments: Arguments) -> Exit {
    let verb = arguments.verb;
    let outcome = match verb {
        // These need neither configuration nor state.
        Verb::Shim { record } => return Exit::Code(crate::process::shim_main(&record)),
        Verb::Converse { journal } => return Exit::Code(crate::agent::builtin::converse(&journal)),
        Verb::Transform {
            memory_bytes,
            result_bytes,
        } => {
            return Exit::Code(crate::transform::transform_main(memory_bytes, result_bytes));
        }
        Verb::Schema(what) => reference::schema(&what),
        Verb::Completions(shell) => reference::completions(&shell),
        Verb::Man(into) => reference::man(&into),
        Verb::Init(into) => init::init(&arguments.global, &into),
        verb => Desk::open(arguments.global).and_then(|desk| dispatch(desk, verb)),
    };
    outcome.unwrap_or_else(|error| Exit::from_error(&error))
}

fn dispatch(desk: Desk, verb: Verb) -> anyhow::Result<Exit> {
    match verb {
        Verb::Serve => serve::serve(desk),
        Verb::Run(wanted) => run::run(desk, *wanted),
        Verb::Submit(wanted) => submit::submit(desk, *wanted),
        Verb::List(filter) => list::list(desk, filter),
        Verb::Show(which) => show::show(desk, &which),
        Verb::Logs(which) => logs::logs(desk, which),
        Verb::Watch(which) => watch::watch(desk, which),
        Verb::Answer(answer) => act::answer(desk, answer),
        Verb::Approve(which) => act::approve(desk, &which),
        Verb::Reject(reject) => act::reject(desk, reject),
        Verb::Tell(tell) => act::tell(desk, tell),
        Verb::Pause(pause) => act::pause(desk, pause),
        Verb::Resume(which) => act::resume(desk, &which),
        Verb::Cancel(which) => act::cancel(desk, &which),
        Verb::Retry(again) => act::retry(desk, again),
        Verb::Continue(again) => act::continue_session(desk, again),
        Verb::Diff(wanted) => points::diff(desk, wanted),
        Verb::Rewind(wanted) => points::rewind(desk, &wanted),
        Verb::Fork(wanted) => points::fork(desk, *wanted),
        Verb::Workspace(what) => workspace::workspace(desk, what),
        Verb::Plan(wanted) => plan::plan(desk, *wanted),
        Verb::Workflow(what) => workflow::workflow(desk, what),
        Verb::Token(what) => token::token(desk, what),
        Verb::Schedule(what) => schedule::schedule(desk, what),
        Verb::Digest(back) => digest::digest(desk, back.since),
        Verb::Stats(back) => stats::stats(desk, back.since),
        Verb::Agents => agents::agents(desk),
        Verb::Doctor(wanted) => doctor::doctor(desk, &wanted),
        Verb::Demo(demo) => demo::demo(desk, &demo),
        Verb::Db(what) => database::database(desk, what),
        Verb::Shim { .. }
        | Verb::Converse { .. }
        | Verb::Transform { .. }
        | Verb::Schema(_)
        | Verb::Completions(_)
        | Verb::Man(_)
        | Verb::Init(_) => {
            unreachable!("answered without a desk")
        }
    }
}
