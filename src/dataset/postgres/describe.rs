//! What a server has to ask: tables and views that its role may read, their columns, a few values. It only reads.

use super::ask::{Failed, Fetch};
use super::explain::explain;
use super::session::read_only;
use crate::dataset::describe::{SAMPLE_CHARACTERS, SAMPLE_ROWS, SAMPLES, cut};
use crate::dataset::limits::{ImportLimits, QueryLimits};
use crate::dataset::schema::{Column, Schema, Table};
use crate::dataset::trouble::{Fault, Trouble};
use serde_json::Value;
use std::time::{Duration, Instant};
use tokio_postgres::{Client, Row};

/// Rows from which samples are taken.
const LOOKED_AT: usize = 100;
/// A table of fewer rows is counted where the server has no estimate.
const COUNTED: i64 = 10_000;
/// Time to look into one table; a view may be a long query.
const LOOK: Duration = Duration::from_secs(5);
/// Time to look into all of them; those that come later are told without values.
const LOOK_AT_ALL: Duration = Duration::from_secs(20);

/// Tables, views and foreign tables on the search path or in `public`, with an estimate of their rows; neither what belongs to an
/// extension nor the parts of a partitioned table.
const TABLES: &str = "SELECT c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.relname), n.nspname::text, \
        CASE WHEN c.relkind IN ('r', 'm', 'p') THEN c.reltuples::float8 END \
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND NOT c.relispartition \
        AND (n.nspname = ANY (pg_catalog.current_schemas(false)) OR n.nspname = 'public') \
        AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_table_privilege(c.oid, 'SELECT') \
        AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d \
            WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = c.oid AND d.deptype = 'e') \
    ORDER BY n.nspname, c.relname LIMIT $1";
const COLUMNS: &str = "SELECT attrelid, quote_ident(attname), pg_catalog.format_type(atttypid, atttypmod) \
    FROM pg_catalog.pg_attribute WHERE attrelid = ANY ($1) AND attnum > 0 AND NOT attisdropped ORDER BY attrelid, attnum";
/// All of them: a name with one of these in front is the server's.
const SCHEMAS: &str =
    "SELECT nspname::text FROM pg_catalog.pg_namespace WHERE nspname !~ '^pg_(toast|temp)'";

/// What was found.
pub struct Described {
    pub schemas: Vec<String>,
    pub schema: Schema,
}

/// A server that takes too long to look at, in words.
pub fn too_long(time: Duration) -> Trouble {
    let seconds = time.as_secs_f32();
    let message = format!("the PostgreSQL server takes more than {seconds} s to tell its tables");
    Trouble::new(Fault::Timeout, message)
}

/// Looks at the server.
pub async fn describe(
    client: &mut Client,
    source: &str,
    limits: &ImportLimits,
) -> Result<Described, Trouble> {
    let started = Instant::now();
    let explained = |error| explain(&error, "", &Schema::default());
    let mut described = catalogue(client, source, limits).await.map_err(explained)?;
    let schema = &mut described.schema;
    for table in &mut schema.tables {
        if started.elapsed() > LOOK_AT_ALL {
            schema.notes.push(format!(
                "{source}: looking into all tables takes too long; from {} on no values are told",
                table.name
            ));
            break;
        }
        if let Err(trouble) = look(client, table).await {
            schema
                .notes
                .push(format!("{source}: {}: {trouble}", table.name));
        }
    }
    Ok(described)
}

async fn catalogue(
    client: &mut Client,
    source: &str,
    limits: &ImportLimits,
) -> Result<Described, tokio_postgres::Error> {
    let transaction = read_only(client, LOOK).await?;
    let most = i64::try_from(limits.tables).unwrap_or(i64::MAX - 1);
    let mut tables = transaction.query(TABLES, &[&(most + 1)]).await?;
    let mut notes = vec![format!(
        "{source}: its tables are asked in PostgreSQL's SQL and never in one statement with others; numbers of rows are estimates"
    )];
    if tables.len() > limits.tables {
        tables.truncate(limits.tables);
        notes.push(format!("{source}: only {} tables are told", limits.tables));
    }
    let ids: Vec<u32> = tables.iter().map(|row| row.get(0)).collect();
    let columns = transaction.query(COLUMNS, &[&ids]).await?;
    let schemas = transaction.query(SCHEMAS, &[]).await?;
    let table = |row: &Row| Table {
        name: row.get(1),
        source: source.to_owned(),
        row_count: estimate(row.get(3)),
        columns: of_table(&columns, row.get(0), limits.columns),
        sample_rows: Vec::new(),
    };
    Ok(Described {
        schemas: schemas.iter().map(|row| row.get(0)).collect(),
        schema: Schema {
            tables: tables.iter().map(table).collect(),
            notes,
        },
    })
}

/// None of a table that was never analysed, which old servers cannot tell from an empty one.
fn estimate(rows: Option<f64>) -> Option<u64> {
    let rows = rows.filter(|rows| *rows >= 1.0)?;
    format!("{rows:.0}").parse().ok()
}

fn of_table(columns: &[Row], table: u32, most: usize) -> Vec<Column> {
    let own = columns.iter().filter(|row| row.get::<_, u32>(0) == table);
    let column = |row: &Row| Column {
        name: row.get(1),
        kind: row.get(2),
        nulls: None,
        samples: Vec::new(),
    };
    own.take(most).map(column).collect()
}

async fn look(client: &mut Client, table: &mut Table) -> Result<(), Trouble> {
    let explained = |failed| match failed {
        Failed::Told(trouble) => trouble,
        Failed::Server(error) => explain(&error, "", &Schema::default()),
    };
    let rows = first_rows(client, &table.name).await.map_err(explained)?;
    if table.row_count.is_none() {
        table.row_count = match rows.len() < LOOKED_AT {
            true => u64::try_from(rows.len()).ok(),
            false => count(client, &table.name).await.ok().flatten(),
        };
    }
    for (index, column) in table.columns.iter_mut().enumerate() {
        let values = rows.iter().filter_map(|row| row.get(index));
        for value in values.filter(|value| !value.is_null()) {
            if column.samples.len() < SAMPLES && !column.samples.contains(value) {
                column.samples.push(value.clone());
            }
        }
    }
    table.sample_rows = rows.into_iter().take(SAMPLE_ROWS).collect();
    Ok(())
}

async fn first_rows(client: &mut Client, table: &str) -> Result<Vec<Vec<Value>>, Failed> {
    let limits = QueryLimits::default();
    let transaction = read_only(client, LOOK).await?;
    let sql = format!("SELECT * FROM {table} LIMIT {LOOKED_AT}");
    let asked = transaction.prepare(&sql).await?;
    let fetch = Fetch {
        transaction: &transaction,
        asked: &asked,
        sql: &sql,
        parameters: &[],
        limits: &limits,
        characters: SAMPLE_CHARACTERS + 1,
    };
    let gathered = fetch.rows().await?;
    let shortened = |row: Vec<Value>| row.into_iter().map(cut).collect();
    Ok(gathered.rows.into_iter().map(shortened).collect())
}

/// None where there are too many to count.
async fn count(client: &mut Client, table: &str) -> Result<Option<u64>, tokio_postgres::Error> {
    let transaction = read_only(client, LOOK).await?;
    let most = COUNTED + 1;
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT {most}) AS counted");
    let rows: i64 = transaction.query_one(&sql, &[]).await?.get(0);
    Ok(u64::try_from(rows).ok().filter(|_| rows <= COUNTED))
}
