//! What must hold whatever happens (the properties of the contract's last section), against the real database: one file a group.

mod bench;
mod cases;
mod creation;
mod deeds;
mod dependencies;
mod gates;
mod happenings;
mod history;
mod material;
mod persistence;
mod plain;
mod round_trip;
mod states;
mod steady;
mod sub_agents;
mod world;
