//! The shapes in which the elements of a history are given.

/// The set of wire formats and hosts whose shapes occur in an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Marks(u16);

impl Marks {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const CHAT: Self = Self(1);
    pub(crate) const RESPONSES: Self = Self(1 << 1);
    pub(crate) const ANTHROPIC: Self = Self(1 << 2);
    pub(crate) const GEMINI: Self = Self(1 << 3);
    pub(crate) const BEDROCK: Self = Self(1 << 4);
    pub(crate) const LANGCHAIN: Self = Self(1 << 5);
    pub(crate) const AI_SDK: Self = Self(1 << 6);
    pub(crate) const EVENT: Self = Self(1 << 7);
    pub(crate) const CAMEL: Self = Self(1 << 8);
    /// A role and one text.
    pub(crate) const PLAIN: Self = Self(1 << 9);
    /// Text blocks that have a type.
    pub(crate) const TYPED: Self = Self(1 << 10);
    pub(crate) const COHERE: Self = Self(1 << 11);
    pub(crate) const OLLAMA: Self = Self(1 << 12);
    /// An event of a turn of ours. It is an event too, and has no name of its own.
    pub(crate) const TURN: Self = Self(1 << 13);

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `others` are among these.
    pub(super) const fn has(self, others: Self) -> bool {
        others.0 & !self.0 == 0
    }

    /// Whether all of these are among `others`.
    pub(crate) fn within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    pub(crate) fn meets(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The names of the shapes, for a developer: whose they are, with what is special in them.
    pub(crate) fn names(self) -> String {
        const WHOSE: [(Marks, &str); 10] = [
            (Marks::CHAT, "OpenAI Chat"),
            (Marks::RESPONSES, "OpenAI Responses"),
            (Marks::ANTHROPIC, "Anthropic"),
            (Marks::GEMINI, "Gemini"),
            (Marks::BEDROCK, "Bedrock"),
            (Marks::LANGCHAIN, "LangChain"),
            (Marks::AI_SDK, "AI SDK"),
            (Marks::EVENT, "UI event"),
            (Marks::COHERE, "Cohere"),
            (Marks::OLLAMA, "Ollama"),
        ];
        const WITH: [(Marks, &str); 3] = [
            (Marks::CAMEL, "camelCase"),
            (Marks::PLAIN, "plain text content"),
            (Marks::TYPED, "typed text blocks"),
        ];
        let of = |all: &[(Self, &'static str)]| {
            let own = all.iter().filter(|(mark, _)| self.meets(*mark));
            own.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
        };
        [of(&WHOSE), of(&WITH)]
            .into_iter()
            .filter(|names| !names.is_empty())
            .collect::<Vec<_>>()
            .join(" with ")
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;

    #[test]
    fn names_say_whose_and_with_what() {
        let both = Marks::CHAT.and(Marks::PLAIN).and(Marks::ANTHROPIC);
        assert_eq!(both.names(), "OpenAI Chat, Anthropic with plain text content");
        assert_eq!(Marks::OLLAMA.names(), "Ollama");
        assert_eq!(Marks::TYPED.and(Marks::CAMEL).names(), "camelCase, typed text blocks");
        assert_eq!(Marks::NONE.names(), "");
    }
}
