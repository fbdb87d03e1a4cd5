//! Names of documents, which are unique in a request of Bedrock.

use super::super::code::Code;
use super::super::import::media;
use super::super::model::{Content, Part};
use super::super::report::{Action, Finding};
use super::History;
use crate::json::{Add, Json};
use crate::provider::{Media, Members, document_name};

impl<'a> History<'a> {
    /// Gives a document another name where an earlier one has it, in any case. Bedrock: "Messages can't
    /// contain duplicate document names. Rename the document and retry your request."
    pub(super) fn document_names(&mut self, parts: &mut [Part<'a>], index: usize) {
        if self.rules.media != Media::Formats {
            return;
        }
        for part in parts {
            match part {
                Part::Media { block, .. } => {
                    let seen = media(block).filter(|seen| !seen.is_image());
                    let Some(seen) = seen.filter(|seen| self.rules.media.takes(seen)) else {
                        continue;
                    };
                    if let Some(name) = self.document_name(seen.name.as_deref()) {
                        rename(block, &name);
                    }
                }
                Part::Native { block, .. } => {
                    let document = block.get("document").filter(|one| one.as_object().is_some());
                    let Some(document) = document else { continue };
                    let given = document.get("name").and_then(Json::as_str);
                    if let Some(name) = self.document_name(given) {
                        let finding = Finding::new(Code::NameFieldFormat, Action::Renamed, index);
                        let finding = finding.more("an earlier document has it");
                        self.read.push(finding.done(format!("now {name}")));
                        rename(block, &name);
                    }
                }
                Part::Call(call) => {
                    if let Some(result) = &mut call.result
                        && let Content::Parts(parts) = &mut result.content
                    {
                        self.document_names(parts, result.index);
                    }
                }
                Part::Text(_) | Part::Reasoning(_) => {}
            }
        }
    }

    /// The name that a document gets because an earlier one has its own.
    fn document_name(&mut self, given: Option<&str>) -> Option<String> {
        let name = document_name(given.unwrap_or_default());
        let uses = self.uses(&name);
        if *uses == 0 {
            *uses = 1;
            return None;
        }
        let short: String = name.chars().take(180).collect();
        loop {
            let uses = self.uses(&name);
            *uses += 1;
            let made = document_name(&format!("{short} ({uses})"));
            let others = self.uses(&made);
            if *others == 0 {
                *others = 1;
                return Some(made);
            }
        }
    }

    /// How many documents had this name.
    fn uses(&mut self, name: &str) -> &mut usize {
        self.noted(&by_document(name))
    }
}

/// Renames the document in a block of any shape, in each place where a shape may have the name: what
/// is written for the block has no other member of it.
fn rename(block: &mut Json<'_>, name: &str) {
    let Json::Object(members) = block else { return };
    for (key, inner) in members.iter_mut() {
        if let Json::Object(inner) = inner {
            named(inner, if key == "document" { "name" } else { "filename" }, name);
        }
    }
    named(members, "filename", name);
}

#[inline(never)]
fn named(members: &mut Members<'_>, key: &'static str, name: &str) {
    members.retain(|(one, _)| one != key);
    members.add(key, Json::string(name.to_owned()));
}

/// The key of a document in the index; no call id begins with the same character.
fn by_document(name: &str) -> String {
    format!("\u{5}{}", name.to_ascii_lowercase())
}
