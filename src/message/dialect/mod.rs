//! One file per provider; none knows another.

pub(super) mod anthropic;
pub(super) mod openai_chat;
