//! The OpenAPI 3.1 document, made from the endpoints and the types that they take and give.

use gbrain_core::access::Scope;
use gbrain_core::fault::FaultBody;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::endpoint::{Content, Endpoint, SchemaOf};
use super::reply::JSON;

/// An address that is answered beside the endpoints, because it is about the process or never ends
/// at once.
pub(crate) struct Aside {
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    /// None for what needs no token.
    pub(crate) scope: Option<Scope>,
    pub(crate) parameters: SchemaOf,
    pub(crate) gives: Content,
}

/// What the document says of one address and method.
struct Described<'a> {
    path: &'a str,
    id: &'a str,
    summary: &'a str,
    scope: Option<Scope>,
    parameters: SchemaOf,
    takes: Content,
    gives: Content,
    status: &'a str,
}

/// Describes endpoints and what is beside them.
pub(crate) fn document(endpoints: &[Endpoint], asides: &[Aside]) -> Value {
    let mut schemas = Schemas::new();
    let fault = schemas.of_answers.subschema_for::<FaultBody>();
    let mut paths = Map::new();
    for endpoint in endpoints {
        let described = operation(&endpoint.into(), &mut schemas, fault.as_value());
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method.as_str().to_lowercase()] = described;
    }
    for aside in asides {
        let described = operation(&aside.into(), &mut schemas, fault.as_value());
        paths.entry(aside.path).or_insert_with(|| json!({}))["get"] = described;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "gbrain",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "A memory for agents whose retrieval is proven on every change",
            "description": "Bodies are what the commands of the same name print with --json.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas.of_answers.take_definitions(true),
            "securitySchemes": {
                "token": {
                    "type": "http", "scheme": "bearer",
                    "description": "A token made by `gbrain tokens create`; not needed on loopback while no token exists.",
                },
            },
        },
    })
}

/// What is read and what is written differ: a key that may be left out of a question is always there
/// in an answer.
struct Schemas {
    of_answers: SchemaGenerator,
    /// Without references, so that the names of both do not meet.
    of_questions: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let mut answers = SchemaSettings::draft2020_12().for_serialize();
        answers.definitions_path = "/components/schemas".into();
        answers.meta_schema = None;
        let mut questions = SchemaSettings::draft2020_12().for_deserialize();
        questions.inline_subschemas = true;
        questions.meta_schema = None;
        Self { of_answers: answers.into_generator(), of_questions: questions.into_generator() }
    }
}

impl<'a> From<&'a Endpoint> for Described<'a> {
    fn from(endpoint: &'a Endpoint) -> Self {
        Self {
            path: endpoint.path,
            id: endpoint.id,
            summary: endpoint.summary,
            scope: Some(endpoint.scope),
            parameters: endpoint.parameters,
            takes: endpoint.takes,
            gives: endpoint.gives,
            status: if endpoint.is_accepted { "202" } else { "200" },
        }
    }
}

impl<'a> From<&'a Aside> for Described<'a> {
    fn from(aside: &'a Aside) -> Self {
        let Aside { path, id, summary, scope, parameters, gives } = *aside;
        let (takes, status) = (Content::None, "200");
        Self { path, id, summary, scope, parameters, takes, gives, status }
    }
}

fn operation(about: &Described<'_>, schemas: &mut Schemas, fault: &Value) -> Value {
    let mut responses = Map::new();
    let mut done = json!({ "description": "Done." });
    if let Some(content) = content(about.gives, &mut schemas.of_answers) {
        done["content"] = content;
    }
    responses.insert(about.status.to_owned(), done);
    responses.insert(
        "default".to_owned(),
        json!({
            "description": "It was not done; the kind says why.",
            "content": { JSON: { "schema": fault } },
        }),
    );
    let needs = match about.scope {
        Some(scope) => format!("Needs a token of scope {scope}."),
        None => "Needs no token.".to_owned(),
    };
    let mut described = json!({
        "operationId": about.id,
        "summary": about.summary,
        "description": needs,
        "parameters": parameters(about, &mut schemas.of_questions),
        "responses": responses,
    });
    if let Some(mut content) = content(about.takes, &mut schemas.of_questions) {
        bound(&mut content);
        described["requestBody"] = json!({ "required": true, "content": content });
    }
    match about.scope {
        Some(scope) => described["x-scope"] = json!(scope.name()),
        None => described["security"] = json!([]),
    }
    described
}

fn content(content: Content, generator: &mut SchemaGenerator) -> Option<Value> {
    match content {
        Content::None => None,
        Content::Json(schema) => Some(json!({ JSON: { "schema": schema(generator) } })),
        Content::Text(content_type) => {
            Some(json!({ content_type: { "schema": { "type": "string" } } }))
        }
        Content::Events => Some(json!({ "text/event-stream": {} })),
    }
}

/// Path parameters are those that the path names; the others are of the query.
fn parameters(about: &Described<'_>, generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut schema = (about.parameters)(generator).to_value();
    let required: Vec<String> =
        serde_json::from_value(schema["required"].take()).unwrap_or_default();
    let Value::Object(properties) = schema["properties"].take() else { return Vec::new() };
    let one = |(name, mut schema): (String, Value)| {
        let is_path = about.path.contains(&format!("{{{name}}}"));
        leave_out_null(&mut schema);
        bound(&mut schema);
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter = json!({
            "name": name,
            "in": if is_path { "path" } else { "query" },
            "required": is_path || required.contains(&name),
            "schema": schema,
        });
        if let Some(description) = description {
            parameter["description"] = description;
        }
        parameter
    };
    properties.into_iter().map(one).collect()
}

/// Says how large numbers may be: their format does, but few read it.
fn bound(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let bounds = match object.get("format").and_then(Value::as_str) {
                Some("uint16") => Some((json!(0), json!(u16::MAX))),
                Some("uint32") => Some((json!(0), json!(u32::MAX))),
                Some("int64") => Some((json!(i64::MIN), json!(i64::MAX))),
                _ => None,
            };
            if let Some((least, most)) = bounds {
                object.entry("minimum").or_insert(least);
                object.entry("maximum").or_insert(most);
            }
            object.values_mut().for_each(bound);
        }
        Value::Array(items) => items.iter_mut().for_each(bound),
        _ => {}
    }
}

/// A parameter is there or it is not: it is never null.
fn leave_out_null(schema: &mut Value) {
    if let Value::Array(types) = &mut schema["type"] {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if let Value::Array(choices) = &mut schema["anyOf"] {
        choices.retain(|choice| choice["type"] != "null");
        if let [only] = choices.as_slice() {
            let (only, description) = (only.clone(), schema["description"].take());
            *schema = only;
            if !description.is_null() {
                schema["description"] = description;
            }
        }
    }
    if let Value::Object(object) = schema {
        object.retain(|_, value| !value.is_null());
    }
}
