//! `sql_query` and `sql_aggregate`: one SELECT over the session's datasets. After an error the analyst is shown it and mends the text.

use super::material::results_of;
use crate::dataset::{self, Fault, QueryLimits, Rows};
use crate::engine::prompt::QueryPrompt;
use crate::engine::work::{Consulted, Question, Trouble, Work};
use crate::model::placeholder::{Bound, Dialect, Sources, Statement, resolve};
use crate::model::policy::ErrorClass;
use crate::model::role::{Query, Role, json_in};
use anyhow::Result;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the text that was asked last stands in a result.
const SQL: &str = "sql";

pub async fn run(mut work: Work, one_row: bool) -> Result<()> {
    let text = match mended(&mut work, one_row).await? {
        Consulted::Answer(text) => text,
        other => return work.without_answer(other).await,
    };
    let asked = match ask(&work, &text).await? {
        Ok(rows) => result_of(&rows, one_row),
        Err(trouble) if trouble.fault == Fault::Cancelled => return work.stop().await,
        Err(trouble) => Err(Box::new(Trouble::from(trouble))),
    };
    match asked {
        Ok((mut result, summary)) => {
            if let Some(fields) = result.as_object_mut().filter(|_| !one_row) {
                fields.insert(SQL.to_owned(), text.into());
            }
            work.complete(result, &summary).await
        }
        Err(trouble) => {
            let result = trouble.result.clone();
            let mut kept = result.unwrap_or_else(|| json!({}));
            kept[SQL] = text.into();
            let result = Some(kept);
            work.setback(Trouble { result, ..*trouble }).await
        }
    }
}

/// The text of the plan; after an error of SQL, what the analyst makes of it.
async fn mended(work: &mut Work, one_row: bool) -> Result<Consulted<String>> {
    let planned = work.step.as_ref().and_then(|step| step.sql.clone());
    let last = work
        .last_result
        .as_ref()
        .and_then(|last| last[SQL].as_str());
    let sql = last.map(str::to_owned).or(planned);
    let wrong = [ErrorClass::SqlError, ErrorClass::SchemaMismatch]
        .map(ErrorClass::as_str)
        .contains(&work.task.error_type.as_deref().unwrap_or_default());
    match sql {
        Some(sql) if !wrong => return Ok(Consulted::Answer(sql)),
        _ => {}
    }
    let schema = Query::schema();
    let material = work.material().await?.for_answer_of(&schema);
    let house = work.house.clone();
    let question = Question {
        role: Role::Analyst,
        in_workspace: false,
        schema: Some(schema),
        prompt: &|problem| {
            house.prompts.query(&QueryPrompt {
                material: material.clone().after(problem),
                sql: sql.clone(),
                dialect: "SQLite".to_owned(),
                one_row,
            })
        },
        read: &|text| {
            let query = Query::read(&json_in(text)?)?;
            Statement::read(&query.sql, Dialect::Sqlite).map_err(|error| error.to_string())?;
            Ok(query.sql)
        },
    };
    work.consult(&question).await
}

async fn ask(work: &Work, text: &str) -> Result<Result<Rows, dataset::Trouble>> {
    let datasets = match work.datasets().await? {
        Ok(Some(datasets)) => datasets,
        Ok(None) => {
            let message = "the session has no datasets; name them in its request";
            return Ok(Err(dataset::Trouble::new(Fault::SchemaMismatch, message)));
        }
        Err(trouble) => return Ok(Err(trouble)),
    };
    let target = work.task.target.clone();
    let dialect = match datasets.dialect_for(target.as_deref(), text) {
        Ok(dialect) => dialect,
        Err(trouble) => return Ok(Err(trouble)),
    };
    let (text, parameters) = match bound(work, text, dialect).await? {
        Ok(bound) => bound,
        Err(message) => return Ok(Err(dataset::Trouble::new(Fault::SqlError, message))),
    };
    let stop = Arc::new(AtomicBool::new(*work.signals.stop.borrow()));
    let told = stop.clone();
    let mut asking = tokio::task::spawn_blocking(move || {
        let question = dataset::Question {
            sql: &text,
            parameters: &parameters,
            target: target.as_deref(),
            stop: Some(told),
        };
        datasets.query(&question, &QueryLimits::default())
    });
    let mut stopped = work.signals.stop.clone();
    tokio::select! {
        answer = &mut asking => return Ok(answer?),
        Ok(_) = stopped.wait_for(|stopped| *stopped) => stop.store(true, Ordering::Relaxed),
    }
    Ok(asking.await?)
}

/// The text with numbered parameters, and their values.
async fn bound(
    work: &Work,
    text: &str,
    dialect: Dialect,
) -> Result<Result<(String, Vec<Json>), String>> {
    let statement = match Statement::read(text, dialect) {
        Ok(statement) => statement,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let dependencies = match statement.binds().is_empty() {
        true => BTreeMap::new(),
        false => results_of(&work.dependencies().await?),
    };
    let sources = Sources {
        target: work.task.target.as_deref(),
        dependencies: &dependencies,
        inputs: &work.mission.inputs,
    };
    let values: Result<Vec<Json>, String> = statement
        .binds()
        .iter()
        .map(|placeholder| resolve(placeholder, &sources).map(as_json))
        .collect();
    Ok(values.map(|values| (statement.text().to_owned(), values)))
}

fn as_json(bound: Bound) -> Json {
    match bound {
        Bound::Null => Json::Null,
        Bound::Integer(number) => number.into(),
        Bound::Real(number) => number.into(),
        Bound::Text(text) => text.into(),
    }
}

/// What the rows are as the result of a task, and in a few words.
fn result_of(rows: &Rows, one_row: bool) -> Result<(Json, String), Box<Trouble>> {
    let columns = distinct(&rows.columns);
    let objects: Vec<Map<String, Json>> = rows
        .rows
        .iter()
        .map(|row| columns.iter().cloned().zip(row.iter().cloned()).collect())
        .collect();
    if let Err(nothing) = rows.require_some() {
        let result = json!({"columns": columns, "rows": objects, "row_count": objects.len()});
        return Err(Box::new(Trouble {
            result: Some(result),
            ..Trouble::from(nothing)
        }));
    }
    if !one_row {
        let more = if rows.truncated { " and more" } else { "" };
        let summary = format!("{} rows{more}", objects.len());
        let result = json!({
            "columns": columns, "rows": objects, "row_count": objects.len(), "truncated": rows.truncated,
        });
        return Ok((result, summary));
    }
    match <[Map<String, Json>; 1]>::try_from(objects) {
        Ok([row]) => {
            let fields = row.iter().map(|(name, value)| format!("{name} = {value}"));
            let summary = fields.collect::<Vec<_>>().join(", ");
            Ok((Json::Object(row), summary))
        }
        Err(objects) => {
            let count = objects.len();
            let message = format!("an aggregate gives one row, this gave {count}");
            Err(Box::new(Trouble::new(ErrorClass::SqlError, message)))
        }
    }
}

/// Names that no two columns share: an object would lose one of them.
fn distinct(columns: &[String]) -> Vec<String> {
    let mut taken: Vec<String> = Vec::with_capacity(columns.len());
    for column in columns {
        let mut name = column.clone();
        let mut count = 2;
        while taken.contains(&name) {
            name = format!("{column}_{count}");
            count += 1;
        }
        taken.push(name);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(columns: &[&str], rows: &[&[Json]]) -> Rows {
        Rows {
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: rows.iter().map(|row| row.to_vec()).collect(),
            truncated: false,
            took_ms: 0,
        }
    }

    #[test]
    fn rows_become_objects_and_an_aggregate_is_one() {
        let two = rows(&["a", "a"], &[&[1.into(), 2.into()], &[3.into(), 4.into()]]);
        let (result, summary) = result_of(&two, false).unwrap();
        assert_eq!(result["rows"][1], json!({"a": 3, "a_2": 4}));
        assert_eq!(
            (result["row_count"].as_i64(), summary.as_str()),
            (Some(2), "2 rows")
        );
        let refusal = result_of(&two, true).unwrap_err();
        assert_eq!(refusal.class, ErrorClass::SqlError);
        let one = rows(&["total"], &[&[42.into()]]);
        assert_eq!(
            result_of(&one, true).unwrap(),
            (json!({"total": 42}), "total = 42".to_owned())
        );
    }

    #[test]
    fn nothing_is_no_data_but_a_count_of_zero_is_a_result() {
        for nothing in [rows(&["a"], &[]), rows(&["sum"], &[&[Json::Null]])] {
            assert_eq!(
                result_of(&nothing, true).unwrap_err().class,
                ErrorClass::NoData
            );
        }
        assert!(result_of(&rows(&["count"], &[&[0.into()]]), true).is_ok());
    }
}
