//! News from other pages and workers of the origin.

use serde::{Deserialize, Serialize};
use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{BroadcastChannel, MessageEvent};

/// A commit was applied.
#[derive(Serialize, Deserialize)]
pub(super) struct News {
    pub(super) turn: String,
    /// Who wrote.
    pub(super) owner: String,
    /// Whether the turn may be written again.
    pub(super) open: bool,
}

/// Open until it is dropped.
pub(super) struct Channel {
    channel: BroadcastChannel,
    _heard: Closure<dyn FnMut(MessageEvent)>,
}

impl Channel {
    /// `None` where there are no channels.
    pub(super) fn open(name: &str, heard: impl Fn(News) + 'static) -> Option<Self> {
        let channel = BroadcastChannel::new(name).ok()?;
        let heard = Closure::new(move |message: MessageEvent| {
            // What cannot be read is not from a store.
            if let Ok(news) = serde_wasm_bindgen::from_value(message.data()) {
                heard(news);
            }
        });
        channel.set_onmessage(Some(heard.as_ref().unchecked_ref()));
        Some(Self { channel, _heard: heard })
    }

    pub(super) fn post(&self, news: &News) {
        // News that get lost cost a reader some time, and nothing else.
        if let Ok(news) = serde_wasm_bindgen::to_value(news) {
            let _ = self.channel.post_message(&news);
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.channel.set_onmessage(None);
        self.channel.close();
    }
}
