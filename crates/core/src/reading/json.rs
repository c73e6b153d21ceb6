//! A JSON document in little memory, for documents that others send.
//!
//! A value takes 32 bytes and a field 56, and a text without escapes is borrowed from the document;
//! `serde_json::Value` takes 72 for a value and some 400 for the smallest object. The bytes are scanned
//! first for how many values each long list has, because a list that grows while it is read takes twice
//! its size. As in a `Value`, the last of fields with the same name counts, in the place of the first.

mod lengths;
mod typed;

use std::borrow::Cow;
use std::fmt;

use lengths::Lengths;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Number, Value};

pub use typed::TypedError;

/// Any value of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    Null,
    /// A yes or no.
    Bool(bool),
    Number(Number),
    String(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    Object(Object<'a>),
}

/// Fields with names, each once, in the order of the document.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object<'a> {
    fields: Vec<Field<'a>>,
}

impl<'a> Json<'a> {
    /// Reads a whole document.
    pub fn read(text: &'a str) -> serde_json::Result<Self> {
        let lengths = Lengths::of(text.as_bytes());
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let json = JsonSeed(Some(&lengths)).deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(json)
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

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Number of values, including nested ones.
    pub fn count(&self) -> usize {
        1 + match self {
            Self::Array(items) => items.iter().map(Self::count).sum(),
            Self::Object(object) => object.iter().map(|(_, value)| value.count()).sum(),
            _ => 0,
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

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Json<'a>)> {
        self.fields.iter().map(|(name, value)| (name.as_ref(), value))
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| name.as_ref())
    }

    /// Number of fields in the object.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    fn of(mut fields: Vec<Field<'a>>) -> Self {
        keep_last_of_each(&mut fields);
        fields.shrink_to_fit();
        Self { fields }
    }
}

type Field<'a> = (Cow<'a, str>, Json<'a>);

/// Leaves one field of each name: the last value, in the place of the first.
fn keep_last_of_each(fields: &mut Vec<Field<'_>>) {
    const FEW: usize = 16;
    if fields.len() <= FEW {
        let is_new = |at: usize| fields[..at].iter().all(|(name, _)| *name != fields[at].0);
        if (1..fields.len()).all(is_new) {
            return;
        }
    }
    // Numbers of fields take less memory than a set of their names.
    let mut by_name: Vec<u32> = (0..fields.len() as u32).collect();
    by_name.sort_unstable_by(|a, b| {
        fields[*a as usize].0.cmp(&fields[*b as usize].0).then_with(|| a.cmp(b))
    });
    let mut first = 0;
    let mut repeats = Vec::new();
    for at in 1..by_name.len() {
        let (one, next) = (by_name[first] as usize, by_name[at] as usize);
        if fields[one].0 == fields[next].0 {
            fields[one].1 = std::mem::replace(&mut fields[next].1, Json::Null);
            repeats.push(next as u32);
        } else {
            first = at;
        }
    }
    if repeats.is_empty() {
        return;
    }
    drop(by_name);
    repeats.sort_unstable();
    let (mut at, mut repeats) = (0, repeats.into_iter().peekable());
    fields.retain(|_| {
        at += 1;
        repeats.next_if_eq(&(at - 1)).is_none()
    });
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
        JsonSeed(None).deserialize(deserializer)
    }
}

/// Reads a value of a document, whose long lists may be known.
#[derive(Clone, Copy)]
struct JsonSeed<'l>(Option<&'l Lengths>);

impl JsonSeed<'_> {
    /// Room for the values of the list or object that begins here.
    fn list<T>(self) -> Vec<T> {
        Vec::with_capacity(self.0.map_or(0, Lengths::of_next))
    }
}

impl<'de> DeserializeSeed<'de> for JsonSeed<'_> {
    type Value = Json<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonSeed<'_> {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, yes: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(yes))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json<'de>, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json<'de>, A::Error> {
        let mut items = self.list();
        while let Some(item) = list.next_element_seed(self)? {
            push(&mut items, item);
        }
        items.shrink_to_fit();
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json<'de>, A::Error> {
        let mut fields = self.list();
        while let Some(Name(name)) = map.next_key()? {
            push(&mut fields, (name, map.next_value_seed(self)?));
        }
        Ok(Json::Object(Object::of(fields)))
    }
}

/// The name of a field.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_str(JsonSeed(None))? {
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
    fn of_repeated_fields_the_last_counts_in_the_place_of_the_first() {
        let few = r#"{"a":1,"b":2,"a":3,"c":4,"b":5,"a":6}"#;
        assert_eq!(Json::read(few).unwrap().to_string(), r#"{"a":6,"b":5,"c":4}"#);
        let many: String = (0..1000).map(|n| format!("\"k{}\":{n},", n * 7 % 300)).collect();
        let many = format!("{{{many}\"z\":0}}");
        let value: Value = serde_json::from_str(&many).unwrap();
        assert_eq!(Json::read(&many).unwrap().to_string(), value.to_string());
    }

    #[test]
    fn long_lists_get_the_room_that_they_need_at_once() {
        let long = format!("[{}0]", "[],{\"a\":[1,2]},".repeat(5000));
        let Json::Array(items) = Json::read(&long).unwrap() else { panic!("a list") };
        assert_eq!((items.len(), items.capacity()), (10_001, 10_001));
        assert_eq!(Json::Array(items).to_string(), long);
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
