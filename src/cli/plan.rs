//! `ralphd plan`: how a request would be worked through. A workflow is filled in; else the planner is really asked, on a state of its own
//! that is thrown away. It must not leave a session behind, nor let any task of the plan run.

use super::arguments::Preview;
use super::desk::{self, Desk};
use super::exit::{Exit, Failure};
use super::nearby::seen_from;
use super::output::{self, Look, Style, harmless, harmless_lines};
use super::run::Progress;
use super::scratch::Scratch;
use super::submit::read_request;
use super::table::{Cell, Table};
use crate::clock::now_ms;
use crate::config::Config;
use crate::engine::House;
use crate::engine::mission::{AUTO, PLAIN};
use crate::model::event::EventType;
use crate::model::plan::{Plan, PlanTask, draw};
use crate::model::request::Request;
use crate::model::session::{SessionState, Trigger};
use crate::model::task::TaskKind;
use crate::queue::{Scheduler, identity};
use crate::store::sessions::{self, NewSession, Session};
use crate::store::tasks::{self, Birthright, Claim};
use crate::store::workers::{self, Role};
use crate::trigger::intake::{Origin, Reception};
use crate::workspace;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

const TITLES: &[&str] = &[
    "TASK",
    "TYPE",
    "AGENT",
    "AFTER",
    "CRITICAL",
    "ON FAILURE",
    "DESCRIPTION",
];
/// How wide the picture is where nothing says how much room there is.
const USUAL_WIDTH: usize = 120;
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// A planner that cannot be asked for longer than this is not waited for.
const LONGEST_PARKING: Duration = Duration::from_secs(60);
/// Every task waits for a person: whatever is claimed before the work is called off does not run.
const NOTHING_RUNS: u8 = 1;

/// A plan, and whose tasks are done that name no agent.
struct Planned {
    plan: Plan,
    own_agent: String,
}

pub fn plan(desk: Desk, wanted: Preview) -> Result<Exit> {
    let (request, _) = read_request(&desk, wanted.file.as_deref(), wanted.objective)?;
    let request = wanted.options.over(&request);
    let named = request.plan.clone().filter(|name| name != PLAIN);
    let request = Request {
        plan: Some(named.unwrap_or_else(|| AUTO.to_owned())),
        datasets: datasets_of_workspace(&desk, &request),
        // It is planned now, and nothing of it is remembered.
        not_before: None,
        idempotency_key: None,
        autonomy: Some(NOTHING_RUNS),
        ..request
    };
    let scratch = Scratch::make("plan")?;
    let outcome = desk.block_on(preview(&desk, request, scratch.path()))?;
    match outcome {
        Ok(planned) => {
            show(&desk, &planned)?;
            Ok(Exit::Done)
        }
        Err(exit) => Ok(exit),
    }
}

/// A named workspace may hold datasets already; the one that is planned in is empty.
fn datasets_of_workspace(desk: &Desk, request: &Request) -> Vec<String> {
    let named = request.workspace.as_ref();
    let Some(name) = named.and_then(|workspace| workspace.session.as_deref()) else {
        return request.datasets.clone();
    };
    let path = workspace::resolve(&desk.state, Some(name), workspace::Kind::Workflow, "");
    if path.exists() && !desk.global.quiet {
        output::remark(&format!(
            "ralphd: the planner of a preview does not see what is in the workspace '{name}'"
        ));
    }
    seen_from(&path, request.datasets.clone())
}

async fn preview(desk: &Desk, request: Request, state: &Path) -> Result<Result<Planned, Exit>> {
    let mut config = Config::clone(&desk.config);
    config.workflows.dir = Some(desk.workflows().directory);
    let house = desk::house(Arc::new(config), state, desk.secrets.clone())?;
    let worker = identity::of_this_process(Role::Run);
    let origin = Origin {
        claimed_by: Some(Birthright {
            worker_id: worker.id.clone(),
            lease_until_ms: house.lease_until_ms(),
        }),
        ..Origin::new(Trigger::Cli)
    };
    let (name, inputs) = (
        request.plan.clone().unwrap_or_default(),
        request.inputs.clone(),
    );
    let new = Reception::from(&*house).prepare(request, origin)?;
    if name != AUTO {
        let filled = house
            .workflows
            .fill(&name, &inputs, &house.roster.names())?;
        return Ok(Ok(Planned {
            plan: filled.plan,
            own_agent: new.agent,
        }));
    }
    let (id, claim) = (new.id.clone(), claim_of(&new, &worker.id));
    house
        .store
        .write(move |sql| {
            workers::register(sql, &worker)?;
            sessions::create(sql, &new)
        })
        .await?;
    let Some(session) = planned(desk, &house, claim).await? else {
        return Ok(Err(Exit::Interrupted));
    };
    tell_cost(desk, &session);
    if session.status.is_terminal() {
        let why = session
            .end_detail
            .as_deref()
            .unwrap_or("no reason was given");
        output::remark(&format!("ralphd: there is no plan: {why}"));
        return Ok(Err(Exit::of_session(&session)));
    }
    let tasks = house
        .store
        .read(move |sql| tasks::planned(sql, &id))
        .await?;
    Ok(Ok(Planned {
        plan: plan_of(
            &session,
            tasks.into_iter().filter_map(|task| task.step).collect(),
        )?,
        own_agent: session.agent,
    }))
}

fn claim_of(new: &NewSession, worker_id: &str) -> Claim {
    Claim {
        task_id: new.task_id.clone(),
        session_id: new.id.clone(),
        worker_id: worker_id.to_owned(),
        number: 1,
    }
}

/// Lets the session be planned; nothing when a person interrupts that. Whatever was started is ended when this returns.
async fn planned(desk: &Desk, house: &Arc<House>, claim: Claim) -> Result<Option<Session>> {
    let (down, shutdown) = watch::channel(false);
    let id = claim.session_id.clone();
    let scheduler = tokio::spawn(Scheduler::for_claim(house.clone(), claim, shutdown).run());
    let session = settled(desk, house, &id).await;
    down.send_replace(true);
    scheduler.await?;
    session
}

/// The session once it is planned or cannot be.
async fn settled(desk: &Desk, house: &House, id: &str) -> Result<Option<Session>> {
    use SessionState::{Created, Discovering, Planning};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut progress = Progress::new(desk, Some(EventType::PlanSaved));
    let mut news = house.store.news();
    loop {
        news.borrow_and_update();
        let session = progress.look(house, id).await?;
        if !matches!(session.status, Created | Discovering | Planning) {
            return Ok(Some(session));
        }
        if let Some(why) = parked(house, id).await? {
            bail!("the planner cannot be asked now: {why}");
        }
        tokio::select! {
            _ = news.changed() => {}
            _ = tokio::time::sleep(LOOK_EVERY) => {}
            _ = interrupt.recv() => return Ok(None),
            _ = terminate.recv() => return Ok(None),
        }
    }
}

/// Why the planner will not be asked for a good while.
async fn parked(house: &House, id: &str) -> Result<Option<String>> {
    let id = id.to_owned();
    let task = house
        .store
        .read(move |sql| tasks::first(sql, &id))
        .await?
        .context("the session has no task")?;
    let longest = now_ms() + LONGEST_PARKING.as_millis() as i64;
    let until = task.parked_until_ms.filter(|until| *until > longest);
    Ok(until.map(|until| {
        let reason = task.parked_reason.unwrap_or_default();
        format!("{reason}, until {}", output::clock_time(until, now_ms()))
    }))
}

fn tell_cost(desk: &Desk, session: &Session) {
    let tokens = session.input_tokens + session.output_tokens;
    if desk.global.quiet || (tokens == 0 && session.cost_usd == 0.0) {
        return;
    }
    let cost = match session.cost_usd > 0.0 {
        true => output::money(session.cost_usd),
        false => "an unknown sum".to_owned(),
    };
    output::remark(&format!(
        "ralphd: planning cost {cost} ({tokens} tokens); no budget was charged with it"
    ));
}

fn plan_of(session: &Session, tasks: Vec<PlanTask>) -> Result<Plan> {
    let heading = session
        .plan
        .as_ref()
        .context("a planned session has a plan")?;
    Ok(Plan {
        plan_summary: heading["plan_summary"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        complexity: heading["complexity"]
            .as_str()
            .and_then(|word| word.parse().ok()),
        tasks,
    })
}

fn show(desk: &Desk, planned: &Planned) -> Result<()> {
    let Planned { plan, own_agent } = planned;
    if plan.tasks.is_empty() {
        bail!(Failure("the plan holds no task".to_owned()));
    }
    if desk.global.json {
        return output::print_json(plan);
    }
    let look = Look::of_stdout();
    let mut lines = Vec::new();
    if !plan.plan_summary.is_empty() {
        lines.push(look.paint(Style::Bold, &harmless(&plan.plan_summary)));
    }
    if let Some(complexity) = plan.complexity {
        lines.push(look.paint(Style::Dim, &format!("complexity: {complexity}")));
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.extend(table(&plan.tasks, own_agent).lines(&look));
    lines.push(String::new());
    let picture = draw(&plan.tasks, look.width.unwrap_or(USUAL_WIDTH));
    lines.extend(harmless_lines(&picture).lines().map(str::to_owned));
    output::print_lines(&lines)
}

fn table(tasks: &[PlanTask], own_agent: &str) -> Table {
    let mut table = Table::new(TITLES, TITLES.len() - 1);
    for task in tasks {
        table.row(row(task, own_agent));
    }
    table
}

fn row(task: &PlanTask, own_agent: &str) -> Vec<Cell> {
    let after: Vec<String> = task.depends_on.iter().map(u32::to_string).collect();
    let agent: Cell = match (&task.agent, task.kind) {
        (Some(agent), _) => agent.as_str().into(),
        (None, TaskKind::Agent) => (own_agent.to_owned(), Style::Dim).into(),
        (None, _) => "".into(),
    };
    let critical: Cell = match task.critical {
        true => ("yes".to_owned(), Style::Notice).into(),
        false => "".into(),
    };
    vec![
        task.order.to_string().into(),
        task.kind.as_str().into(),
        agent,
        after.join(", ").into(),
        critical,
        task.on_failure.map_or("", |policy| policy.as_str()).into(),
        output::first_line(&task.description).into(),
    ]
}
