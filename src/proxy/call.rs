//! A call of a response, with everything that clients may read in it.

use crate::json::write_string;

/// A call of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Call {
    /// What its result names it by; empty in Chat Completions, whose histories are always whole.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// JSON text.
    pub arguments: String,
    /// Whether `arguments` is free text, of a custom tool.
    pub is_text: bool,
    /// Names and arguments that other clients read, who put the pieces of calls together in another
    /// way.
    pub readings: Vec<(String, String)>,
    /// Other texts of the same arguments. The call is refused if they differ in meaning.
    pub copies: Vec<String>,
    /// Whether clients read different calls.
    pub is_unclear: bool,
}

/// A call of a response. `key` is its own, whatever the provider says of its id and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keyed {
    pub(super) key: usize,
    pub(super) call: Call,
}

impl Call {
    /// Appends the JSON form: `{ name, args, id?, isText?, readings?, copies?, isUnclear? }`.
    pub fn write_json(&self, out: &mut String) {
        out.push('{');
        write_call(&self.name, &self.arguments, out);
        if !self.id.is_empty() {
            out.push_str(",\"id\":");
            write_string(&self.id, out);
        }
        if self.is_text {
            out.push_str(",\"isText\":true");
        }
        if !self.readings.is_empty() {
            out.push_str(",\"readings\":[");
            for (at, (name, arguments)) in self.readings.iter().enumerate() {
                out.push_str(if at == 0 { "{" } else { ",{" });
                write_call(name, arguments, out);
                out.push('}');
            }
            out.push(']');
        }
        if !self.copies.is_empty() {
            out.push_str(",\"copies\":[");
            for (at, copy) in self.copies.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_string(copy, out);
            }
            out.push(']');
        }
        if self.is_unclear {
            out.push_str(",\"isUnclear\":true");
        }
        out.push('}');
    }
}

fn write_call(name: &str, arguments: &str, out: &mut String) {
    out.push_str("\"name\":");
    write_string(name, out);
    out.push_str(",\"args\":");
    write_string(arguments, out);
}
