//! Objects from names to values: in the order of their text, or by name.

use std::collections::BTreeMap;

use super::{At, Item, Read, Write};
use crate::error::Error;
use crate::json::Json;

impl<T: Write> Write for Vec<(String, T)> {
    fn write(&self) -> Json<'static> {
        let member = |(name, value): &(String, T)| (name.clone().into(), value.write());
        Json::Object(self.iter().map(member).collect())
    }

    fn is_blank(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Item> Read for Vec<(String, T)> {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        let Json::Object(members) = json else { return Err(at.wrong(self.expected())) };
        self.clear();
        for (name, json) in members {
            let mut item = T::item();
            item.read(json, &at.member(&name, at.range))?;
            self.push((name.into_owned(), item));
        }
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "an object"
    }
}

impl<T: Item> Item for Vec<(String, T)> {
    fn item() -> Self {
        Self::new()
    }
}

impl<T: Write> Write for BTreeMap<String, T> {
    fn write(&self) -> Json<'static> {
        let member = |(name, value): (&String, &T)| (name.clone().into(), value.write());
        Json::Object(self.iter().map(member).collect())
    }

    fn is_blank(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Item> Read for BTreeMap<String, T> {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        let mut members: Vec<(String, T)> = Vec::new();
        members.read(json, at)?;
        *self = members.into_iter().collect();
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "an object"
    }
}

impl<T: Item> Item for BTreeMap<String, T> {
    fn item() -> Self {
        Self::new()
    }
}
