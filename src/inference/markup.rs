//! What a model writes into its text, where its server does not parse it: thoughts, calls, and tokens
//! of its format behind the name of a tool.

use crate::stream::{Delta, TextCalls, TextToolCalls, ThinkTags, Thoughts};

/// How the text of a response is read.
#[derive(Debug, Clone)]
pub(crate) struct MarkupRules {
    pub(crate) think_tags: ThinkTags,
    pub(crate) text_tool_calls: TextToolCalls,
    /// The names of the tools.
    pub(crate) tools: Vec<String>,
}

/// Reads the deltas of one response.
#[derive(Debug, Clone)]
pub(super) struct Markup {
    thoughts: Thoughts,
    calls: TextCalls,
    tools: Vec<String>,
}

impl Markup {
    pub(super) fn new(rules: MarkupRules) -> Self {
        Self {
            thoughts: Thoughts::new(rules.think_tags == ThinkTags::Auto),
            calls: TextCalls::new(rules.text_tool_calls == TextToolCalls::Run),
            tools: rules.tools,
        }
    }

    pub(super) fn read(&mut self, deltas: Vec<Delta>) -> Vec<Delta> {
        let mut deltas = self.thoughts.separate(deltas);
        if self.tools.is_empty() {
            return deltas;
        }
        for delta in &mut deltas {
            if let Delta::ToolCallStart { name, .. } = delta {
                self.cut(name);
            }
        }
        self.calls.read(deltas, &|name| self.tools.iter().any(|tool| tool == name))
    }

    /// Cuts a name at the first token of the model's format (`name<|channel|>commentary`), if the rest
    /// is the name of a tool: vLLM's issues 32587 and 35906, 2026-05.
    fn cut(&self, name: &mut String) {
        let tool = self.tools.iter().find(|tool| {
            name.strip_prefix(tool.as_str()).is_some_and(|rest| rest.starts_with("<|"))
        });
        if let Some(tool) = tool {
            name.truncate(tool.len());
        }
    }
}
