//! JSON Schemas of bodies, generated from the structs that serialize and deserialize them.
//!
//! A schema is exact: fields that are always present are required, nullable fields are declared so.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// The schema of a serialized body.
pub fn of_body<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// The schema of a deserialized body.
pub fn of_input<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>()
}
