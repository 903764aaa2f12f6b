//! Whom a statement asks: SQLite, where the imports and the attached files are, or the PostgreSQL server. By the tables it names, and
//! where those do not tell, by the dataset that its task names. Never both. Pure.

use super::postgres::Server;
use super::schema::{Schema, Table};
use super::token::{Token, name_at, tokens};
use super::trouble::{Fault, Trouble};
use crate::model::placeholder::Dialect;

/// What ends the list of a SELECT's tables.
const ENDS: &[&str] = &[
    "where",
    "group",
    "order",
    "having",
    "limit",
    "offset",
    "fetch",
    "window",
    "union",
    "intersect",
    "except",
    "for",
];

/// Whom to ask, so in whose dialect. `sql` may still have its placeholders: none can stand for a table.
pub fn route(
    schema: &Schema,
    server: Option<&Server>,
    target: Option<&str>,
    sql: &str,
) -> Result<Dialect, Trouble> {
    let Some(server) = server else {
        return Ok(Dialect::Sqlite);
    };
    let known = Known::new(schema, server);
    let (mut of_files, mut of_server) = (None, None);
    for name in tables_named(&tokens(sql)) {
        match known.home(&name) {
            Some(Home::Files) => of_files = Some(name.join(".")),
            Some(Home::Server) => of_server = Some(name.join(".")),
            Some(Home::Either) | None => {}
        }
    }
    match (of_files, of_server) {
        (Some(own), Some(other)) => Err(Trouble::new(
            Fault::SqlError,
            format!(
                "{other} is a table of {}, {own} is not: one statement cannot ask both; ask each in a task of its own and bring the results together in a third",
                server.shown()
            ),
        )),
        (Some(_), None) => Ok(Dialect::Sqlite),
        (None, Some(_)) => Ok(Dialect::Postgres),
        (None, None) => Ok(known.of_target(target)),
    }
}

/// Where a name leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Files,
    Server,
    /// The bare name of tables on both sides.
    Either,
}

/// The tables of both sides, by the parts of their names.
struct Known<'s> {
    server: &'s Server,
    files: Vec<(Vec<String>, &'s str)>,
    tables: Vec<Vec<String>>,
}

impl<'s> Known<'s> {
    fn new(schema: &'s Schema, server: &'s Server) -> Self {
        let parts = |table: &Table| name_at(&tokens(&table.name), 0).unwrap_or_default().0;
        let (own, others): (Vec<&Table>, Vec<&Table>) = schema
            .tables
            .iter()
            .partition(|table| table.source == server.shown());
        Self {
            server,
            files: others
                .iter()
                .map(|table| (parts(table), table.source.as_str()))
                .collect(),
            tables: own.iter().map(|table| parts(table)).collect(),
        }
    }

    fn home(&self, name: &[String]) -> Option<Home> {
        let [bare] = name else {
            return self.home_of_qualified(name);
        };
        let among_files = self
            .files
            .iter()
            .any(|(parts, _)| parts.last() == Some(bare));
        let among_tables = self.tables.iter().any(|parts| parts.last() == Some(bare));
        match (among_files, among_tables) {
            (true, true) => Some(Home::Either),
            (true, false) => Some(Home::Files),
            (false, true) => Some(Home::Server),
            (false, false) => None,
        }
    }

    /// No attached file has the name of one of the server's schemas.
    fn home_of_qualified(&self, name: &[String]) -> Option<Home> {
        let first = name.first()?;
        // SQLite knows no name of three parts.
        if name.len() > 2 || self.server.has_schema(first) {
            return Some(Home::Server);
        }
        let attached =
            |(parts, _): &(Vec<String>, &str)| parts.len() == 2 && parts.first() == Some(first);
        let among_files = first == "main" || self.files.iter().any(attached);
        among_files.then_some(Home::Files)
    }

    /// Without a word on it: the server where there is nothing else.
    fn of_target(&self, target: Option<&str>) -> Dialect {
        let of_server = |target: &str| {
            let name = name_at(&tokens(target), 0).unwrap_or_default().0;
            let is_file = |(_, source): &(Vec<String>, &str)| source.eq_ignore_ascii_case(target);
            match self.home(&name) {
                _ if self.files.iter().any(is_file) => false,
                _ if self.server.is_called(target) => true,
                home => home == Some(Home::Server),
            }
        };
        match self.files.is_empty() || target.is_some_and(of_server) {
            true => Dialect::Postgres,
            false => Dialect::Sqlite,
        }
    }
}

/// The names that stand where a table must be, without those that the statement itself gives to its WITH queries.
fn tables_named(tokens: &[Token<'_>]) -> Vec<Vec<String>> {
    let own = with_names(tokens);
    let mut reader = Reader::default();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let distinct = at > 0 && tokens[at - 1].is("distinct");
        at += 1;
        if !reader.take(token, distinct) {
            continue;
        }
        if let Some((name, end)) = name_at(tokens, at - 1) {
            let is_function = tokens.get(end) == Some(&Token::Mark(b'('));
            let is_own = matches!(&name[..], [bare] if own.contains(bare));
            if !is_function && !is_own {
                found.push(name);
            }
            at = end;
        }
    }
    found
}

/// One level of parentheses.
#[derive(Clone, Copy, Default)]
struct Level {
    select: bool,
    /// Within the list of tables.
    tables: bool,
}

/// Where in a statement one is, as far as it tells a table's place from others.
#[derive(Default)]
struct Reader {
    outer: Vec<Level>,
    level: Level,
    table_follows: bool,
}

impl Reader {
    /// Takes a piece; whether it begins the name of a table. FROM names one only for a SELECT: `extract(year FROM x)` and
    /// `IS DISTINCT FROM x` take values.
    fn take(&mut self, token: &Token<'_>, after_distinct: bool) -> bool {
        let is_any = |words: &[&str]| words.iter().any(|word| token.is(word));
        let expected = std::mem::take(&mut self.table_follows);
        let from = token.is("from") && self.level.select && !after_distinct;
        if *token == Token::Mark(b'(') {
            self.outer.push(self.level);
            self.level = Level {
                select: false,
                tables: expected,
            };
            self.table_follows = expected;
        } else if *token == Token::Mark(b')') {
            self.level = self.outer.pop().unwrap_or_default();
        } else if *token == Token::Mark(b',') {
            self.table_follows = self.level.tables;
        } else if token.is("select") {
            self.level = Level {
                select: true,
                tables: false,
            };
        } else if from || is_any(&["join", "table"]) {
            self.level.tables = true;
            self.table_follows = true;
        } else if is_any(ENDS) {
            self.level.tables = false;
        } else if is_any(&["lateral", "only"]) {
            self.table_follows = expected;
        } else {
            return expected && !is_any(&["with", "values"]);
        }
        false
    }
}

/// `x` of `WITH x AS (SELECT`, and of `x (a, b) AS NOT MATERIALIZED (SELECT`.
fn with_names(tokens: &[Token<'_>]) -> Vec<String> {
    let is_query = |at: usize| {
        let rest = tokens.get(at..).unwrap_or_default();
        let mut rest = rest
            .iter()
            .skip_while(|token| token.is("not") || token.is("materialized"));
        let opens = rest.next() == Some(&Token::Mark(b'('));
        opens
            && rest.next().is_some_and(|token| {
                ["select", "with", "values", "table"]
                    .iter()
                    .any(|word| token.is(word))
            })
    };
    let mut names = Vec::new();
    for (at, _) in tokens
        .iter()
        .enumerate()
        .filter(|(at, token)| token.is("as") && is_query(at + 1))
    {
        let mut name = at;
        if tokens[..at].last() == Some(&Token::Mark(b')')) {
            name = tokens[..at]
                .iter()
                .rposition(|token| *token == Token::Mark(b'('))
                .unwrap_or(at);
        }
        names.extend(tokens[..name].last().and_then(Token::name));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_seen_where_they_stand() {
        for (sql, expected) in [
            ("SELECT 1", ""),
            ("SELECT orders FROM customers", "customers"),
            (
                "select * from a, b x, \"C d\" join e on a.x = e.y, f where g in (1, 2)",
                "a b c d e f",
            ),
            (
                "SELECT * FROM (SELECT x FROM a) q JOIN LATERAL (SELECT 1 FROM b) r ON true",
                "a b",
            ),
            (
                "SELECT * FROM (a JOIN b USING (id, x)) LEFT JOIN c ON f(d, e) = 1",
                "a b c",
            ),
            (
                "SELECT extract(year FROM d), a IS DISTINCT FROM b FROM c",
                "c",
            ),
            (
                "SELECT (SELECT max(x) FROM a) FROM b ORDER BY 1, c LIMIT 3",
                "a b",
            ),
            ("SELECT * FROM generate_series(1, 2) g, a", "a"),
            (
                "WITH a AS (SELECT * FROM b), c (x, y) AS MATERIALIZED (SELECT 1, 2) SELECT * FROM a, c, d",
                "b d",
            ),
            (
                "SELECT 1 FROM public.a UNION SELECT 2 FROM shop.\"x\".b -- FROM c",
                "public.a shop.x.b",
            ),
            ("TABLE a", "a"),
            (
                "SELECT 'FROM a' FROM b /* FROM c */ WHERE x = {{value}}",
                "b",
            ),
            (") SELECT FROM", ""),
        ] {
            let found: Vec<String> = tables_named(&tokens(sql))
                .iter()
                .map(|name| name.join("."))
                .collect();
            assert_eq!(found.join(" "), expected, "{sql}");
        }
    }

    fn table(name: &str, source: &str) -> Table {
        Table {
            name: name.to_owned(),
            source: source.to_owned(),
            row_count: None,
            columns: Vec::new(),
            sample_rows: Vec::new(),
        }
    }

    #[test]
    fn a_statement_goes_where_its_tables_are() {
        let server = Server::example("postgres://me:secret@host/shop", &["public", "sales"]);
        let schema = Schema {
            tables: vec![
                table("customers", "customers.csv"),
                table("\"order\"", "order.csv"),
                table("notes.pages", "notes.db"),
                table("public.customers", server.shown()),
                table("sales.invoices", server.shown()),
            ],
            notes: Vec::new(),
        };
        let (files, postgres) = (Some(Dialect::Sqlite), Some(Dialect::Postgres));
        for (target, sql, expected) in [
            (None, "SELECT * FROM public.customers", postgres),
            (None, "SELECT * FROM Sales.Invoices", postgres),
            (None, "SELECT * FROM invoices", postgres),
            (
                None,
                "SELECT * FROM invoices JOIN customers ON true",
                postgres,
            ),
            (None, "SELECT * FROM shop.public.customers", postgres),
            (None, "SELECT * FROM information_schema.tables", postgres),
            (None, "SELECT * FROM customers", files),
            (None, "SELECT * FROM customers JOIN \"order\" ON 1", files),
            (None, "SELECT * FROM pages", files),
            (None, "SELECT * FROM notes.pages", files),
            (None, "SELECT * FROM main.customers", files),
            (None, "SELECT * FROM unknown", files),
            (None, "SELECT 1", files),
            (Some("shop"), "SELECT 1", postgres),
            (Some("shop"), "SELECT * FROM customers", postgres),
            (Some("sales.invoices"), "SELECT 1", postgres),
            (
                Some("postgres://me@host/shop"),
                "SELECT * FROM unknown",
                postgres,
            ),
            (Some("customers.csv"), "SELECT * FROM customers", files),
            (Some("shop"), "SELECT * FROM \"order\"", files),
            (Some("customers.csv"), "SELECT * FROM invoices", postgres),
            (None, "SELECT * FROM invoices, pages", None),
            (
                Some("shop"),
                "SELECT * FROM \"order\" WHERE id IN (SELECT id FROM sales.invoices)",
                None,
            ),
        ] {
            let routed = route(&schema, Some(&server), target, sql);
            assert_eq!(routed.as_ref().ok().copied(), expected, "{target:?} {sql}");
            if let Err(trouble) = routed {
                assert!(
                    trouble.message.contains("one statement cannot ask both"),
                    "{trouble}"
                );
                assert!(!trouble.message.contains("secret"), "{trouble}");
            }
            assert_eq!(route(&schema, None, target, sql), Ok(Dialect::Sqlite));
        }
        let alone = Schema {
            tables: schema.tables[3..].to_vec(),
            notes: Vec::new(),
        };
        for sql in ["SELECT 1", "SELECT * FROM unknown"] {
            assert_eq!(
                route(&alone, Some(&server), None, sql),
                Ok(Dialect::Postgres)
            );
        }
    }
}
