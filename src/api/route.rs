//! The table of routes: where, by which method, for whom, what it takes and what it answers. It is matched against every call, and the
//! same table is what `/openapi.json` is made of. It must not know what the routes do.

use super::Api;
use super::call::Call;
use super::problem::Problem;
use super::reply::Reply;
use crate::model::token::Scope;
use futures_util::future::BoxFuture;
use hyper::{Method, StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value as Json;
use std::sync::Arc;

/// What a route does with a call.
pub type Action = fn(Arc<Api>, Call) -> BoxFuture<'static, Result<Reply, Problem>>;
/// How long the body of a call may be, by the parts of its path.
pub type Limit = fn(&Api, &[String]) -> Result<u64, Problem>;
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Who is let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Everybody: it tells nothing and checks for itself.
    Everybody,
    /// Whoever may do this.
    Scope(Scope),
}

/// A place of the API.
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub admission: Admission,
    pub action: Action,
    pub limit: Limit,
    /// It is for people and their browsers: a cookie may show the token, refusals are pages, and programs are not told of it.
    pub page: bool,
    pub told: Told,
}

/// What the description of the API says of a route.
pub struct Told {
    pub name: &'static str,
    pub summary: &'static str,
    pub parameters: Vec<Parameter>,
    /// By kind; text is whatever it is.
    pub bodies: Vec<(&'static str, Option<SchemaOf>)>,
    pub body_required: bool,
    pub answers: Vec<Answer>,
}

/// A parameter of the query, or a header.
pub struct Parameter {
    pub name: &'static str,
    pub place: &'static str,
    pub schema: Json,
    pub says: &'static str,
}

/// One kind of answer.
pub struct Answer {
    pub status: u16,
    pub says: &'static str,
    pub content: Option<Content>,
}

/// What an answer is made of.
#[derive(Clone, Copy)]
pub enum Content {
    Json(SchemaOf),
    /// An event stream, by what each event's `data` is.
    Events(SchemaOf),
    /// Text of this kind.
    Text(&'static str),
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

impl Route {
    /// A route under a name, with the sentence that describes it.
    pub fn new(
        method: Method,
        path: &'static str,
        name: &'static str,
        summary: &'static str,
        action: Action,
    ) -> Self {
        Self {
            method,
            path,
            admission: Admission::Everybody,
            action,
            limit: |api, _| Ok(api.max_body_bytes()),
            page: false,
            told: Told {
                name,
                summary,
                parameters: Vec::new(),
                bodies: Vec::new(),
                body_required: false,
                answers: Vec::new(),
            },
        }
    }

    /// A page of the dashboard.
    pub fn page(method: Method, path: &'static str, action: Action) -> Self {
        Self {
            page: true,
            ..Self::new(method, path, "", "", action)
        }
    }

    pub fn needs(mut self, scope: Scope) -> Self {
        self.admission = Admission::Scope(scope);
        self
    }

    /// Another limit than all others have.
    pub fn limited(mut self, limit: Limit) -> Self {
        self.limit = limit;
        self
    }

    pub fn query(mut self, name: &'static str, schema: Json, says: &'static str) -> Self {
        self.told.parameters.push(Parameter {
            name,
            place: "query",
            schema,
            says,
        });
        self
    }

    /// Names of the query that a page knows.
    pub fn takes_query(self, names: &[&'static str]) -> Self {
        let text = |route: Self, name: &&'static str| {
            route.query(name, serde_json::json!({ "type": "string" }), "")
        };
        names.iter().fold(self, text)
    }

    pub fn header(mut self, name: &'static str, schema: Json, says: &'static str) -> Self {
        self.told.parameters.push(Parameter {
            name,
            place: "header",
            schema,
            says,
        });
        self
    }

    /// It takes a body of JSON that it cannot do without.
    pub fn takes<T: JsonSchema>(mut self) -> Self {
        self.told.body_required = true;
        self.may_take::<T>()
    }

    /// It takes a body of JSON, where there is one.
    pub fn may_take<T: JsonSchema>(mut self) -> Self {
        self.told
            .bodies
            .push(("application/json", Some(schema_of::<T>)));
        self
    }

    /// It takes text of another kind too.
    pub fn takes_text(mut self, kind: &'static str) -> Self {
        self.told.bodies.push((kind, None));
        self
    }

    pub fn answers<T: JsonSchema>(self, status: StatusCode, says: &'static str) -> Self {
        self.answers_with(status, says, Some(Content::Json(schema_of::<T>)))
    }

    /// An event stream, each of whose events has this as its `data`.
    pub fn answers_stream<T: JsonSchema>(self, says: &'static str) -> Self {
        let content = Content::Events(schema_of::<T>);
        self.answers_with(StatusCode::OK, says, Some(content))
    }

    pub fn answers_text(self, kind: &'static str, says: &'static str) -> Self {
        self.answers_with(StatusCode::OK, says, Some(Content::Text(kind)))
    }

    pub fn answers_nothing(self, status: StatusCode, says: &'static str) -> Self {
        self.answers_with(status, says, None)
    }

    fn answers_with(
        mut self,
        status: StatusCode,
        says: &'static str,
        content: Option<Content>,
    ) -> Self {
        self.told.answers.push(Answer {
            status: status.as_u16(),
            says,
            content,
        });
        self
    }

    /// The parts of a path that fits this one.
    fn fit(&self, path: &str) -> Option<Vec<String>> {
        let (mut own, mut given) = (self.path.split('/'), path.split('/'));
        let mut parts = Vec::new();
        loop {
            match (own.next(), given.next()) {
                (None, None) => return Some(parts),
                (Some(own), Some(given)) if own.starts_with('{') && !given.is_empty() => {
                    parts.push(given.to_owned());
                }
                (Some(own), Some(given)) if own == given => {}
                _ => return None,
            }
        }
    }
}

/// Why no route was found.
#[derive(Debug, PartialEq, Eq)]
pub enum Miss {
    Nowhere,
    /// The place is there, for other methods.
    Method(Vec<Method>),
}

/// The route for a call, and the parts of its path. A look without the body is a look.
pub fn find<'a>(
    routes: &'a [Route],
    method: &Method,
    path: &str,
) -> Result<(&'a Route, Vec<String>), Miss> {
    let wanted = match *method {
        Method::HEAD => &Method::GET,
        _ => method,
    };
    let mut allowed = Vec::new();
    for route in routes {
        if let Some(parts) = route.fit(path) {
            if route.method == *wanted {
                return Ok((route, parts));
            }
            allowed.push(route.method.clone());
        }
    }
    Err(match allowed.is_empty() {
        true => Miss::Nowhere,
        false => Miss::Method(allowed),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes() -> Vec<Route> {
        let action: Action = |_, _| Box::pin(async { Ok(Reply::empty(StatusCode::OK)) });
        [
            (Method::GET, "/v1/sessions"),
            (Method::POST, "/v1/sessions"),
            (Method::GET, "/v1/sessions/{id}"),
            (Method::POST, "/v1/sessions/{id}/cancel"),
        ]
        .map(|(method, path)| Route::new(method, path, "name", "summary", action))
        .into()
    }

    #[test]
    fn calls_find_their_routes() {
        let routes = routes();
        for (method, path, expected) in [
            (Method::GET, "/v1/sessions", Ok((0, vec![]))),
            (Method::HEAD, "/v1/sessions", Ok((0, vec![]))),
            (Method::POST, "/v1/sessions", Ok((1, vec![]))),
            (Method::GET, "/v1/sessions/ab", Ok((2, vec!["ab"]))),
            (Method::POST, "/v1/sessions/ab/cancel", Ok((3, vec!["ab"]))),
            (
                Method::DELETE,
                "/v1/sessions",
                Err(Miss::Method(vec![Method::GET, Method::POST])),
            ),
            (
                Method::GET,
                "/v1/sessions/ab/cancel",
                Err(Miss::Method(vec![Method::POST])),
            ),
            (Method::GET, "/v1/sessions/", Err(Miss::Nowhere)),
            (Method::GET, "/v1/sessions/ab/else", Err(Miss::Nowhere)),
            (Method::GET, "/", Err(Miss::Nowhere)),
        ] {
            let found = find(&routes, &method, path).map(|(route, parts)| {
                let place = routes
                    .iter()
                    .position(|other| other.path == route.path && other.method == route.method);
                (place.unwrap(), parts)
            });
            let expected = expected.map(|(place, parts)| {
                (
                    place,
                    parts.into_iter().map(str::to_owned).collect::<Vec<_>>(),
                )
            });
            assert_eq!(found, expected, "{method} {path}");
        }
    }
}
