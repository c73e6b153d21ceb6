//! Reads documents sent by callers as the schemas describe them.
//!
//! JSON Schema and serde disagree in two cases: serde accepts an array for a struct, and refuses
//! `1.0` for an integer. Here an array is refused and `1.0` is accepted.

use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::{Map, Number, Value};

/// Integers below this are exact as floating point numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a document that is an object.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> serde_json::Result<T> {
    serde_json::from_slice(body).map(|Object(read)| read).or_else(|error: serde_json::Error| {
        // serde_json reports this kind of error only in its message.
        let is_number = error.is_data() && error.to_string().contains("floating point");
        let again = is_number.then(|| serde_json::from_slice(&with_whole_numbers_written(body)));
        again.and_then(Result::ok).map(|Object(read)| read).ok_or(error)
    })
}

/// The same document with `1.0` written as `1`. The bytes are copied once: a parsed value of the
/// whole document would need far more memory.
fn with_whole_numbers_written(body: &[u8]) -> Vec<u8> {
    let mut written = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some((&first, after)) = rest.split_first() {
        let length = match first {
            b'"' => 1 + text_length(after),
            b'-' | b'0'..=b'9' => {
                let is_part = |b: &u8| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                rest.iter().take_while(|b| is_part(b)).count()
            }
            _ => 1,
        };
        let (token, after) = rest.split_at(length);
        let number = std::str::from_utf8(token).ok().filter(|_| first != b'"');
        let number = number.filter(|text| text.contains(['.', 'e', 'E']));
        match number.and_then(|text| text.parse().ok()).and_then(as_whole) {
            Some(whole) => written.extend_from_slice(whole.to_string().as_bytes()),
            None => written.extend_from_slice(token),
        }
        rest = after;
    }
    written
}

/// Bytes up to the end of a string, including its closing quote.
fn text_length(after_quote: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&byte) = after_quote.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    after_quote.len()
}

/// The integer equal to a floating point number, if the conversion is exact.
fn as_whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < EXACT).then_some(number as i64)
}

/// Reads an object from an already parsed document.
pub fn of_object<T: DeserializeOwned>(object: Map<String, Value>) -> serde_json::Result<T> {
    with_whole_numbers(Value::Object(object))
}

/// Deserializes a field that must be an object.
pub fn object<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    Object::deserialize(deserializer).map(|Object(read)| read)
}

/// Deserializes a list of objects.
pub fn objects<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    let read: Vec<Object<T>> = Vec::deserialize(deserializer)?;
    Ok(read.into_iter().map(|Object(read)| read).collect())
}

/// Deserializes a list of at most `most` objects; a longer list is not read to its end.
pub fn objects_at_most<'de, T, D>(deserializer: D, max: usize) -> Result<Vec<T>, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    deserializer.deserialize_seq(LimitedListVisitor { max, read: PhantomData })
}

struct LimitedListVisitor<T> {
    max: usize,
    read: PhantomData<T>,
}

impl<'de, T: DeserializeOwned> Visitor<'de> for LimitedListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a sequence of at most {} objects", self.max)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(Object(one)) = list.next_element()? {
            if all.len() == self.max {
                return Err(A::Error::custom(format!("at most {} objects are taken", self.max)));
            }
            all.push(one);
        }
        Ok(all)
    }
}

fn with_whole_numbers<T: DeserializeOwned>(mut value: Value) -> serde_json::Result<T> {
    make_whole(&mut value);
    Object::deserialize(value).map(|Object(read)| read)
}

/// Replaces `1.0` by `1` everywhere; fields of type float accept integers too.
fn make_whole(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|_| number.is_f64()).and_then(as_whole);
            if let Some(whole) = whole {
                *number = Number::from(whole);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(fields) => fields.values_mut().for_each(make_whole),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A value that may only be written as an object.
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
        let text = r#"{ "count": 2.0, "share": 0.25, "inner": [{ "name": "1.0 \" 2.0\\" }] }"#;
        let read = read::<Outer>(text.as_bytes()).unwrap();
        assert_eq!((read.count, read.share), (2, 0.25));
        assert_eq!(read.inner[0].name, "1.0 \" 2.0\\");
        check(r#"{ "count": 1.0, "count": 2.0, "inner": [] }"#, None);
    }

    #[test]
    fn errors_refer_to_the_sent_body() {
        let error = read::<Outer>(br#"{ "count": 1.0, "inner": 7 }"#).unwrap_err().to_string();
        assert!(error.contains("floating point `1.0`, expected u16 at line 1"), "{error}");
    }
}
