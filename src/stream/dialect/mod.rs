//! One file per wire; none knows another.

pub(super) mod anthropic;
pub(super) mod openai_chat;
