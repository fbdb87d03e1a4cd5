//! What a provider would refuse in the declarations of tools.

use crate::json::table::{names, record};

names! {
    /// What a provider would refuse in the declarations of tools.
    pub enum ToolCode as "ToolCode", "a code of a tool's declaration", non_exhaustive {
        /// More tools than one request may declare.
        TooMany "TOOLS_TOO_MANY",
        /// The name has characters that the provider refuses, or is too long.
        NameFormat "TOOL_NAME_FORMAT",
        /// Another tool has the same name.
        NameDuplicate "TOOL_NAME_DUPLICATE",
        /// The description is too long.
        DescriptionLength "TOOL_DESCRIPTION_LENGTH",
        /// The description is empty.
        DescriptionEmpty "TOOL_DESCRIPTION_EMPTY",
        /// The root of the schema is no object, or has a keyword that may not stand there.
        SchemaRoot "TOOL_SCHEMA_ROOT",
        /// The provider does not know this keyword.
        SchemaKeyword "TOOL_SCHEMA_KEYWORD",
        /// An array has no `items`. `mcpTools` adds them.
        SchemaItems "TOOL_SCHEMA_ITEMS",
        /// A reference leads nowhere, or out of the schema.
        SchemaRef "TOOL_SCHEMA_REF",
        /// The name of a property has a form that the provider refuses.
        SchemaProperty "TOOL_SCHEMA_PROPERTY",
        /// The schema is nested deeper than the provider takes.
        SchemaDepth "TOOL_SCHEMA_DEPTH",
        /// The schema has more properties or values than the provider takes.
        SchemaSize "TOOL_SCHEMA_SIZE",
        /// A strict tool: an object must refuse other properties.
        StrictAdditional "TOOL_STRICT_ADDITIONAL",
        /// A strict tool: every property must be required.
        StrictRequired "TOOL_STRICT_REQUIRED",
    }
}

record! {
    /// What a provider would refuse in the declarations of tools.
    pub struct ToolFinding as "ToolFinding" {
        /// What it is.
        code "code": ToolCode;
        /// Where it is: a JSON pointer into the list of tools, each `{ name, description,
        /// inputSchema }`.
        path "path": String;
        /// What is wrong, in words.
        message "message": String;
        /// Where the provider says so, and when that was read.
        source "source": String;
    }
}
