//! The first page: what waits for a person, and the sessions, newest first, filtered and searched. It only looks.

use super::page::{Page, is_live};
use crate::api::Api;
use crate::api::call::Call;
use crate::api::problem::Problem;
use crate::api::reply::Reply;
use crate::api::route::Route;
use crate::clock::{iso, local_time, now_ms, starts_of_day_and_month};
use crate::model::amount::{age, duration, money};
use crate::model::harmless::{cut, first_line, harmless_lines};
use crate::model::id::short;
use crate::model::session::{SessionState, Trigger};
use crate::model::token::Scope;
use crate::report::standing::Standing;
use crate::store::driver::Sql;
use crate::store::humans::HumanKind;
use crate::store::review::{self, Asked};
use crate::store::sessions::{self, Wanted};
use crate::store::{census, ledger};
use hyper::{Method, StatusCode};
use jiff::tz::TimeZone;
use serde::Serialize;
use std::sync::Arc;

const PAGE: u32 = 50;
const MAX_WAITING: u32 = 20;
/// So many of the newest are counted.
const MAX_COUNTED: u32 = 2_000;
const MAX_OBJECTIVE_CHARS: usize = 110;
const MAX_QUESTION_CHARS: usize = 600;
const FILTERS: &[&str] = &["q", "status", "agent", "trigger", "before"];

pub fn routes() -> Vec<Route> {
    vec![
        Route::page(Method::GET, "/", |api, call| Box::pin(list(api, call)))
            .needs(Scope::Read)
            .takes_query(FILTERS),
    ]
}

/// What the form of the page asks for.
#[derive(Clone, Serialize)]
struct Filters {
    q: String,
    status: String,
    agent: String,
    trigger: String,
    before: String,
}

impl Filters {
    fn of(call: &Call) -> Self {
        let text = |name| call.text(name).unwrap_or_default().trim().to_owned();
        Self {
            q: text("q"),
            status: text("status"),
            agent: text("agent"),
            trigger: text("trigger"),
            before: text("before"),
        }
    }

    fn wanted(&self) -> Result<Wanted, Problem> {
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        let word = |name: &str, text: &str| {
            Problem::unfit(format!("{name}: there is no '{}'", first_line(text)))
        };
        Ok(Wanted {
            text: given(&self.q),
            status: given(&self.status)
                .map(|text| text.parse().map_err(|_| word("status", &text)))
                .transpose()?,
            trigger: given(&self.trigger)
                .map(|text| text.parse().map_err(|_| word("trigger", &text)))
                .transpose()?,
            agent: given(&self.agent),
            before: given(&self.before),
            ..Wanted::default()
        })
    }

    /// The address of the page with these filters, older than a session.
    fn older_than(&self, id: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let all = [
            ("q", &self.q),
            ("status", &self.status),
            ("agent", &self.agent),
            ("trigger", &self.trigger),
        ];
        for (name, value) in all.into_iter().filter(|(_, value)| !value.is_empty()) {
            query.append_pair(name, value);
        }
        query.append_pair("before", id);
        format!("/?{}", query.finish())
    }

    fn is_any(&self) -> bool {
        [&self.q, &self.status, &self.agent, &self.trigger]
            .iter()
            .any(|text| !text.is_empty())
    }
}

#[derive(Serialize)]
struct ListView {
    filters: Filters,
    filtered: bool,
    statuses: Vec<&'static str>,
    triggers: Vec<&'static str>,
    agents: Vec<String>,
    counts: Vec<Count>,
    spent_today: String,
    waiting: Vec<Waiting>,
    rows: Vec<Row>,
    older: Option<String>,
}

/// How many are open in a state.
#[derive(Serialize)]
struct Count {
    status: &'static str,
    words: String,
}

/// A question to a person.
#[derive(Serialize)]
struct Waiting {
    id: String,
    objective: String,
    question_id: String,
    question: String,
    is_gate: bool,
    options: Vec<String>,
    left: String,
}

/// One session of the table.
#[derive(Serialize)]
pub struct Row {
    pub id: String,
    pub short: String,
    pub objective: String,
    pub status: String,
    pub style: &'static str,
    pub agent: String,
    pub iterations: i64,
    pub max_iterations: i64,
    pub cost: Option<String>,
    pub took: Option<String>,
    pub ago: String,
    pub created: String,
    pub created_iso: String,
}

impl Row {
    pub fn of(standing: &Standing, now_ms: i64) -> Self {
        let session = &standing.session;
        let (status, style) = standing.in_words(now_ms);
        let took = session.started_at_ms.map(|began| {
            let until = session.ended_at_ms.unwrap_or(now_ms);
            duration(until - began)
        });
        Self {
            id: session.id.clone(),
            short: short(&session.id).to_owned(),
            objective: cut(&first_line(&session.objective), MAX_OBJECTIVE_CHARS),
            status,
            style: style.as_str(),
            agent: harmless_lines(&standing.worker()),
            iterations: session.iteration_count,
            max_iterations: session.max_iterations,
            cost: (session.cost_usd > 0.0).then(|| money(session.cost_usd)),
            took,
            ago: age(now_ms - session.created_at_ms),
            created: local_time(session.created_at_ms),
            created_iso: iso(session.created_at_ms),
        }
    }
}

async fn list(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let filters = Filters::of(&call);
    let wanted = filters.wanted()?;
    let agents = api.house.roster.names();
    let store = api.house.store.clone();
    let look = async || -> Result<ListView, Problem> {
        let read = store.read(move |sql| view(sql, &wanted, &filters, &agents));
        Ok(read.await?)
    };
    if is_live(&call) {
        let of = format!("list {:?}", call.query);
        return api.live(&call, &of, "list.html", look).await;
    }
    let page = Page {
        template: "list.html",
        title: "Sessions",
        menu: "sessions",
        view: look().await?,
    };
    api.page(&call, StatusCode::OK, &page)
}

fn view(
    sql: &mut dyn Sql,
    wanted: &Wanted,
    filters: &Filters,
    agents: &[String],
) -> anyhow::Result<ListView> {
    let now_ms = now_ms();
    let mut found = sessions::list(sql, wanted, PAGE + 1)?;
    let more = found.len() > PAGE as usize;
    found.truncate(PAGE as usize);
    let last = found.last().filter(|_| more);
    let older = last.map(|last| filters.older_than(&last.id));
    let rows = found.into_iter().map(|session| {
        let standing = Standing::of(sql, session)?;
        Ok(Row::of(&standing, now_ms))
    });
    let rows = rows.collect::<anyhow::Result<_>>()?;
    let (day_ms, _) = starts_of_day_and_month(now_ms, &TimeZone::system());
    let asked = review::asked(sql, MAX_WAITING)?;
    Ok(ListView {
        filters: filters.clone(),
        filtered: filters.is_any(),
        statuses: SessionState::ALL
            .iter()
            .map(|state| state.as_str())
            .collect(),
        triggers: Trigger::ALL
            .iter()
            .map(|trigger| trigger.as_str())
            .collect(),
        agents: agents.to_vec(),
        counts: counts(sql)?,
        spent_today: money(ledger::spent_since(sql, day_ms)?),
        waiting: asked.iter().map(|asked| waiting(asked, now_ms)).collect(),
        rows,
        older,
    })
}

/// How many are open in each state, as far as they are counted.
fn counts(sql: &mut dyn Sql) -> anyhow::Result<Vec<Count>> {
    let counted = census::newest_open(sql, MAX_COUNTED)?;
    let all: i64 = counted.iter().map(|(_, count)| count).sum();
    let or_more = if all < i64::from(MAX_COUNTED) {
        ""
    } else {
        " or more"
    };
    let counts = counted.into_iter().map(|(status, count)| Count {
        status: status.as_str(),
        words: format!("{count}{or_more} {}", status.as_str().replace('_', " ")),
    });
    Ok(counts.collect())
}

fn waiting(asked: &Asked, now_ms: i64) -> Waiting {
    Waiting {
        id: asked.session_id.clone(),
        objective: cut(&first_line(&asked.objective), MAX_OBJECTIVE_CHARS),
        question_id: asked.question_id.clone(),
        question: cut(&harmless_lines(asked.question.trim()), MAX_QUESTION_CHARS),
        is_gate: asked.kind == HumanKind::Gate,
        options: asked
            .options
            .iter()
            .map(|option| harmless_lines(option))
            .collect(),
        left: duration(asked.expires_at_ms - now_ms),
    }
}
