//! A PostgreSQL server as a dataset: its tables told to planners, its rows asked by SQL that only reads.
//!
//! Every question has a connection and a read-only transaction of its own, which is always rolled back. Before anything is sent,
//! [`permit`] refuses what is no single SELECT and what is known to do more than read; what the server's catalogue calls volatile is
//! refused too. None of that is the fence: **what the server lets its role do is.** Give ralphd a role that may SELECT and no more.
//!
//! The address holds a password: it is in no text that is made here, neither errors nor schemas.
//!
//! Everything here blocks, with a runtime of its own: never call it on a thread that runs asynchronous work.

mod address;
mod ask;
mod describe;
mod explain;
mod parameter;
mod permit;
mod session;
mod tls;
mod value;

use super::limits::{ImportLimits, QueryLimits};
use super::query::{Question, Rows};
use super::schema::Schema;
use super::trouble::Trouble;
use address::Address;
pub use address::{PASSWORD, has_password};
use session::{Patience, with_client};
use std::time::Duration;

/// Time to look at a server, at most.
const DISCOVERY: Duration = Duration::from_secs(60);
/// What a task may call a server, whatever its address.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// A server that was looked at.
#[derive(Clone, Debug)]
pub struct Server {
    address: Address,
    schemas: Vec<String>,
}

impl Server {
    /// Looks at the server of this address: it, and its tables.
    pub fn describe(address: &str, limits: &ImportLimits) -> Result<(Self, Schema), Trouble> {
        let address = Address::read(address)?;
        let patience = Patience {
            time: DISCOVERY,
            stop: None,
            too_long: describe::too_long,
        };
        let described = with_client(&address, &patience, async |client| {
            let described = describe::describe(client, &address.shown, limits).await;
            described.map_err(|trouble| trouble.about(&address.shown))
        })?;
        let server = Self {
            address,
            schemas: described.schemas,
        };
        Ok((server, described.schema))
    }

    /// The address without its secrets.
    pub fn shown(&self) -> &str {
        &self.address.shown
    }

    /// Whether a name, in small letters, is that of a schema.
    pub fn has_schema(&self, name: &str) -> bool {
        self.schemas
            .iter()
            .any(|schema| schema.to_lowercase() == name)
    }

    /// Whether this is how a task would name it: by its database, or by an address.
    pub fn is_called(&self, name: &str) -> bool {
        name == self.address.database || SCHEMES.iter().any(|scheme| name.starts_with(scheme))
    }

    /// Asks one question.
    pub fn ask(
        &self,
        question: &Question<'_>,
        limits: &QueryLimits,
        schema: &Schema,
    ) -> Result<Rows, Trouble> {
        let patience = Patience {
            time: limits.time,
            stop: question.stop.clone(),
            too_long: ask::too_long,
        };
        with_client(&self.address, &patience, async |client| {
            ask::ask(client, question, limits, schema).await
        })
    }

    /// A server that nobody looked at.
    #[cfg(test)]
    pub fn example(address: &str, schemas: &[&str]) -> Self {
        let own = ["pg_catalog", "information_schema"];
        Self {
            address: Address::read(address).expect("an address"),
            schemas: schemas
                .iter()
                .chain(&own)
                .map(|&name| name.to_owned())
                .collect(),
        }
    }
}
