//! Planned sessions from end to end: the real daemon, real tasks, scripted agents.

mod commands;
mod control;
mod example;
mod execution;
mod family;
mod gates;
mod people;
mod planner;
mod policies;
mod rows;
mod seats;
mod spawn;
pub mod stage;
mod storm;
mod sub_agents;
mod verification;
mod workflows;
