//! The description of the API (OpenAPI 3.1), made of the route table and the structs that are sent: it cannot say anything else than the code.

use super::reply::Reply;
use super::route::{Admission, Answer, Content, Route};
use super::{Api, problem};
use http_body_util::Full;
use hyper::{Method, StatusCode};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value as Json, json};

pub fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/openapi.json",
            "openapi",
            "This description.",
            |api, _| Box::pin(async move { Ok(describe(&api)) }),
        )
        .answers::<Json>(StatusCode::OK, "The description of the API."),
    ]
}

/// Made once: everybody may ask for it, as often as they like.
fn describe(api: &Api) -> Reply {
    let text = api.description.get_or_init(|| {
        let text = description(&api.routes).to_string();
        text.into()
    });
    Reply::of(StatusCode::OK, "application/json", Full::new(text.clone()))
}

/// The whole description.
pub fn description(routes: &[Route]) -> Json {
    let settings = SchemaSettings::draft2020_12()
        .with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut sent = settings.clone().for_serialize().into_generator();
    let mut taken = settings.for_deserialize().into_generator();
    let mut paths: Map<String, Json> = Map::new();
    for route in routes.iter().filter(|route| !route.page) {
        let place = paths
            .entry(route.path)
            .or_insert_with(|| json!({}))
            .as_object_mut();
        if let Some(place) = place {
            let method = route.method.as_str().to_ascii_lowercase();
            place.insert(method, operation(route, &mut sent, &mut taken));
        }
    }
    let problem = sent.subschema_for::<problem::Sent>();
    let mut schemas = sent.take_definitions(true);
    for (name, schema) in taken.take_definitions(true) {
        schemas.entry(name).or_insert(schema);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "ralphd",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Finishes agent work too long for one context window: submit requests, follow, answer, act.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "Problem": {
                    "description": "It was not done; this says why.",
                    "content": { "application/problem+json": { "schema": problem } },
                },
            },
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "Made by `ralphd token new NAME`." },
            },
        },
    })
}

fn operation(route: &Route, sent: &mut SchemaGenerator, taken: &mut SchemaGenerator) -> Json {
    let told = &route.told;
    let mut operation = json!({
        "operationId": told.name,
        "summary": told.summary,
        "parameters": parameters(route),
        "responses": answers(route, sent),
    });
    if !told.bodies.is_empty() {
        let content: Map<String, Json> = told
            .bodies
            .iter()
            .map(|(kind, schema)| {
                let told = schema.map_or_else(|| json!({}), |of| json!({ "schema": of(taken) }));
                ((*kind).to_owned(), told)
            })
            .collect();
        operation["requestBody"] = json!({ "required": told.body_required, "content": content });
    }
    if let Admission::Scope(scope) = route.admission {
        // On a loopback address nobody needs a token as long as there is none.
        operation["security"] = json!([{ "token": [] }, {}]);
        operation["description"] = format!("Scope: {scope}.").into();
    }
    operation
}

fn parameters(route: &Route) -> Vec<Json> {
    let in_path = route.path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?;
        let says = match name {
            "id" => "The id of the session, or any unique beginning of it.",
            _ => "A name from the configuration.",
        };
        Some(json!({
            "name": name, "in": "path", "required": true, "description": says,
            "schema": { "type": "string", "minLength": 1 },
        }))
    });
    let others = route.told.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name, "in": parameter.place, "description": parameter.says,
            "schema": parameter.schema,
        })
    });
    in_path.chain(others).collect()
}

fn answers(route: &Route, sent: &mut SchemaGenerator) -> Json {
    let mut answers: Map<String, Json> = Map::new();
    for Answer {
        status,
        says,
        content,
    } in &route.told.answers
    {
        let mut answer = json!({ "description": says });
        match content {
            None => {}
            Some(Content::Json(schema)) => {
                answer["content"] = json!({ "application/json": { "schema": schema(sent) } });
            }
            // This version of OpenAPI has no word for what comes bit by bit.
            Some(Content::Events(schema)) => {
                let told = json!({ "x-event-data": schema(sent) });
                answer["content"] = json!({ "text/event-stream": told });
            }
            Some(Content::Text(kind)) => answer["content"] = json!({ (*kind): {} }),
        }
        answers.insert(status.to_string(), answer);
    }
    answers.insert(
        "default".to_owned(),
        json!({ "$ref": "#/components/responses/Problem" }),
    );
    answers.into()
}
