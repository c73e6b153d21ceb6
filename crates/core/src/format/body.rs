//! Documents that callers send, read as the schemas describe them.
//!
//! Two things that JSON Schema and serde see differently: an array is no object, though serde takes
//! one for its fields in order, and `1.0` is a whole number, though serde does not take it for one.

use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::{Map, Number, Value};

/// Whole numbers below this are exact as floating point numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a document that is an object.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(body).map(|Object(read)| read).or_else(|error: serde_json::Error| {
        // The kind of an error is in its message alone. Others are final: a value would hide a key
        // that is there twice.
        let is_number = error.is_data() && error.to_string().contains("floating point");
        let value = if is_number { serde_json::from_slice(body).ok() } else { None };
        value.and_then(|value| with_whole_numbers(value).ok()).ok_or(error)
    })
}

/// Reads an object that was read from a document before.
pub fn of_object<T: DeserializeOwned>(object: Map<String, Value>) -> serde_json::Result<T> {
    with_whole_numbers(Value::Object(object))
}

/// A field that is an object.
pub fn object<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    Object::deserialize(deserializer).map(|Object(read)| read)
}

/// A field that is a list of objects.
pub fn objects<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    let read: Vec<Object<T>> = Vec::deserialize(deserializer)?;
    Ok(read.into_iter().map(|Object(read)| read).collect())
}

fn with_whole_numbers<T: DeserializeOwned>(mut value: Value) -> serde_json::Result<T> {
    make_whole(&mut value);
    Object::deserialize(value).map(|Object(read)| read)
}

/// Writes `1.0` as `1`, everywhere: who wants a floating point number takes that too.
fn make_whole(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|f| number.is_f64() && f.fract() == 0.0);
            if let Some(whole) = whole.filter(|f| f.abs() < EXACT) {
                *number = Number::from(whole as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(fields) => fields.values_mut().for_each(make_whole),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Something that is written as an object and as nothing else.
struct Object<T>(T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, _: A) -> Result<T, A::Error> {
        Err(A::Error::invalid_type(de::Unexpected::Seq, &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        count: u16,
        #[serde(default)]
        share: f64,
        #[serde(deserialize_with = "objects")]
        inner: Vec<Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        name: String,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        One {
            #[serde(deserialize_with = "object")]
            inner: Inner,
        },
    }

    fn check(body: &str, expected: Option<(u16, f64)>) {
        let found = read::<Outer>(body.as_bytes()).ok();
        assert_eq!(found.map(|outer| (outer.count, outer.share)), expected, "{body}");
    }

    #[test]
    fn an_array_is_no_object() {
        check(r#"{ "count": 1, "inner": [{ "name": "a" }] }"#, Some((1, 0.0)));
        check(r#"{ "count": 1, "inner": [["a"]] }"#, None);
        check(r#"[1, 0.5, [{ "name": "a" }]]"#, None);
        check(r#"{ "count": 1, "count": 2, "inner": [] }"#, None);
        let one = |inner: &str| format!(r#"{{ "kind": "One", "inner": {inner} }}"#);
        assert!(read::<Tagged>(one(r#"{ "name": "a" }"#).as_bytes()).is_ok());
        assert!(read::<Tagged>(one(r#"["a"]"#).as_bytes()).is_err());
        assert!(read::<Tagged>(br#"["One", { "name": "a" }]"#).is_err());
    }

    #[test]
    fn a_whole_number_may_have_a_point() {
        check(r#"{ "count": 3.0, "share": 0.5, "inner": [] }"#, Some((3, 0.5)));
        check(r#"{ "count": 3e1, "share": 2, "inner": [] }"#, Some((30, 2.0)));
        check(r#"{ "count": 3.5, "inner": [] }"#, None);
        check(r#"{ "count": -1.0, "inner": [] }"#, None);
        check(r#"{ "count": 1e300, "inner": [] }"#, None);
    }

    #[test]
    fn what_is_wrong_is_said_of_what_was_sent() {
        let error = read::<Outer>(br#"{ "count": 1.0, "inner": 7 }"#).unwrap_err().to_string();
        assert!(error.contains("floating point `1.0`, expected u16 at line 1"), "{error}");
    }
}
