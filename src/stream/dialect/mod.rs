//! One file per wire format; the files are independent of each other.

pub(super) mod anthropic;
pub(super) mod openai_chat;
