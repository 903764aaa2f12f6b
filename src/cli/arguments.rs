//! The tree of commands and options, as clap reads it and `--help` shows it. Words only.

mod ground;

pub use ground::{Compare, Fork, PointName, WorkspaceVerb};

use super::request::RequestOptions;
use crate::model::document::format;
use crate::model::period::Period;
use crate::model::token::Scope;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;

/// Finishes agent work too long for one context window.
///
/// Drop a request file into the inbox, go to bed, and find the answer in the outbox.
#[derive(Debug, Parser)]
#[command(name = "ralphd", version, arg_required_else_help = true)]
pub struct Arguments {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub verb: Verb,
}

/// Options that every command takes, before or after its name.
#[derive(Clone, Debug, Default, Args)]
pub struct Global {
    /// The configuration file [default: the first of $RALPHD_CONFIG, $XDG_CONFIG_HOME/ralphd/ralphd.toml, /etc/ralphd/ralphd.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The directory that holds the database, the inbox and the outbox [default: $STATE_DIRECTORY or ~/.local/state/ralphd]
    #[arg(long, global = true, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    pub json: bool,
    /// Say less; only the result
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// What ralphd can be asked to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run the daemon: watch the inbox, work through the queue
    Serve,
    /// Run one session here and now, without a daemon; the answer goes to stdout
    Run(Box<Wanted>),
    /// Put a request into the queue, from a file, from stdin (-) or from --objective
    Submit(Box<Submitted>),
    /// List sessions, newest first
    List(Filter),
    /// Show one session: status, iterations, answer
    Show(Which),
    /// Print what the agent of a session said
    Logs(Logs),
    /// Watch sessions live
    Watch(WatchWhich),
    /// Answer the question a session waits on
    Answer(Answer),
    /// Let the step run that a session asks about before it begins
    Approve(Which),
    /// Refuse that step; the session pauses, and asks again when it is resumed
    Reject(Reject),
    /// Tell a session something; its next iteration reads it, and it does not end before
    Tell(Tell),
    /// Pause a session after its running iteration
    Pause(Pause),
    /// Resume a paused session
    Resume(Which),
    /// Cancel a session; a running agent is ended
    Cancel(Which),
    /// Start a session's request afresh, in a new workspace; a planned one is planned anew
    Retry(Again),
    /// Go on where an ended session stopped, in the same workspace with the same handoff
    ///
    /// A planned session is planned anew, by the same plan: key with the same inputs and datasets, in the workspace as it is now;
    /// no task of the old plan is taken over.
    Continue(Again),
    /// Show what changed in a session's workspace between two of its iterations
    ///
    /// ID compares its start with now, ID@N shows what iteration N did, ID@A..B compares two iterations, ID@A..OTHER@B or two arguments
    /// those of two sessions.
    Diff(Compare),
    /// Take a paused or ended session's workspace, handoff and count back to an iteration, or forward again; nothing is lost
    Rewind(PointName),
    /// Start a new session from an iteration of another, which is not touched
    Fork(Box<Fork>),
    /// List, show and remove workspaces
    #[command(subcommand)]
    Workspace(WorkspaceVerb),
    /// Show how a request would be worked through, without doing it
    ///
    /// For plan: auto, or a request that says nothing of a plan, the planner is really asked, which costs what it costs; for a
    /// workflow nothing is asked. No session is left behind.
    Plan(Box<Preview>),
    /// List, check and run workflows: plans written by hand
    #[command(subcommand)]
    Workflow(Workflow),
    /// Make, list and revoke tokens for the HTTP API
    #[command(subcommand)]
    Token(TokenVerb),
    /// List, run and pause schedules: requests that start by the clock
    #[command(subcommand)]
    Schedule(Schedule),
    /// The morning paper: what ended and how, what waits for you, what it cost
    ///
    /// What was verified is kept apart from what is merely claimed. It looks back over 12 hours where nothing else is said.
    Digest(LookBack),
    /// How the agents fare: success, iterations and cost for each thing done, length
    ///
    /// It looks back over 30 days where nothing else is said.
    Stats(LookBack),
    /// List the agents
    Agents,
    /// Write the commented reference configuration
    Init(Init),
    /// Check that everything is in place
    Doctor(Doctor),
    /// Show it all at work, with nothing configured
    Demo(Demo),
    /// Look after the database
    #[command(subcommand)]
    Db(Db),
    /// Print the JSON Schema of a request, of the configuration or of the events
    Schema(Schema),
    /// Print the completion script for a shell
    Completions(Completions),
    /// Print the manual page, or write one page per command into a directory
    Man(Man),
    /// Supervise one turn (started by the daemon)
    #[command(hide = true)]
    Shim { record: PathBuf },
    /// Take one turn of a built-in agent (started by the daemon)
    #[command(hide = true)]
    Converse { journal: PathBuf },
    /// Run one jq filter (started by the daemon)
    #[command(hide = true)]
    Transform {
        memory_bytes: u64,
        result_bytes: usize,
    },
}

/// A session of one's own.
#[derive(Debug, Args)]
pub struct Wanted {
    /// What is to be done; - reads it from stdin
    #[arg(value_name = "OBJECTIVE")]
    pub objective: Option<String>,
    /// Take the request from a file instead; options given here win over it
    #[arg(long, value_name = "FILE", conflicts_with = "objective")]
    pub file: Option<PathBuf>,
    /// Write what the model of a built-in agent says to a cassette, which provider = "recorded" plays
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Fail at once where another session works in the workspace, instead of waiting for it
    #[arg(long)]
    pub no_wait: bool,
    #[command(flatten)]
    pub options: RequestOptions,
}

/// A request for the queue.
#[derive(Debug, Args)]
pub struct Submitted {
    /// The request file; - reads it from stdin
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// What is to be done, when no file is given
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    pub objective: Option<String>,
    /// Wait until the session has ended, and print its answer
    #[arg(long)]
    pub wait: bool,
    /// Fail at once where another session works in the workspace, instead of queueing up behind it
    #[arg(long)]
    pub no_wait: bool,
    #[command(flatten)]
    pub options: RequestOptions,
}

/// Which session.
#[derive(Clone, Debug, Args)]
pub struct Which {
    /// The session: its id, the start of it, or the short id that listings show
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Which sessions to list.
#[derive(Debug, Args)]
pub struct Filter {
    /// Only sessions in this state
    #[arg(long, value_name = "STATE")]
    pub status: Option<String>,
    /// At most so many
    #[arg(long, short = 'n', default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "COUNT")]
    pub limit: u32,
}

/// Which output to print.
#[derive(Debug, Args)]
pub struct Logs {
    #[command(flatten)]
    pub which: Which,
    /// Go on printing until the session has ended
    #[arg(short, long)]
    pub follow: bool,
    /// Only this iteration
    #[arg(long, value_name = "N")]
    pub iteration: Option<i64>,
    /// Print the prompt instead of the output
    #[arg(long)]
    pub prompt: bool,
}

/// Which session to watch.
#[derive(Debug, Args)]
pub struct WatchWhich {
    /// One session; all open ones when left out
    #[arg(value_name = "ID")]
    pub id: Option<String>,
}

/// An answer.
#[derive(Debug, Args)]
pub struct Answer {
    #[command(flatten)]
    pub which: Which,
    /// The answer; - reads it from stdin. A number picks an option
    #[arg(value_name = "TEXT")]
    pub text: String,
}

/// A refusal.
#[derive(Debug, Args)]
pub struct Reject {
    #[command(flatten)]
    pub which: Which,
    /// Why; - reads it from stdin
    #[arg(value_name = "REASON")]
    pub reason: Option<String>,
}

/// A word to a session.
#[derive(Debug, Args)]
pub struct Tell {
    #[command(flatten)]
    pub which: Which,
    /// What is to be said; - reads it from stdin
    #[arg(value_name = "TEXT")]
    pub text: String,
}

/// A pause.
#[derive(Debug, Args)]
pub struct Pause {
    #[command(flatten)]
    pub which: Which,
    /// End the running iteration at once; it does not count
    #[arg(long)]
    pub now: bool,
}

/// A new session after an old one.
#[derive(Debug, Args)]
pub struct Again {
    #[command(flatten)]
    pub which: Which,
    #[command(flatten)]
    pub options: RequestOptions,
}

/// What is to be planned.
#[derive(Debug, Args)]
pub struct Preview {
    /// The request file; - reads it from stdin
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// What is to be done, when no file is given
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    pub objective: Option<String>,
    #[command(flatten)]
    pub options: RequestOptions,
}

/// What to do with workflows.
#[derive(Debug, Subcommand)]
pub enum Workflow {
    /// List them
    List,
    /// Say everything that is wrong with them
    Check {
        /// Names or files; all workflows when left out
        #[arg(value_name = "NAME|FILE")]
        which: Vec<String>,
    },
    /// Run one here and now, like 'ralphd run' with its plan
    Run(Box<RunWorkflow>),
}

/// A run of a workflow.
#[derive(Debug, Args)]
pub struct RunWorkflow {
    /// The workflow
    #[arg(value_name = "NAME")]
    pub name: String,
    #[command(flatten)]
    pub wanted: Wanted,
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenVerb {
    /// Make a token and print it; it is not shown again
    New(NewToken),
    /// List them
    List,
    /// Take one out of use
    Revoke {
        /// Its name or id
        #[arg(value_name = "NAME|ID")]
        which: String,
    },
}

/// A new token.
#[derive(Debug, Args)]
pub struct NewToken {
    /// Whose it is, or what for
    #[arg(value_name = "NAME", value_parser = a_name)]
    pub name: String,
    /// What it allows: read, submit, act; all of them when left out
    #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
    pub scope: Vec<Scope>,
    /// It holds for so long, such as 30d
    #[arg(long, value_name = "DURATION")]
    pub expires: Option<Period>,
}

fn a_name(text: &str) -> Result<String, String> {
    format::name(text).map(|()| text.to_owned())
}

/// What to do with schedules.
#[derive(Debug, Subcommand)]
pub enum Schedule {
    /// List them: when each comes next, and what came of it last
    List,
    /// Say when one comes next
    Next {
        /// The schedule
        #[arg(value_name = "NAME")]
        name: String,
        /// So many times
        #[arg(long, short = 'n', default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000), value_name = "COUNT")]
        count: u32,
        /// Those after this time, such as 2027-03-28T00:00:00Z, instead of after now
        #[arg(long, value_name = "TIME")]
        after: Option<jiff::Timestamp>,
    },
    /// Start one now, whatever the clock says
    ///
    /// Its ticks come as before; an earlier session of it that is open does not matter.
    Run {
        /// The schedule
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Keep one from starting
    Pause {
        /// The schedule
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Let a paused one go on; what it missed is treated by its catch_up
    Resume {
        /// The schedule
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// How far to look back.
#[derive(Debug, Args)]
pub struct LookBack {
    /// Since how long ago, as 12h or 30d
    #[arg(long, value_name = "AGE")]
    pub since: Option<Period>,
}

/// Where the configuration goes.
#[derive(Debug, Args)]
pub struct Init {
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
}

/// How closely to look.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Also let every agent answer one short prompt; this costs a few tokens each
    #[arg(long)]
    pub try_agents: bool,
}

/// How the demonstration is shown.
#[derive(Debug, Args)]
pub struct Demo {
    /// Remove the demonstration's files at the end
    #[arg(long)]
    pub clean: bool,
}

/// What to do with the database.
#[derive(Debug, Subcommand)]
pub enum Db {
    /// Check its integrity
    Check,
    /// Copy it, consistently, while the daemon goes on
    Backup {
        /// The new file
        file: PathBuf,
    },
    /// Delete sessions that ended long ago, with their logs
    Prune {
        /// How long ago, as 30d or 12h
        #[arg(long, value_name = "AGE")]
        older_than: crate::model::period::Period,
    },
}

/// Whose schema.
#[derive(Debug, Args)]
pub struct Schema {
    #[arg(value_enum)]
    pub what: SchemaOf,
}

/// The things that have a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaOf {
    Request,
    Config,
    /// Every event of the history, with its fields
    Events,
}

/// For which shell.
#[derive(Debug, Args)]
pub struct Completions {
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Where the manual goes.
#[derive(Debug, Args)]
pub struct Man {
    /// Write one page per command into this directory
    #[arg(long, value_name = "DIR")]
    pub into: Option<PathBuf>,
}
