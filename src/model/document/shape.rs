//! What a document may hold, taken from the JSON Schema of the struct it becomes: the struct is the only
//! list of keys. It understands what schemars writes for plain structs, maps, lists, enums and numbers.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value as Json;

/// The wanted form of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    pub kind: Kind,
    /// Whether an empty value counts as not given.
    pub nullable: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Text(TextShape),
    Integer(Range),
    Number(Range),
    Boolean,
    List(ListShape),
    Table(TableShape),
    /// A schema that says nothing checkable.
    Anything,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextShape {
    /// A name known to [`super::format`].
    pub format: Option<String>,
    /// The only words allowed, when there are any.
    pub choices: Vec<String>,
    pub longest_characters: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Range {
    pub least: Option<serde_json::Number>,
    pub more_than: Option<serde_json::Number>,
    pub most: Option<serde_json::Number>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ListShape {
    pub item: Box<Shape>,
    /// Whether one item may stand for a list of it.
    pub or_one: bool,
    pub fewest: u64,
    pub most: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TableShape {
    pub fields: Vec<(String, Shape)>,
    pub required: Vec<String>,
    /// The form of entries with free names, and the format of those names.
    pub rest: Option<Box<Shape>>,
    pub name_format: Option<String>,
    pub most: Option<u64>,
    /// The text that may stand for the table, as the path of a file that holds it.
    pub or_text: Option<TextShape>,
}

impl Shape {
    /// The shape of a struct, from its JSON Schema.
    pub fn of<T: JsonSchema>() -> Shape {
        let schema = SchemaGenerator::default().into_root_schema_for::<T>();
        Shape::from_schema(schema.as_value())
    }

    pub fn from_schema(root: &Json) -> Shape {
        shape(root, root)
    }

    /// The shape of the entry `name` of a table.
    pub fn entry(&self, name: &str) -> Option<&Shape> {
        let Kind::Table(table) = &self.kind else {
            return None;
        };
        table.field(name).or(table.rest.as_deref())
    }
}

impl TableShape {
    pub fn field(&self, name: &str) -> Option<&Shape> {
        let found = self.fields.iter().find(|(field, _)| field == name)?;
        Some(&found.1)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| name.as_str())
    }
}

fn shape(schema: &Json, root: &Json) -> Shape {
    if let Some(target) = referenced(schema, root) {
        return shape(target, root);
    }
    if let Some(options) = schema.get("anyOf").and_then(Json::as_array) {
        return optional(options, root);
    }
    let types = type_names(schema);
    let kind = match types.iter().find(|name| **name != "null") {
        Some(&"string") => Kind::Text(text(schema)),
        Some(&"integer") => Kind::Integer(range(schema)),
        Some(&"number") => Kind::Number(range(schema)),
        Some(&"boolean") => Kind::Boolean,
        Some(&"array") => Kind::List(list(schema, root)),
        Some(&"object") => Kind::Table(table(schema, root)),
        _ if schema.get("oneOf").is_some() => Kind::Text(text(schema)),
        _ => Kind::Anything,
    };
    Shape {
        kind,
        nullable: types.contains(&"null"),
    }
}

fn referenced<'s>(schema: &'s Json, root: &'s Json) -> Option<&'s Json> {
    let reference = schema.get("$ref")?.as_str()?;
    root.pointer(reference.strip_prefix('#')?)
}

/// What schemars writes for an `Option` of a named type; or a list, for which one of its items may stand; or a table, for which a text may.
fn optional(options: &[Json], root: &Json) -> Shape {
    let is_null = |option: &Json| type_names(option) == ["null"];
    if let [list, one] = options
        && list.get("items") == Some(one)
    {
        let mut whole = shape(list, root);
        if let Kind::List(list) = &mut whole.kind {
            list.or_one = true;
        }
        return whole;
    }
    match options.iter().find(|option| !is_null(option)) {
        Some(option) => {
            let mut whole = shape(option, root);
            whole.nullable = options.iter().any(is_null);
            let is_text = |option: &&Json| type_names(option) == ["string"];
            if let Kind::Table(table) = &mut whole.kind {
                table.or_text = options.iter().find(is_text).map(text);
            }
            whole
        }
        None => Shape {
            kind: Kind::Anything,
            nullable: true,
        },
    }
}

fn type_names(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(name)) => vec![name],
        Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

fn text(schema: &Json) -> TextShape {
    let one_of = schema.get("oneOf").and_then(Json::as_array);
    let words = schema.get("enum").and_then(Json::as_array);
    let constants = one_of
        .into_iter()
        .flatten()
        .filter_map(|one| one.get("const"));
    let choices = constants.chain(words.into_iter().flatten());
    TextShape {
        format: schema
            .get("format")
            .and_then(Json::as_str)
            .map(str::to_owned),
        choices: choices
            .filter_map(Json::as_str)
            .map(str::to_owned)
            .collect(),
        longest_characters: schema.get("maxLength").and_then(Json::as_u64),
    }
}

fn range(schema: &Json) -> Range {
    let number = |key: &str| schema.get(key).and_then(Json::as_number).cloned();
    Range {
        least: number("minimum"),
        more_than: number("exclusiveMinimum"),
        most: number("maximum"),
    }
}

fn list(schema: &Json, root: &Json) -> ListShape {
    ListShape {
        item: Box::new(shape(schema.get("items").unwrap_or(&Json::Null), root)),
        or_one: false,
        fewest: schema.get("minItems").and_then(Json::as_u64).unwrap_or(0),
        most: schema.get("maxItems").and_then(Json::as_u64),
    }
}

fn table(schema: &Json, root: &Json) -> TableShape {
    let properties = schema.get("properties").and_then(Json::as_object);
    let fields = properties.into_iter().flatten();
    let required = schema.get("required").and_then(Json::as_array);
    let rest = schema
        .get("additionalProperties")
        .filter(|rest| rest.is_object());
    let name_format = schema
        .pointer("/propertyNames/format")
        .and_then(Json::as_str);
    TableShape {
        fields: fields
            .map(|(name, field)| (name.clone(), shape(field, root)))
            .collect(),
        required: required
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
        rest: rest.map(|rest| Box::new(shape(rest, root))),
        name_format: name_format.map(str::to_owned),
        most: schema.get("maxProperties").and_then(Json::as_u64),
        or_text: None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::document::format;

    /// Formats of plain numbers, which schemars adds by itself and their ranges check.
    const NUMBER_FORMATS: [&str; 6] = ["uint8", "uint32", "uint64", "int32", "int64", "double"];

    /// Asserts that every value of a schema is one the checker checks, so that no key slips through.
    pub(crate) fn assert_checkable(schema: &Json) {
        assert_kinds("", &Shape::from_schema(schema));
        assert_formats(schema);
    }

    fn assert_kinds(path: &str, shape: &Shape) {
        match &shape.kind {
            Kind::Anything => panic!("{path}: its schema says nothing checkable"),
            Kind::Integer(range) => assert!(range.most.is_some(), "{path}: has no maximum"),
            Kind::List(list) => assert_kinds(path, &list.item),
            Kind::Table(table) => {
                for (name, field) in &table.fields {
                    assert_kinds(&format!("{path}.{name}"), field);
                }
                if let Some(rest) = &table.rest {
                    assert_kinds(path, rest);
                }
            }
            Kind::Text(_) | Kind::Number(_) | Kind::Boolean => {}
        }
    }

    fn assert_formats(schema: &Json) {
        match schema {
            Json::Object(fields) => {
                if let Some(Json::String(name)) = fields.get("format") {
                    let known = format::is_known(name) || NUMBER_FORMATS.contains(&name.as_str());
                    assert!(known, "unknown format {name}");
                }
                fields.values().for_each(assert_formats);
            }
            Json::Array(items) => items.iter().for_each(assert_formats),
            _ => {}
        }
    }
}
