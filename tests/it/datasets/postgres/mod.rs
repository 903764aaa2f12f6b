//! A real PostgreSQL server as a dataset: what is told of it, what it answers, what it is spared.

mod answers;
mod hostile;
mod limits;
mod reaching;
mod routes;

use super::Place;
use crate::support::postgres::{PASSWORD, Postgres};
use ralphd::dataset::{Datasets, ImportLimits, Source, Trouble};

const SHOP: &str = "
    CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, region varchar(20));
    INSERT INTO customers VALUES (1, 'Ada', 'East'), (2, 'Bob', 'West'), (3, 'Cy', 'East'), (4, 'Di', NULL);
    CREATE TABLE \"Order\" (id bigserial, customer_id int REFERENCES customers, total numeric(10,2), \"unit price\" float8);
    INSERT INTO \"Order\" (customer_id, total, \"unit price\") VALUES (1, 10.50, 0.1), (3, 4.50, 2), (2, 100, 7.25);
    CREATE VIEW east AS SELECT * FROM customers WHERE region = 'East';";

/// A place for files, and a server with a small shop; none where there is no PostgreSQL.
fn shop() -> Option<(Place, Postgres)> {
    let postgres = Postgres::start()?;
    postgres.run(SHOP);
    Some((Place::new(), postgres))
}

/// The files of the place and the server at this address.
fn prepare(place: &Place, address: &str) -> Result<Datasets, Trouble> {
    let sources = [
        Source::Path(place.file("")),
        Source::parse(address, &place.workspace()),
    ];
    let datasets = Datasets::prepare(&place.workspace(), &sources, &ImportLimits::default());
    match &datasets {
        Ok(datasets) => assert!(!format!("{datasets:?}").contains(PASSWORD)),
        Err(trouble) => assert!(!trouble.message.contains(PASSWORD), "{trouble}"),
    }
    datasets
}
