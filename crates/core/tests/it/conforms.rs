//! Whether a value is what its schema says.
//!
//! Small on purpose: it knows the words that our schemas use and stops at any other, so that nothing
//! passes because it was not looked at. Stricter than the standard in one way: a key that the schema
//! does not name is a mistake of the schema.

use serde_json::{Map, Value};

/// Words that say nothing about a value, or only what `type` says too.
const REMARKS: [&str; 7] =
    ["$schema", "$defs", "title", "description", "default", "format", "pattern"];

/// Stops the test at the first place where a value is not what its schema says.
#[track_caller]
pub(crate) fn assert_conforms(schema: &Value, value: &Value) {
    if let Err(problem) = conforms(schema, value) {
        panic!("{problem}\n{value:#}");
    }
}

/// Where a value is not what its schema says.
pub(crate) fn conforms(schema: &Value, value: &Value) -> Result<(), String> {
    Check { root: schema }.value(schema, value, "$")
}

struct Check<'a> {
    root: &'a Value,
}

impl Check<'_> {
    fn value(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let Value::Object(words) = schema else {
            return if schema == &Value::Bool(true) { Ok(()) } else { Err(format!("{at}: false")) };
        };
        for (word, said) in words {
            if !self.holds(word, said, words, value, at)? {
                return Err(format!("{at}: {value} is not {word} {said}"));
            }
        }
        Ok(())
    }

    fn holds(
        &self,
        word: &str,
        said: &Value,
        words: &Map<String, Value>,
        value: &Value,
        at: &str,
    ) -> Result<bool, String> {
        Ok(match word {
            "$ref" => return self.value(self.definition(said), value, at).map(|()| true),
            "type" => list(said).any(|name| is_of_type(name, value)),
            "enum" => list(said).any(|choice| choice == value),
            "const" => said == value,
            "anyOf" => list(said).any(|schema| self.value(schema, value, at).is_ok()),
            "oneOf" => list(said).filter(|s| self.value(s, value, at).is_ok()).count() == 1,
            "minimum" => value.as_f64().is_none_or(|n| n >= said.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|n| n <= said.as_f64().unwrap()),
            "minLength" => value.as_str().is_none_or(|s| s.chars().count() >= size(said)),
            "maxLength" => value.as_str().is_none_or(|s| s.chars().count() <= size(said)),
            "minItems" => value.as_array().is_none_or(|items| items.len() >= size(said)),
            "maxItems" => value.as_array().is_none_or(|items| items.len() <= size(said)),
            "items" => return self.items(said, value, at).map(|()| true),
            "prefixItems" => return self.places(said, value, at).map(|()| true),
            "properties" | "additionalProperties" => {
                return self.members(words, value, at).map(|()| true);
            }
            "required" => {
                let has = |name: &Value| value.get(name.as_str().unwrap()).is_some();
                !value.is_object() || list(said).all(has)
            }
            _ if REMARKS.contains(&word) => true,
            _ => return Err(format!("{at}: the schema says `{word}`, which is not known here")),
        })
    }

    fn definition(&self, name: &Value) -> &Value {
        let pointer = name.as_str().unwrap().strip_prefix('#').unwrap();
        self.root.pointer(pointer).unwrap()
    }

    fn items(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let items = value.as_array().into_iter().flatten().enumerate();
        items.into_iter().try_for_each(|(n, item)| self.value(schema, item, &format!("{at}[{n}]")))
    }

    fn places(&self, schemas: &Value, value: &Value, at: &str) -> Result<(), String> {
        let items = list(schemas).zip(value.as_array().into_iter().flatten()).enumerate();
        items
            .into_iter()
            .try_for_each(|(n, (schema, item))| self.value(schema, item, &format!("{at}[{n}]")))
    }

    fn members(&self, words: &Map<String, Value>, value: &Value, at: &str) -> Result<(), String> {
        let others = words.get("additionalProperties").unwrap_or(&Value::Bool(false));
        let known = words.get("properties");
        value.as_object().into_iter().flatten().try_for_each(|(name, member)| {
            let schema = known.and_then(|known| known.get(name)).unwrap_or(others);
            self.value(schema, member, &format!("{at}.{name}"))
        })
    }
}

/// The items of a list, or the one thing that stands in its place.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice).iter()
}

fn size(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn is_of_type(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("there is no type `{other}`"),
    }
}
