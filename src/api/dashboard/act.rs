//! What can be done to a session from its page. Each form calls the same verb as the API and the command line, then shows the session.

use super::form::Form;
use super::page::see_other;
use crate::api::Api;
use crate::api::act::{again, some_words};
use crate::api::call::Call;
use crate::api::problem::Problem;
use crate::api::reply::Reply;
use crate::api::route::Route;
use crate::api::sessions::admit;
use crate::clock::now_ms;
use crate::model::request::Request;
use crate::model::session::Trigger;
use crate::model::token::Scope;
use crate::store::driver::Sql;
use crate::store::{guidance, humans, restore_points, sessions};
use crate::trigger::{answer, fork};
use futures_util::future::BoxFuture;
use hyper::Method;
use std::sync::Arc;

pub fn routes() -> Vec<Route> {
    let act = |path, action| Route::page(Method::POST, path, action).needs(Scope::Act);
    let submit = |path, action| Route::page(Method::POST, path, action).needs(Scope::Submit);
    vec![
        act("/sessions/{id}/answer", |api, call| {
            Box::pin(answered(api, call))
        }),
        act("/sessions/{id}/approve", |api, call| {
            change(
                api,
                call,
                |form| Ok(form.text("question")),
                |sql, id, question| {
                    humans::expect_asked(sql, id, question.as_deref())?;
                    humans::approve(sql, id, now_ms())
                },
            )
        }),
        act("/sessions/{id}/reject", |api, call| {
            let words = |form: &Form| {
                let reason = form.text("reason").map(|text| some_words("reason", text));
                Ok((reason.transpose()?, form.text("question")))
            };
            change(api, call, words, |sql, id, (reason, question)| {
                humans::expect_asked(sql, id, question.as_deref())?;
                humans::reject(sql, id, reason.as_deref(), now_ms())
            })
        }),
        act("/sessions/{id}/tell", |api, call| {
            let text = |form: &Form| some_words("text", form.text("text").unwrap_or_default());
            change(api, call, text, |sql, id, text| {
                guidance::tell(sql, id, text, now_ms())
            })
        }),
        act("/sessions/{id}/pause", |api, call| {
            change(
                api,
                call,
                |_| Ok(()),
                |sql, id, ()| sessions::pause(sql, id, false, now_ms()).map(drop),
            )
        }),
        act("/sessions/{id}/resume", |api, call| {
            change(
                api,
                call,
                |_| Ok(()),
                |sql, id, ()| sessions::resume(sql, id, now_ms()).map(drop),
            )
        }),
        act("/sessions/{id}/cancel", |api, call| {
            change(
                api,
                call,
                |_| Ok(()),
                |sql, id, ()| sessions::cancel(sql, id, now_ms()).map(drop),
            )
        }),
        submit("/sessions/{id}/retry", |api, call| {
            begin_again(api, call, false)
        }),
        submit("/sessions/{id}/continue", |api, call| {
            begin_again(api, call, true)
        }),
        submit("/sessions/{id}/fork", |api, call| {
            Box::pin(forked(api, call))
        }),
    ]
}

fn page_of(id: &str) -> Reply {
    see_other(&format!("/sessions/{id}"))
}

async fn answered(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let form = Form::of(&call)?;
    let given = answer::Answer {
        session: call.part().to_owned(),
        answer: some_words("answer", form.text("answer").unwrap_or_default())?,
        question: form.text("question"),
    };
    Ok(page_of(&answer::give(&api.house.store, given).await?))
}

/// Does something to a session with what its form says.
fn change<W: Send + 'static>(
    api: Arc<Api>,
    call: Call,
    words: fn(&Form) -> Result<W, Problem>,
    change: fn(&mut dyn Sql, &str, &W) -> anyhow::Result<()>,
) -> BoxFuture<'static, Result<Reply, Problem>> {
    Box::pin(async move {
        let said = words(&Form::of(&call)?)?;
        let given = call.part().to_owned();
        let changed = api.house.store.write(move |sql| {
            let id = sessions::resolve(sql, &given)?;
            change(sql, &id, &said)?;
            Ok(id)
        });
        Ok(page_of(&changed.await?))
    })
}

fn begin_again(
    api: Arc<Api>,
    call: Call,
    same_workspace: bool,
) -> BoxFuture<'static, Result<Reply, Problem>> {
    Box::pin(async move {
        Form::of(&call)?;
        let created = again(&api, call.part(), Request::default(), same_workspace);
        Ok(page_of(created.await?.id()))
    })
}

async fn forked(api: Arc<Api>, call: Call) -> Result<Reply, Problem> {
    let form = Form::of(&call)?;
    let number = form.text("iteration").map(|text| {
        let number: Result<i64, _> = text.parse();
        number.map_err(|_| Problem::unfit("From iteration: must be the number of an iteration"))
    });
    let number = number.transpose()?;
    let given = call.part().to_owned();
    let read = api.house.store.read(move |sql| {
        let id = sessions::resolve(sql, &given)?;
        let point = restore_points::find(sql, &id, number)?;
        Ok((sessions::expect(sql, &id)?, point))
    });
    let (session, point) = read.await?;
    let agent = Request {
        agent: form.text("agent"),
        ..Request::default()
    };
    let request = agent.overlay(&fork::request(&session)?);
    let origin = fork::origin(session, &point, Trigger::Api);
    Ok(page_of(admit(&api, request, origin).await?.id()))
}
