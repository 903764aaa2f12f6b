//! The templates of a hook: whether a delivery is meant, by what it is known, and the request it becomes. Only a few keys of a request
//! may be templates; all that gives power over the session is as the configuration has it.

use super::fence::{Parts, Promise, shown_on_one_line};
use super::{Headers, Refusal, context};
use crate::model::request::Request;
use minijinja::value::ValueKind;
use minijinja::{
    AutoEscape, Environment, Error, ErrorKind, Output, State, UndefinedBehavior, Value,
};
use serde_json::Value as Json;

const FILTER: &str = "filter";
const DEDUPE: &str = "dedupe";
const OBJECTIVE: &str = "objective";
const IDEMPOTENCY_KEY: &str = "idempotency_key";
const LABELS: &str = "labels";
const SESSION: [&str; 2] = ["workspace", "session"];
/// As a label may be in a request.
const MAX_LABEL_CHARS: usize = 256;

/// Something wrong with a template, and the key that holds it: a path below the hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub key: Vec<String>,
    pub message: String,
}

/// The compiled templates of one hook.
pub struct Templates {
    /// For what decides: there, a value that is missing is simply not there.
    deciding: Environment<'static>,
    filter: Option<String>,
    plain: Environment<'static>,
    /// For the objective: whatever a template puts out there is fenced.
    fencing: Environment<'static>,
    request: Request,
}

/// Whether a key of a request, by its path, may be a template.
pub fn may_be_template(path: &[&str]) -> bool {
    path == [OBJECTIVE]
        || path == [IDEMPOTENCY_KEY]
        || path == SESSION
        || path.first() == Some(&LABELS)
}

impl Templates {
    /// Compiles all of them; else every mistake there is.
    pub fn compile(
        filter: Option<&str>,
        dedupe: Option<&str>,
        request: &Request,
    ) -> Result<Templates, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let mut templates = Templates {
            deciding: environment(UndefinedBehavior::Chainable),
            filter: filter.map(str::to_owned),
            plain: environment(UndefinedBehavior::Strict),
            fencing: environment(UndefinedBehavior::Strict),
            request: request.clone(),
        };
        templates.fencing.set_formatter(fence);
        mistakes.extend(templates.wrong_filter());
        let (fencing, plain) = (&mut templates.fencing, &mut templates.plain);
        mistakes.extend(add(fencing, OBJECTIVE, &request.objective));
        mistakes.extend(dedupe.and_then(|text| add(plain, DEDUPE, text)));
        for (key, text) in plain_keys(request) {
            mistakes.extend(add(plain, &key, &text));
        }
        match mistakes.is_empty() {
            true => Ok(templates),
            false => Err(mistakes),
        }
    }

    fn wrong_filter(&self) -> Option<Mistake> {
        let filter = self.filter.as_deref()?;
        let fault = match self.deciding.compile_expression(filter) {
            Ok(expression) => unknown(&self.deciding, expression.undeclared_variables(false))
                .or_else(|| strange(expression.eval(context::nothing()).err()?)),
            Err(error) => Some(said(&error)),
        };
        fault.map(|message| Mistake {
            key: vec![FILTER.to_owned()],
            message,
        })
    }

    /// What all the others see of a delivery.
    pub fn values(payload: &Json, headers: &Headers<'_>) -> Values {
        Values(context::of(payload, headers))
    }

    /// Whether the delivery is one that the hook is for.
    pub fn is_meant(&self, values: &Values) -> Result<bool, Refusal> {
        let Some(filter) = &self.filter else {
            return Ok(true);
        };
        let decide = || -> Result<bool, Error> {
            let expression = self.deciding.compile_expression(filter)?;
            Ok(expression.eval(values.0.clone())?.is_true())
        };
        decide().map_err(|error| Refusal::Malformed(format!("{FILTER}: {error}")))
    }

    /// The configured key by which the delivery is known, if there is one.
    pub fn dedupe(&self, values: &Values) -> Result<Option<String>, Refusal> {
        match self.plain.get_template(DEDUPE) {
            Ok(_) => self.line(DEDUPE, values).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The request that the delivery becomes.
    pub fn fill(
        &self,
        hook: &str,
        values: &Values,
        promise: Promise<'_>,
    ) -> Result<Request, Refusal> {
        let mut request = self.request.clone();
        request.objective = self.objective(hook, values, promise)?;
        for (name, label) in &mut request.labels {
            let whole = self.line(&format!("{LABELS}.{name}"), values)?;
            *label = whole.chars().take(MAX_LABEL_CHARS).collect();
        }
        if let Some(key) = &mut request.idempotency_key {
            *key = self.line(IDEMPOTENCY_KEY, values)?;
        }
        let workspace = request.workspace.as_mut();
        if let Some(session) = workspace.and_then(|workspace| workspace.session.as_mut()) {
            *session = self.line(&SESSION.join("."), values)?;
        }
        Ok(request)
    }

    /// The words of the hook, with references in place of all that came from outside, and below them what they refer to.
    fn objective(
        &self,
        hook: &str,
        values: &Values,
        promise: Promise<'_>,
    ) -> Result<String, Refusal> {
        let template = self.fencing.get_template(OBJECTIVE);
        let rendered = template.and_then(|template| template.render_captured(values.0.clone()));
        let captured =
            rendered.map_err(|error| self.refusal(&self.fencing, OBJECTIVE, &error, values))?;
        let parts = captured.state().get_extension::<Parts>();
        let blocks = parts.map(|parts| parts.fenced(hook, promise));
        let own = captured.output().trim();
        Ok(format!("{own}{}", blocks.unwrap_or_default()))
    }

    fn line(&self, key: &str, values: &Values) -> Result<String, Refusal> {
        let template = self.plain.get_template(key);
        let rendered = template.and_then(|template| template.render(values.0.clone()));
        rendered
            .map(|text| shown_on_one_line(&text))
            .map_err(|error| self.refusal(&self.plain, key, &error, values))
    }

    fn refusal(
        &self,
        environment: &Environment<'_>,
        key: &str,
        error: &Error,
        values: &Values,
    ) -> Refusal {
        let asked = environment
            .get_template(key)
            .map(|template| template.undeclared_variables(true))
            .unwrap_or_default();
        context::refusal(key, error, asked, &values.0)
    }
}

/// What templates see of one delivery.
pub struct Values(Value);

fn environment(missing: UndefinedBehavior) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(missing);
    // A label may be called `page.html`.
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment
}

/// The keys of a request that are filled as a single line, and their templates.
fn plain_keys(request: &Request) -> Vec<(String, String)> {
    let labels = request.labels.iter();
    let workspace = request.workspace.as_ref();
    let session = workspace.and_then(|workspace| workspace.session.clone());
    labels
        .map(|(name, text)| (format!("{LABELS}.{name}"), text.clone()))
        .chain(
            request
                .idempotency_key
                .clone()
                .map(|text| (IDEMPOTENCY_KEY.to_owned(), text)),
        )
        .chain(session.map(|text| (SESSION.join("."), text)))
        .collect()
}

fn add(environment: &mut Environment<'static>, key: &str, text: &str) -> Option<Mistake> {
    let fault = match environment.add_template_owned(key.to_owned(), text.to_owned()) {
        Err(error) => Some(said(&error)),
        Ok(()) => asked_in_vain(environment, key, text),
    };
    let path = match (key, key.split_once('.')) {
        (DEDUPE, _) => vec![DEDUPE.to_owned()],
        (_, Some((table, name))) => vec!["request".to_owned(), table.to_owned(), name.to_owned()],
        _ => vec!["request".to_owned(), key.to_owned()],
    };
    fault.map(|message| Mistake { key: path, message })
}

fn said(error: &Error) -> String {
    let detail = error.detail().map(str::to_owned);
    let what = detail.unwrap_or_else(|| error.kind().to_string());
    match error.line() {
        Some(line) if line > 1 => format!("its line {line} is no template: {what}"),
        _ => format!("is no template: {what}"),
    }
}

/// What a template names that there never is.
fn asked_in_vain(environment: &Environment<'_>, key: &str, text: &str) -> Option<String> {
    let template = environment.get_template(key).ok()?;
    unknown(environment, template.undeclared_variables(false)).or_else(|| {
        let lenient = self::environment(UndefinedBehavior::Chainable);
        strange(lenient.render_str(text, context::nothing()).err()?)
    })
}

/// A trial without any values finds misspelt filters; that there are no values is no mistake.
fn strange(error: Error) -> Option<String> {
    let kinds = [
        ErrorKind::UnknownFilter,
        ErrorKind::UnknownTest,
        ErrorKind::UnknownFunction,
    ];
    kinds.contains(&error.kind()).then(|| said(&error))
}

/// Names that would never have a value.
fn unknown(
    environment: &Environment<'_>,
    names: impl IntoIterator<Item = String>,
) -> Option<String> {
    let known: Vec<&str> = environment.globals().map(|(name, _)| name).collect();
    let mut strange: Vec<String> = names
        .into_iter()
        .filter(|name| !context::NAMES.contains(&name.as_str()) && !known.contains(&name.as_str()))
        .collect();
    strange.sort();
    let first = strange.first()?;
    Some(format!(
        "there is no value {first}; a template has payload and headers, as in payload.action or headers[\"x-github-event\"]"
    ))
}

/// Everything that an objective's template puts out, whatever it did with it before. Numbers and truth values are no texts.
fn fence(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    let text = match value.kind() {
        ValueKind::Undefined => return Ok(()),
        ValueKind::None => return Ok(out.write_str("(none)")?),
        ValueKind::Bool if value.is_true() => return Ok(out.write_str("true")?),
        ValueKind::Bool => return Ok(out.write_str("false")?),
        ValueKind::Number => return Ok(write!(out, "{value}")?),
        ValueKind::String => value.to_string(),
        _ => serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string()),
    };
    let parts = state.get_or_insert_extension_with(Parts::default);
    let reference = parts
        .take(&text)
        .map_err(|limit| Error::new(ErrorKind::InvalidOperation, limit))?;
    Ok(out.write_str(&reference)?)
}
