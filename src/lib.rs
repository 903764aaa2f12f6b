//! ralphd finishes agent work too long for one context window: drop a request into a folder, go to bed, find the answer
//! in the outbox. One binary, one SQLite file, no other service.
//!
//! # The way of a request
//!
//! ```text
//!  inbox/  ─┐                                                                                             ┌─ claude, codex, …
//!  cron    ─┤
//!  webhook ─┤
//!  api     ─┼─► trigger/intake ─► store/ ─► queue/scheduler ─► engine/ralph ─► agent/command ─ process: shim ─┤
//!  sqlite3 ─┤   (check, dedupe)    rows       (claim)          (summary →) prompt → run → judge → record    └─ agent/builtin: provider, tools
//!  cli     ─┘                       ▲                                │
//!                                   └──── settle: one transaction ◄──┘ ───► report/ outbox, notify; api/ events
//! ```
//!
//! A planned session has a task of its own (order 0, `engine/conduct`): it reads the datasets, asks the planner or reads a workflow, saves
//! the tasks, waits without a slot while they are worked through (`engine/exec`, one file a kind), and sums up. Every task of every kind begins
//! and is left through `engine/work`; what follows its failure is decided by `model/policy`. Another agent's work is a session of its own
//! (`engine/delegate`).
//!
//! One direction; the only way back is through the store. Its commits are the only wake-up: whoever cares reads the rows
//! again, and also looks now and then, so that a lost wake-up costs time and nothing else.
//!
//! # The house
//!
//! A room may use rooms of lower rank only; `tests/it/tidy.rs` holds them to it.
//!
//! | rank | room | what it is |
//! |---|---|---|
//! | 0 | [`model`] | pure words and decisions: states, cron expressions and what is due of a schedule, promise, why the loop stops, who takes the next turn, prices, requests, plans and workflows, what follows a failure, the roles of planned sessions and what each answers, the events as a contract (`model/contract`); `model/webhook`: who sent a delivery, and how its text stays data |
//! | 1 | [`clock`], [`files`], [`lock`], [`config`], [`process`], [`secrets`] | the edges: time, files of strangers, locks, settings, programs, what must not get out |
//! | 2 | [`store`] | the database; the only place with ralphd's SQL |
//! | 3 | [`workspace`], [`dataset`], [`transform`] | the directory an agent works in, and `workspace/git`, the git command on it: made ready, kept as points (those of simple plain directories by files alone, `git/written`), parted into trees, merged, pushed; the tables a plan asks (files, SQLite, PostgreSQL), and read-only SQL over them; jq filters over results, each in a process of its own |
//! | 4 | [`agent`] | who can take a turn; `agent/stream` reads what the tools of others say, one small file a tool; `agent/builtin` is ralphd's own loop over a model, with `agent/provider` (dialects, cassettes) and `agent/tool` (one file a tool) |
//! | 5 | [`engine`] | what runs a task: `engine/ralph` is THE loop, `engine/conduct` a plan from question to answer, `engine/exec` the kinds of task, `engine/work` how a task is begun and left, `engine/ground` what it stands on: a workspace made ready, kept after each iteration, gone back on |
//! | 6 | [`queue`], [`trigger`], [`report`] | claim tasks, take requests, write answers; `report/notify` tells those outside who want to know, `report/digest` is the morning paper, `report/stats` how agents fare, `report/metrics` the daemon in numbers, `report/mirror` the history as a file, `report/wording` how things stand in words |
//! | 7 | [`api`] | HTTP: a route table that describes itself, who may call, one file a resource, the history as a stream; `api/dashboard`: the same for people, one file a page, `html/` what is sent |
//! | 10 | [`daemon`] | all of it together, until told to stop |
//! | 11 | [`cli`] | one file a verb |
//!
//! Read first: `engine/ralph/mod.rs` (the loop, one screen), `model/stop` (why it stops), `store/tasks` (the queue), `store/plans` (what a
//! task's end means for the others), `trigger/cron` (the clock), `engine/ground` (workspaces in the life of a session), `engine/conduct/mod.rs` (a planned session),
//! `process/mod.rs` (how a turn outlives the daemon), `agent/builtin/mod.rs` (how a conversation outlives its process).
//!
//! # What holds everywhere
//!
//! - A state changes only by compare-and-set with its event, in one transaction; claims are fenced by their number.
//! - State words live three times, held equal by a test: the enum, its transition table, the `CHECK` in `sql/`.
//! - Nothing is acknowledged before it is on disk.
//! - Only `process` starts programs; only `store` speaks SQL to ralphd's database; only `model` decides; only the edges read the clock.
//! - Everything has a maximum. An unknown name or key is an error that lists the known ones.
//! - The database file is touched through SQLite alone.
//!
//! # Deliberately absent
//!
//! No state in memory that a kill -9 would lose, no service beside the one file, no polling of the queue, no shared
//! mutable state between rooms: they meet in the rows. Except the vault of [`secrets`], which may be in no row.

pub mod agent;
pub mod api;
pub mod cli;
pub mod clock;
pub mod config;
pub mod daemon;
pub mod dataset;
pub mod engine;
pub mod files;
pub mod lock;
pub mod model;
pub mod process;
pub mod queue;
pub mod report;
pub mod secrets;
pub mod store;
pub mod transform;
pub mod trigger;
pub mod workspace;
