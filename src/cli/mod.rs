//! The command line: one file a verb. It parses, calls the rooms below, and turns what it gets into text or JSON and an exit code.
//! It must not decide anything that a daemon would decide otherwise.

mod act;
mod arguments;
mod demo;
mod desk;
mod exit;
mod follow;
mod output;
mod request;
mod run;
mod serve;
mod submit;

pub use arguments::{Arguments, Verb};
pub use exit::{Exit, Failure};

use desk::Desk;

/// Does what the command line asks for and says how the process is to end.
pub fn run(arguments: Arguments) -> Exit {
    let verb = arguments.verb;
    let outcome = match verb {
        // These need neither configuration nor state.
        Verb::Rehearse => match crate::agent::rehearsal::play() {
            Ok(t) => {
                print!("{t}");
                return Exit::Done;
            }
            Err(e) => Err(e),
        },
        Verb::Shim { directory } => return Exit::Code(crate::process::shim_main(&directory)),
        verb => Desk::open(arguments.global).and_then(|desk| dispatch(desk, verb)),
    };
    outcome.unwrap_or_else(|error| Exit::from_error(&error))
}

fn dispatch(desk: Desk, verb: Verb) -> anyhow::Result<Exit> {
    match verb {
        Verb::Serve => serve::serve(desk),
        Verb::Run(wanted) => run::run(desk, *wanted),
        Verb::Submit(wanted) => submit::submit(desk, *wanted),
        Verb::Answer(answer) => act::answer(desk, answer),
        Verb::Pause(pause) => act::pause(desk, pause),
        Verb::Resume(which) => act::resume(desk, &which),
        Verb::Cancel(which) => act::cancel(desk, &which),
        Verb::Retry(again) => act::retry(desk, again),
        Verb::Continue(again) => act::continue_session(desk, again),
        Verb::Demo(demo) => demo::demo(desk, &demo),
        _ => {
            unreachable!("answered without a desk")
        }
    }
}
