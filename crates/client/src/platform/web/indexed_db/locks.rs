//! Web Locks that say which owners of turns are alive. They decide nothing: the store's rule does.
//! They only spare a reader the wait when a tab was closed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::{LocalBoxFuture, Shared, select};
use js_sys::{Function, Promise};
use serde::{Deserialize, Serialize};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};

// web-sys has these behind `web_sys_unstable_apis` only, which a library cannot ask for.
#[wasm_bindgen]
extern "C" {
    type Navigator;
    /// In pages and in every kind of worker; read each time, so that it may be missing.
    #[wasm_bindgen(thread_local_v2, js_name = navigator)]
    static NAVIGATOR: Option<Navigator>;
    /// Missing in old browsers and insecure contexts.
    #[wasm_bindgen(method, getter)]
    fn locks(this: &Navigator) -> Option<LockManager>;

    type LockManager;
    #[wasm_bindgen(method, catch)]
    fn request(
        this: &LockManager,
        name: &str,
        options: &JsValue,
        granted: &Function,
    ) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn query(this: &LockManager) -> Result<Promise, JsValue>;
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LockOptions {
    if_available: bool,
}

#[derive(Deserialize)]
struct Snapshot {
    #[serde(default)]
    held: Vec<LockInfo>,
}

#[derive(Deserialize)]
struct LockInfo {
    name: String,
}

#[derive(Clone)]
pub(super) struct OwnerLocks(Rc<Locks>);

struct Locks {
    prefix: String,
    held: RefCell<BTreeMap<String, Held>>,
    asked: RefCell<BTreeMap<String, Shared<LocalBoxFuture<'static, ()>>>>,
}

struct Held {
    turn: String,
    /// Resolves the promise for which the lock is held; `None` where another store of this owner
    /// has the lock, which says as much.
    release: Option<Function>,
}

impl Held {
    fn release(&self) {
        if let Some(release) = &self.release {
            // The resolver of a promise does not throw.
            let _ = release.call0(&JsValue::UNDEFINED);
        }
    }
}

impl Drop for Locks {
    /// Nobody can write with this store any more.
    fn drop(&mut self) {
        self.held.get_mut().values().for_each(Held::release);
    }
}

impl OwnerLocks {
    pub(super) fn new(prefix: &str) -> Self {
        let (held, asked) = (RefCell::default(), RefCell::default());
        Self(Rc::new(Locks { prefix: prefix.to_owned(), held, asked }))
    }

    /// Whether `owner` has its lock (or had, while the page sleeps).
    pub(super) fn has(&self, owner: &str) -> bool {
        self.0.held.borrow().contains_key(owner)
    }

    /// Takes the lock of an owner, where there are locks; tells whether it was not held before.
    pub(super) async fn acquire(&self, turn: &str, owner: &str) -> bool {
        let Some(manager) = manager() else { return false };
        if self.has(owner) {
            return false;
        }
        let before = self.0.asked.borrow().get(owner).cloned();
        let fresh = before.is_none();
        let request = before.unwrap_or_else(|| {
            let (locks, turn, name) = (Rc::downgrade(&self.0), turn.to_owned(), owner.to_owned());
            let asked = take(manager, locks, turn, name, format!("{}{owner}", self.0.prefix));
            let asked = asked.boxed_local().shared();
            self.0.asked.borrow_mut().insert(owner.to_owned(), asked.clone());
            asked
        });
        request.await;
        if fresh {
            self.0.asked.borrow_mut().remove(owner);
        }
        fresh && self.has(owner)
    }

    pub(super) fn release(&self, owner: &str) {
        let lock = self.0.held.borrow_mut().remove(owner);
        if let Some(lock) = lock {
            lock.release();
        }
    }

    /// A turn has one owner, or none: those that it had before need no locks any more.
    pub(super) fn release_others(&self, turn: &str, owner: Option<&str>) {
        self.0.held.borrow_mut().retain(|each, held| {
            let stays = held.turn != turn || Some(each.as_str()) == owner;
            if !stays {
                held.release();
            }
            stays
        });
    }

    /// The page is going to sleep: its locks would keep it from doing so.
    pub(super) fn suspend(&self) {
        self.0.held.borrow().values().for_each(Held::release);
    }

    /// The page is back: its owners are alive again, unless they were replaced meanwhile.
    pub(super) fn resume(&self) {
        for (owner, held) in self.0.held.take() {
            let locks = self.clone();
            spawn_local(async move {
                locks.acquire(&held.turn, &owner).await;
            });
        }
    }

    /// Whether any page of the origin holds the lock of `owner`; true when nobody can say.
    pub(super) async fn is_held(&self, owner: &str) -> bool {
        let Some(manager) = manager() else { return true };
        let Ok(query) = manager.query() else { return true };
        let Ok(snapshot) = JsFuture::from(query).await else { return true };
        let Ok(snapshot) = serde_wasm_bindgen::from_value::<Snapshot>(snapshot) else {
            return true;
        };
        let name = format!("{}{owner}", self.0.prefix);
        snapshot.held.iter().any(|lock| lock.name == name)
    }
}

fn manager() -> Option<LockManager> {
    NAVIGATOR.with(|navigator| navigator.as_ref().and_then(Navigator::locks))
}

/// Ends when the lock is held, or will not be.
async fn take(manager: LockManager, locks: Weak<Locks>, turn: String, owner: String, name: String) {
    let (tell, granted) = oneshot::channel();
    let wait = Closure::once(move |lock: JsValue| -> JsValue {
        let mut held = Held { turn, release: None };
        let mut until = JsValue::UNDEFINED;
        if !lock.is_null() {
            let mut resolver = None;
            until = Promise::new(&mut |resolve, _| resolver = Some(resolve)).into();
            held.release = resolver;
        }
        match locks.upgrade() {
            Some(locks) => drop(locks.held.borrow_mut().insert(owner, held)),
            None => held.release(),
        }
        // Who asked may have gone.
        let _ = tell.send(());
        until
    });
    let options = serde_wasm_bindgen::to_value(&LockOptions { if_available: true });
    let request = manager.request(
        &name,
        &options.unwrap_or(JsValue::UNDEFINED),
        wait.as_ref().unchecked_ref(),
    );
    // A document that may not have locks, or is being unloaded, goes without: its promise is
    // rejected. That of a lock that is held stays open until it is let go.
    if let Ok(request) = request {
        select(granted, JsFuture::from(request)).await;
    }
}
