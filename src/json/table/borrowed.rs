//! Results that borrow from the host's texts, and become JSON without a copy.

use std::borrow::Cow;

use super::Row;
use crate::json::Json;

/// Declares a struct of results with a lifetime. Its fields are any values that `Json` can be made
/// from.
macro_rules! borrowed {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident<$life:lifetime> as $ts:literal {
            $($(#[doc = $field_doc:literal])* $field:ident $json:literal : $type:ty;)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $name<$life> {
            $($(#[doc = $field_doc])* pub $field: $type,)*
        }

        impl<$life> $name<$life> {
            const ROWS: &'static [$crate::json::table::Row] = &[
                $($crate::json::table::Row::new($json, false, $crate::json::table::Range::Any)),*
            ];

            /// Converts the value to its JSON form.
            #[must_use]
            pub fn into_json(self) -> $crate::json::Json<$life> {
                let values = vec![$(self.$field.into()),*];
                $crate::json::Json::Object($crate::json::table::present_members(Self::ROWS, values))
            }
        }

        impl<$life> From<$name<$life>> for $crate::json::Json<$life> {
            fn from(value: $name<$life>) -> Self {
                value.into_json()
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.clone().into_json().serialize(serializer)
            }
        }

        $crate::json::table::described! {
            $(#[doc = $doc])*
            $name<$life> as $ts {
                $($(#[doc = $field_doc])* $type, None;)*
            }
        }
    };
}

pub(crate) use borrowed;

/// Returns the members of a record in JSON, in the order of the rows.
pub(crate) fn present_members<'a>(
    rows: &[Row],
    values: Vec<Json<'a>>,
) -> Vec<(Cow<'a, str>, Json<'a>)> {
    let blank = |value: &Json<'_>| match value {
        Json::Null | Json::Bool(false) => true,
        Json::Array(items) => items.is_empty(),
        _ => false,
    };
    let named = rows.iter().zip(values).filter(|(row, value)| !row.sparse || !blank(value));
    named.map(|(row, value)| (Cow::Borrowed(row.name), value)).collect()
}
