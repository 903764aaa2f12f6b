//! Loads the configuration: file, then environment, then all checks at once.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::paths::Bases;
use super::{Config, ConfigError, ConfigProblem, Environment, file, rules};
use crate::model::document::{Finding, Node, Place, Shape, check, toml};

static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<Config>);

/// A configuration that may be started with.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    pub config: Config,
    /// The file it came from, if there was one.
    pub file: Option<PathBuf>,
}

impl Config {
    /// Loads the configuration, `flag` being the value of `--config`.
    pub fn load(flag: Option<&Path>, environment: &Environment) -> Result<Loaded, ConfigError> {
        let candidates = file::candidates(flag, environment);
        let found = file::read(&candidates).map_err(|(path, message)| ConfigError {
            problems: vec![ConfigProblem {
                origin: Some(path.display().to_string()),
                key: None,
                message,
            }],
        })?;
        let (file, text) = match found {
            Some((file, text)) => (Some(file), text),
            None => (None, String::new()),
        };
        let config = Config::from_text(&text, file.as_deref(), environment)?;
        Ok(Loaded { config, file })
    }

    /// The configuration of a TOML text under an environment; `file` gives relative paths and messages their
    /// origin.
    pub fn from_text(
        text: &str,
        file: Option<&Path>,
        environment: &Environment,
    ) -> Result<Config, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut tree = toml::parse(text).map_err(|errors| syntax(&errors, file))?;
        let mut findings = environment.lay_over(&mut tree, &SHAPE);
        let bases = Bases {
            file: file.and_then(Path::parent).map(Path::to_owned),
            home: environment.absolute_path("HOME"),
        };
        findings.extend(bases.resolve(&mut tree, &SHAPE, ""));
        let config = checked(&tree, &mut findings);
        findings.sort();
        match config {
            Some(config) if findings.is_empty() => Ok(config),
            _ => Err(ConfigError {
                problems: findings
                    .into_iter()
                    .map(|finding| ConfigProblem::new(finding, file))
                    .collect(),
            }),
        }
    }
}

/// The configuration of the right parts of the tree, so that the rules between keys can be checked even where
/// other keys are wrong.
fn checked(tree: &Node, findings: &mut Vec<Finding>) -> Option<Config> {
    let (json, wrong) = check(tree, &SHAPE);
    findings.extend(wrong);
    match serde_json::from_value::<Config>(json?) {
        Ok(config) => {
            findings.extend(rules::broken(&config, tree));
            Some(config)
        }
        Err(error) => {
            findings.push(Finding {
                place: Place::Unknown,
                key: String::new(),
                message: error.to_string(),
            });
            None
        }
    }
}

fn syntax(errors: &[toml::SyntaxError], file: Option<&Path>) -> ConfigError {
    let file = file.map_or_else(
        || "configuration".to_owned(),
        |file| file.display().to_string(),
    );
    let problem = |error: &toml::SyntaxError| ConfigProblem {
        origin: Some(format!("{file}:{}:{}", error.line, error.column)),
        key: None,
        message: format!("not valid TOML: {}", error.message),
    };
    ConfigError {
        problems: errors.iter().map(problem).collect(),
    }
}
