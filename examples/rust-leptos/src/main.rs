//! A chat page in Leptos.

mod chat;
mod tools;

use leptos::ev::SubmitEvent;
use leptos::prelude::*;
use turnlock_client::Model;

use chat::{Chat, written};

fn main() {
    // A panic of a tool is that call's error; what it said goes to the console.
    std::panic::set_hook(Box::new(|panic| leptos::logging::error!("{panic}")));
    mount_to_body(App);
}

/// Yours is `Model::openai_chat("/api/v1", "gpt-5-mini")`: a server that has the key.
fn model(plays: &str) -> Model {
    Model::openai_chat(format!("/model/s/{}/{plays}/v1", js_sys::Date::now()), "scripted")
}

#[component]
fn App() -> impl IntoView {
    let chat = Chat::new();
    let draft = RwSignal::new("What is in my files?".to_owned());
    let plays = RwSignal::new("one-call".to_owned());
    let submit = move |event: SubmitEvent| {
        event.prevent_default();
        if chat.is_idle() && !draft.read().is_empty() {
            chat.send(model(&plays.read()), &draft.get());
            draft.set(String::new());
        }
    };
    let is_still = move || chat.running.read().is_none();
    let decide = move |approved| chat.decide(model(&plays.read()), approved);
    view! {
        <main>
            <h1>"Turnlock in Leptos"</h1>
            <div class="log" role="log" tabindex="0">
                <div>
                    <For each=move || chat.lines.get() key=|line| line.id let(line)>
                        <p class=line.kind>{move || line.text.get()}</p>
                    </For>
                </div>
            </div>
            {move || chat.waiting.read().as_ref().map(|(_, calls)| view! {
                <p class="ask">
                    "May this run? " <code>{written(calls)}</code>
                    <button on:click=move |_| decide(true)>"Run it"</button>
                    <button on:click=move |_| decide(false)>"No"</button>
                </p>
            })}
            <form on:submit=submit>
                <input aria-label="Message" bind:value=draft />
                <button disabled=move || !chat.is_idle()>"Send"</button>
                <button type="button" disabled=is_still on:click=move |_| chat.stop()>
                    "Stop"
                </button>
            </form>
            <label>
                "The scripted model "
                <select bind:value=plays>
                    <option value="one-call">"calls a tool"</option>
                    <option value="list-then-read">"wants to read a file"</option>
                    <option value="loop">"calls in a loop"</option>
                    <option value="stall">"falls silent"</option>
                    <option value="server-error">"fails"</option>
                </select>
            </label>
        </main>
    }
}
