//! The OpenAPI 3.1 document, generated from the endpoints and their request and response types.

use gbrain_core::access::Scope;
use gbrain_core::fault::FaultBody;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::endpoint::{BodyContent, Endpoint, SchemaOf};
use super::reply::JSON;

/// A route outside the endpoint table: it is about the process, or streams.
pub(crate) struct ExtraRoute {
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    /// None if no token is needed.
    pub(crate) scope: Option<Scope>,
    pub(crate) parameters: SchemaOf,
    pub(crate) gives: BodyContent,
}

struct OperationSpec<'a> {
    path: &'a str,
    id: &'a str,
    summary: &'a str,
    scope: Option<Scope>,
    parameters: SchemaOf,
    takes: BodyContent,
    gives: BodyContent,
    status: &'a str,
}

/// The document of all endpoints and extra routes.
pub(crate) fn document(endpoints: &[Endpoint], extra_routes: &[ExtraRoute]) -> Value {
    let mut schemas = Schemas::new();
    let fault = schemas.responses_gen.subschema_for::<FaultBody>();
    let mut paths = Map::new();
    for endpoint in endpoints {
        let described = operation(&endpoint.into(), &mut schemas, fault.as_value());
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method.as_str().to_lowercase()] = described;
    }
    for extra_route in extra_routes {
        let described = operation(&extra_route.into(), &mut schemas, fault.as_value());
        paths.entry(extra_route.path).or_insert_with(|| json!({}))["get"] = described;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "gbrain",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Agent memory with regression-tested retrieval",
            "description": "Bodies are what the commands of the same name print with --json.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas.responses_gen.take_definitions(true),
            "securitySchemes": {
                "token": {
                    "type": "http", "scheme": "bearer",
                    "description": "A token made by `gbrain tokens create`; not needed on loopback while no token exists.",
                },
            },
        },
    })
}

/// Requests and responses have different schemas: a key that is optional in a request is always present in a
/// response.
struct Schemas {
    responses_gen: SchemaGenerator,
    /// Without references, so that the names of the two do not collide.
    requests_gen: SchemaGenerator,
}

impl Schemas {
    fn new() -> Self {
        let mut answers = SchemaSettings::draft2020_12().for_serialize();
        answers.definitions_path = "/components/schemas".into();
        answers.meta_schema = None;
        let mut questions = SchemaSettings::draft2020_12().for_deserialize();
        questions.inline_subschemas = true;
        questions.meta_schema = None;
        Self { responses_gen: answers.into_generator(), requests_gen: questions.into_generator() }
    }
}

impl<'a> From<&'a Endpoint> for OperationSpec<'a> {
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

impl<'a> From<&'a ExtraRoute> for OperationSpec<'a> {
    fn from(extra_route: &'a ExtraRoute) -> Self {
        let ExtraRoute { path, id, summary, scope, parameters, gives } = *extra_route;
        let (takes, status) = (BodyContent::None, "200");
        Self { path, id, summary, scope, parameters, takes, gives, status }
    }
}

fn operation(about: &OperationSpec<'_>, schemas: &mut Schemas, fault: &Value) -> Value {
    let mut responses = Map::new();
    let mut done = json!({ "description": "Success." });
    if let Some(content) = content(about.gives, &mut schemas.responses_gen) {
        done["content"] = content;
    }
    responses.insert(about.status.to_owned(), done);
    responses.insert(
        "default".to_owned(),
        json!({
            "description": "Error; `kind` gives the reason.",
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
        "parameters": parameters(about, &mut schemas.requests_gen),
        "responses": responses,
    });
    if let Some(mut content) = content(about.takes, &mut schemas.requests_gen) {
        bound(&mut content);
        described["requestBody"] = json!({ "required": true, "content": content });
    }
    match about.scope {
        Some(scope) => described["x-scope"] = json!(scope.name()),
        None => described["security"] = json!([]),
    }
    described
}

fn content(content: BodyContent, generator: &mut SchemaGenerator) -> Option<Value> {
    match content {
        BodyContent::None => None,
        BodyContent::Json(schema) => Some(json!({ JSON: { "schema": schema(generator) } })),
        BodyContent::Text(content_type) => {
            Some(json!({ content_type: { "schema": { "type": "string" } } }))
        }
        BodyContent::Events => Some(json!({ "text/event-stream": {} })),
    }
}

/// Parameters named in the path are path parameters; the others are query parameters.
fn parameters(about: &OperationSpec<'_>, generator: &mut SchemaGenerator) -> Vec<Value> {
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

/// Adds explicit bounds to numbers: few clients read `format`.
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

/// Removes null from a parameter schema: a parameter is present or absent, never null.
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
