//! A JSON document in little memory, for documents that others send.
//!
//! A value takes 32 bytes and a field 56, and a text without escapes is borrowed from the document;
//! `serde_json::Value` takes 72 for a value and some 400 for the smallest object. As there, the last of
//! fields with the same name counts, in the place of the first.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Number, Value};

/// Any value of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// A yes or no.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    String(Cow<'a, str>),
    /// A list.
    Array(Vec<Json<'a>>),
    /// Fields.
    Object(Object<'a>),
}

/// Fields with names, each once, in the order of the document.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object<'a> {
    fields: Vec<(Cow<'a, str>, Json<'a>)>,
}

impl<'a> Json<'a> {
    /// Reads a whole document.
    pub fn read(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The field of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.as_object()?.get(name)
    }

    /// The fields of an object.
    pub fn as_object(&self) -> Option<&Object<'a>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The items of a list.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// A whole number that is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }

    /// Whether it is a list.
    pub fn is_array(&self) -> bool {
        matches!(self, Self::Array(_))
    }

    /// The same for code that works on [`Value`]s: for a part of a document, not for a whole one.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(yes) => Value::Bool(*yes),
            Self::Number(number) => Value::Number(number.clone()),
            Self::String(text) => Value::String(text.clone().into_owned()),
            Self::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Self::Object(object) => {
                let fields = object.iter().map(|(name, value)| (name.to_owned(), value.to_value()));
                Value::Object(fields.collect())
            }
        }
    }
}

impl<'a> Object<'a> {
    /// The field of a name.
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Whether there is a field of a name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Takes a field out; the others keep their order.
    pub fn remove(&mut self, name: &str) -> Option<Json<'a>> {
        let at = self.fields.iter().position(|(known, _)| known == name)?;
        Some(self.fields.remove(at).1)
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json<'a>)> {
        self.fields.iter().map(|(name, value)| (name.as_ref(), value))
    }

    /// The names.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| name.as_ref())
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    fn of(fields: Vec<(Cow<'a, str>, Json<'a>)>) -> Self {
        let mut fields = if is_unique(&fields) { fields } else { last_of_each(fields) };
        fields.shrink_to_fit();
        Self { fields }
    }
}

fn is_unique(fields: &[(Cow<'_, str>, Json<'_>)]) -> bool {
    const FEW: usize = 16;
    if fields.len() <= FEW {
        let is_new = |at: usize| fields[..at].iter().all(|(name, _)| *name != fields[at].0);
        return (1..fields.len()).all(is_new);
    }
    let mut seen = HashSet::with_capacity(fields.len());
    fields.iter().all(|(name, _)| seen.insert(name.as_ref()))
}

fn last_of_each<'a>(fields: Vec<(Cow<'a, str>, Json<'a>)>) -> Vec<(Cow<'a, str>, Json<'a>)> {
    let mut places: HashMap<Cow<'a, str>, usize> = HashMap::new();
    let mut unique: Vec<(Cow<'a, str>, Json<'a>)> = Vec::new();
    for (name, value) in fields {
        match places.get(&name) {
            Some(&at) => unique[at].1 = value,
            None => {
                places.insert(name.clone(), unique.len());
                unique.push((name, value));
            }
        }
    }
    unique
}

/// Adds to a list that may become long. The usual doubling would leave half of a long one empty.
fn push<T>(items: &mut Vec<T>, item: T) {
    const LONG: usize = 1024;
    if items.len() == items.capacity() && items.len() >= LONG {
        items.reserve_exact(items.len() / 4);
    }
    items.push(item);
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor(PhantomData))
    }
}

struct JsonVisitor<'a>(PhantomData<&'a ()>);

impl<'de: 'a, 'a> Visitor<'de> for JsonVisitor<'a> {
    type Value = Json<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'a>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Json<'a>, E> {
        Ok(Json::Bool(yes))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json<'a>, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json<'a>, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json<'a>, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'a>, E> {
        Ok(Json::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'a>, E> {
        Ok(Json::String(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json<'a>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            push(&mut items, item);
        }
        items.shrink_to_fit();
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json<'a>, A::Error> {
        let mut fields = Vec::new();
        while let Some((Name(name), value)) = map.next_entry()? {
            push(&mut fields, (name, value));
        }
        Ok(Json::Object(Object::of(fields)))
    }
}

/// The name of a field.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_str(JsonVisitor(PhantomData))? {
            Json::String(name) => Ok(Self(name)),
            _ => Err(D::Error::custom("the name of a field is a text")),
        }
    }
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(yes) => serializer.serialize_bool(*yes),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => items.serialize(serializer),
            Self::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.fields.len()))?;
                for (name, value) in object.iter() {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_means_what_a_value_does() {
        let many: String = (0..40).map(|n| format!("\"k{}\":{n},", n % 30)).collect();
        let documents = [
            r#"{"b":1,"a":[null,true,-2,1.5,"x","a\nb",{}],"b":{"c":[]}}"#.to_owned(),
            format!("{{{many}\"z\":0}}"),
            "[18446744073709551615,-9223372036854775808,1e300,0.1,1.0]".to_owned(),
            r#""text""#.to_owned(),
        ];
        for text in documents {
            let (json, value) =
                (Json::read(&text).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
            assert_eq!(json.to_value(), value, "{text}");
            assert_eq!(json.to_string(), value.to_string(), "{text}");
        }
        for broken in ["", "{", "[1,]", "{\"a\" 1}", "1 2", &"[".repeat(200)] {
            let (json, value) = (Json::read(broken), serde_json::from_str::<Value>(broken));
            assert_eq!(json.unwrap_err().to_string(), value.unwrap_err().to_string(), "{broken}");
        }
    }

    #[test]
    fn a_value_is_small() {
        assert_eq!(size_of::<Json<'_>>(), 32);
        let text = r#"{"plain":"borrowed","esc\u0061ped":"a\u0062"}"#;
        let Json::Object(object) = Json::read(text).unwrap() else { panic!("an object") };
        assert!(matches!(object.get("plain"), Some(Json::String(Cow::Borrowed("borrowed")))));
        assert_eq!(object.get("escaped").map(Json::to_value), Some("ab".into()));
    }
}
