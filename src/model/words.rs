//! `words!`: closed sets of words as enums. One word, one variant, one spelling in the database, in JSON and in `--help`.
//! It must not carry meaning of its own; the enums that use it do.

/// Declares an enum whose variants each have one fixed spelling, with parsing that lists the known words on failure.
macro_rules! words {
    ($(#[$outer:meta])* $visibility:vis enum $name:ident { $($(#[$inner:meta])* $variant:ident => $text:literal,)+ }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $visibility enum $name { $($(#[$inner])* $variant,)+ }

        impl $name {
            /// Every word of the set, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The one spelling of this word.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::model::words::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($text => Ok($name::$variant),)+
                    other => Err($crate::model::words::UnknownWord {
                        set: stringify!($name),
                        word: other.to_owned(),
                        known: &[$($text,)+],
                    }),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($text,)+] })
            }
        }
    };
}
pub(crate) use words;

/// A word that is not in its set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    /// The name of the set.
    pub set: &'static str,
    /// What was given.
    pub word: String,
    /// What would have been understood.
    pub known: &'static [&'static str],
}

impl std::fmt::Display for UnknownWord {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "'{}' is not a {}; known: {}",
            self.word,
            self.set,
            self.known.join(", ")
        )
    }
}

impl std::error::Error for UnknownWord {}
