//! Closed sets with wire names: one table per enum, read in both directions.
//!
//! The name is the whole of such a value on the wire, so these enums can be members of wire structs
//! as they are: written and read by name, and listed in schemas.

use std::fmt;

#[doc(hidden)]
pub use schemars;
#[doc(hidden)]
pub use serde;

/// A text that is no name of the set: the message lists the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownName(#[doc(hidden)] pub &'static [&'static str]);

impl std::error::Error for UnknownName {}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            [name] => f.write_str(name),
            [names @ .., last] => write!(f, "{} or {last}", names.join(", ")),
        }
    }
}

/// Defines an enum with the wire name of each value, and gives it `ALL`, `name`, `from_name` and `FromStr`, and its
/// form on the wire: that name. An enum that is defined elsewhere, or lists its values in another order, is given
/// as a table.
#[macro_export]
macro_rules! named {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident {
            $($(#[$of_variant:meta])* $variant:ident = $name:literal),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        $visibility enum $type {
            $($(#[$of_variant])* $variant),+
        }

        $crate::named! { $type { $($variant = $name),+ } }
    };
    ($type:ident { $($variant:ident = $name:literal),+ $(,)? }) => {
        impl $type {
            /// Every value, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }

            /// The value of a wire name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::named::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::from_name(text).ok_or($crate::named::UnknownName(&[$($name),+]))
            }
        }

        impl $crate::named::serde::Serialize for $type {
            fn serialize<S: $crate::named::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> $crate::named::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::named::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as $crate::named::serde::Deserialize>::deserialize(
                    deserializer,
                )?;
                Self::from_name(&text).ok_or_else(|| {
                    $crate::named::serde::de::Error::unknown_variant(&text, &[$($name),+])
                })
            }
        }

        impl $crate::named::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn schema_id() -> std::borrow::Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($type)).into()
            }

            fn json_schema(
                _: &mut $crate::named::schemars::SchemaGenerator,
            ) -> $crate::named::schemars::Schema {
                $crate::named::schemars::json_schema!({ "type": "string", "enum": [$($name),+] })
            }
        }
    };
}

/// Writes a type as the text that it displays, in JSON and in schemas.
#[macro_export]
macro_rules! displayed {
    ($type:ident) => {
        impl $crate::named::serde::Serialize for $type {
            fn serialize<S: $crate::named::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl $crate::named::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(
                generator: &mut $crate::named::schemars::SchemaGenerator,
            ) -> $crate::named::schemars::Schema {
                String::json_schema(generator)
            }
        }
    };
}
