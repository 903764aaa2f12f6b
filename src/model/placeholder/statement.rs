//! A SQL text with its placeholders taken out: numbered parameters in their stead, and the list of what to bind.

use super::region::{Region, in_word, region};
use super::{Placeholder, PlaceholderError, parse};

/// A statement with more parameters than this is not written by hand.
const MAX_PARAMETERS: usize = 1000;
/// Whose rules a text follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Postgres,
}

/// A text whose parameters are numbered from 1, and what each of them stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    text: String,
    binds: Vec<Placeholder>,
}

impl Statement {
    /// Reads a SQL text with placeholders.
    pub fn read(sql: &str, dialect: Dialect) -> Result<Statement, PlaceholderError> {
        let mut reader = Reader {
            sql,
            dialect,
            text: String::with_capacity(sql.len()),
            binds: Vec::new(),
            scope: Scope::default(),
        };
        let mut at = 0;
        while at < sql.len() {
            at = reader.next(at)?;
        }
        Ok(Statement {
            text: reader.text,
            binds: reader.binds,
        })
    }

    /// With `?1` for SQLite, `$1` for PostgreSQL.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What to bind, in the order of the parameters' numbers.
    pub fn binds(&self) -> &[Placeholder] {
        &self.binds
    }
}

struct Reader<'s> {
    sql: &'s str,
    dialect: Dialect,
    text: String,
    binds: Vec<Placeholder>,
    scope: Scope,
}

impl Reader<'_> {
    /// Takes the piece that begins at `start`; where the next one begins.
    fn next(&mut self, start: usize) -> Result<usize, PlaceholderError> {
        if self.sql[start..].starts_with("{{") {
            return self.placeholder(start);
        }
        let (region, end) = region(self.sql.as_bytes(), start, self.dialect);
        // A region ends behind an ASCII byte or at the end of the text, and a mark may be the first of several bytes.
        let end = self.sql.ceil_char_boundary(end.min(self.sql.len()));
        let piece = &self.sql[start..end];
        match region {
            Region::Quoted => self.refuse_quoted(piece)?,
            Region::Mark => self.refuse_stray(start)?,
            Region::Comment | Region::Word => {}
        }
        let blank = region == Region::Comment || piece.trim().is_empty();
        if !blank {
            self.scope.take(region, piece);
        }
        if self.text.ends_with(|last: char| last.is_ascii_digit())
            && self.sql[..start].ends_with("}}")
            && in_word(piece.as_bytes()[0])
        {
            // `{{value}}5` must not become the parameter `?15`.
            self.text.push(' ');
        }
        self.text.push_str(piece);
        Ok(end)
    }

    fn placeholder(&mut self, start: usize) -> Result<usize, PlaceholderError> {
        let inner = &self.sql[start + 2..];
        let length = inner.find("}}").ok_or(PlaceholderError::Unclosed)?;
        let inner = &inner[..length];
        let placeholder = parse(inner).ok_or_else(|| PlaceholderError::Unknown {
            inner: inner.trim().to_owned(),
        })?;
        if self.scope.table_follows {
            return Err(PlaceholderError::AsTable(placeholder));
        }
        let known = self.binds.iter().position(|bind| *bind == placeholder);
        let index = known.unwrap_or(self.binds.len());
        if known.is_none() {
            self.binds.push(placeholder);
        }
        if self.binds.len() > MAX_PARAMETERS {
            return Err(PlaceholderError::TooMany {
                most: MAX_PARAMETERS,
            });
        }
        if self
            .text
            .as_bytes()
            .last()
            .is_some_and(|&last| in_word(last))
        {
            self.text.push(' ');
        }
        let mark = match self.dialect {
            Dialect::Sqlite => '?',
            Dialect::Postgres => '$',
        };
        self.text.push(mark);
        self.text.push_str(&(index + 1).to_string());
        Ok(start + 2 + length + 2)
    }

    /// Braces in a literal may be meant; a placeholder in one is a mistake that would silently compare with its name.
    fn refuse_quoted(&self, piece: &str) -> Result<(), PlaceholderError> {
        for part in piece.split("{{").skip(1) {
            let inner = part.split_once("}}").and_then(|(inner, _)| parse(inner));
            if let Some(placeholder) = inner {
                return Err(PlaceholderError::InQuotes(placeholder));
            }
        }
        Ok(())
    }

    /// `?`, `:name`, `@name` and `$name` of SQLite, `$1` of PostgreSQL would mix with our numbers, or be NULL unnoticed.
    fn refuse_stray(&self, start: usize) -> Result<(), PlaceholderError> {
        let rest = &self.sql[start..];
        let word = rest
            .bytes()
            .skip(1)
            .take_while(|&byte| in_word(byte))
            .count();
        let is_parameter = match (self.dialect, rest.as_bytes()) {
            (Dialect::Sqlite, [b'?', ..]) => true,
            (Dialect::Sqlite, [b':' | b'@' | b'$' | b'#', ..]) => word > 0,
            (Dialect::Postgres, [b'$', digit, ..]) => digit.is_ascii_digit(),
            _ => false,
        };
        if is_parameter {
            let parameter = rest[..rest.floor_char_boundary((1 + word).min(40))].to_owned();
            return Err(PlaceholderError::Stray(parameter));
        }
        Ok(())
    }
}

/// Where in a statement the reader is, as far as it tells a table's place from others.
#[derive(Default)]
struct Scope {
    /// Whether a SELECT was seen, outside all parentheses and within each open one.
    selects: Vec<bool>,
    after_distinct: bool,
    table_follows: bool,
}

impl Scope {
    /// FROM names a table only for a SELECT: `extract(year FROM x)` and `IS DISTINCT FROM x` take values.
    fn take(&mut self, region: Region, piece: &str) {
        let is = |word: &str| region == Region::Word && piece.eq_ignore_ascii_case(word);
        if self.selects.is_empty() {
            self.selects.push(false);
        }
        match piece {
            "(" => self.selects.push(false),
            ")" => drop(self.selects.pop()),
            _ => {}
        }
        if let Some(select) = self.selects.last_mut() {
            *select |= is("select");
        }
        let of_select = self.selects.last() == Some(&true) && !self.after_distinct;
        self.table_follows = is("join") || (is("from") && of_select);
        self.after_distinct = is("distinct");
    }
}
