//! What holds natively and not on the web: futures and callbacks move between threads.

pub use bounds::{BoxFuture, MaybeSend, MaybeSync};
pub(crate) use bounds::{BoxStream, Dyn};

#[cfg(not(target_arch = "wasm32"))]
mod bounds {
    /// [`Send`] natively, where a runtime moves futures between threads; nothing on the web, where
    /// JavaScript's values stay in their thread.
    pub trait MaybeSend: Send {}
    impl<T: Send + ?Sized> MaybeSend for T {}

    /// [`Sync`] natively; nothing on the web. See [`MaybeSend`].
    pub trait MaybeSync: Sync {}
    impl<T: Sync + ?Sized> MaybeSync for T {}

    /// A future on the heap; [`Send`] natively.
    pub type BoxFuture<'a, T> = futures::future::BoxFuture<'a, T>;
    /// A stream on the heap; [`Send`] natively.
    pub(crate) type BoxStream<'a, T> = futures::stream::BoxStream<'a, T>;

    /// `dyn` of a trait; `Send` and `Sync` natively.
    macro_rules! Dyn {
        ($($of:tt)*) => { dyn $($of)* + Send + Sync };
    }
    pub(crate) use Dyn;
}

#[cfg(target_arch = "wasm32")]
mod bounds {
    /// [`Send`] natively, where a runtime moves futures between threads; nothing on the web, where
    /// JavaScript's values stay in their thread.
    pub trait MaybeSend {}
    impl<T: ?Sized> MaybeSend for T {}

    /// [`Sync`] natively; nothing on the web. See [`MaybeSend`].
    pub trait MaybeSync {}
    impl<T: ?Sized> MaybeSync for T {}

    /// A future on the heap; [`Send`] natively.
    pub type BoxFuture<'a, T> = futures::future::LocalBoxFuture<'a, T>;
    /// A stream on the heap; [`Send`] natively.
    pub(crate) type BoxStream<'a, T> = futures::stream::LocalBoxStream<'a, T>;

    /// `dyn` of a trait; `Send` and `Sync` natively.
    macro_rules! Dyn {
        ($($of:tt)*) => { dyn $($of)* };
    }
    pub(crate) use Dyn;
}
