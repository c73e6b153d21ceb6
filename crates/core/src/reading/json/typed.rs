//! Types with a `Deserialize` of their own, made from a document that was read.

use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{
    Deserialize, Deserializer, Error, Expected, IntoDeserializer, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::Number;

use super::{Json, Object};

/// Why a part of a document has the wrong type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypedError(String);

impl fmt::Display for TypedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TypedError {}

impl Error for TypedError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }

    /// Nothing is called `null` in JSON.
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        match found {
            Unexpected::Unit => Self(format!("invalid type: null, expected {expected}")),
            found => Self(format!("invalid type: {found}, expected {expected}")),
        }
    }
}

impl<'a> Object<'a> {
    /// Reads the fields of these names as a type; other fields are ignored.
    pub fn typed<'j, T: Deserialize<'j>>(&'j self, names: &[&str]) -> Result<T, TypedError> {
        let known = self.iter().filter(|(name, _)| names.contains(name));
        T::deserialize(MapDeserializer::new(known.map(|(name, value)| (Name(name), value))))
    }
}

/// The name of a field.
struct Name<'j>(&'j str);

impl<'j> IntoDeserializer<'j, TypedError> for Name<'j> {
    type Deserializer = BorrowedStrDeserializer<'j, TypedError>;

    fn into_deserializer(self) -> Self::Deserializer {
        BorrowedStrDeserializer::new(self.0)
    }
}

impl<'j> IntoDeserializer<'j, TypedError> for &'j Json<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for &'de Json<'_> {
    type Error = TypedError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        match self {
            Json::Null => visitor.visit_unit(),
            Json::Bool(yes) => visitor.visit_bool(*yes),
            Json::Number(number) => visit_number(number, visitor),
            Json::String(text) => visitor.visit_borrowed_str(text),
            Json::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Json::Object(object) => {
                let fields = object.iter().map(|(name, value)| (Name(name), value));
                visitor.visit_map(MapDeserializer::new(fields))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, TypedError> {
        match self {
            Json::Null => visitor.visit_none(),
            some => visitor.visit_some(some),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

fn visit_number<'j, V: Visitor<'j>>(number: &Number, visitor: V) -> Result<V::Value, TypedError> {
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(number), _, _) => visitor.visit_u64(number),
        (None, Some(number), _) => visitor.visit_i64(number),
        (None, None, Some(number)) => visitor.visit_f64(number),
        (None, None, None) => Err(TypedError::custom("a number that can't be read")),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Entry {
        name: String,
        #[serde(default)]
        share: Option<f64>,
        tags: Option<Vec<String>>,
    }

    /// The same value, or the same complaint, as the usual way.
    fn check(text: &str) {
        let names = ["name", "share", "tags"];
        let json = Json::read(text).unwrap();
        let typed = json.as_object().unwrap().typed::<Entry>(&names);
        let usual: Result<Entry, _> = serde_json::from_value(json.to_value());
        assert_eq!(typed.map_err(|e| e.to_string()), usual.map_err(|e| e.to_string()), "{text}");
    }

    #[test]
    fn a_type_is_made_as_from_a_value() {
        check(r#"{"name":"a","share":0.5,"tags":["x","y"],"more":[{"":0}]}"#);
        check(r#"{"name":"a","share":2,"tags":null}"#);
        check(r#"{"share":0.5}"#);
        check(r#"{"name":7}"#);
        check(r#"{"name":-1.5}"#);
        check(r#"{"name":["a"]}"#);
        check(r#"{"name":"a","tags":[1]}"#);
        check(r#"{"name":"a","tags":{"b":1}}"#);
        check(r#"{"name":null}"#);
    }
}
