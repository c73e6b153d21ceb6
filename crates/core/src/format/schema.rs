//! JSON Schemas of bodies, generated from the structs that are written and read.
//!
//! A schema promises what is so: what is always there is required, and what may be null says so.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

/// The schema of a body that is written.
pub fn of_body<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// The schema of a body that is read.
pub fn of_input<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>()
}
