//! An extension point between a queue and its store.
//!
//! A [`Layered`] store forwards each method to its layer as a [`Call`]. The layer decides whether,
//! when and on which store the call runs. Faults, latency, recording, watching and timing are such
//! layers. Each store method is declared in one line in [`tasks`] or [`agents`].

pub mod agents;
pub mod tasks;

use std::any::Any;
use std::sync::Arc;

use aws::store_error::StoreError;
use futures::future::BoxFuture;

/// A store whose calls go through a layer: a [`tasks::Layer`] or an [`agents::Layer`].
pub struct Layered<L>(pub L);

type Run<S, T> = Box<dyn FnOnce(Arc<S>) -> BoxFuture<'static, Result<T, StoreError>> + Send>;

/// A call of a method of store `S` that returns `T`. Layers can read the arguments in `A`.
pub struct Call<A, S: ?Sized, T> {
    pub operation: &'static str,
    pub about: A,
    run: Run<S, T>,
}

impl<A, S: ?Sized, T> Call<A, S, T> {
    /// Makes the call on `store`. The future owns its arguments, so it can outlive the caller.
    pub fn on(self, store: Arc<S>) -> BoxFuture<'static, Result<T, StoreError>> {
        (self.run)(store)
    }
}

/// Converts `answer` to the result type of a call. Returns `None` if it has a different type.
pub fn answer<A: Any, T: Any>(answer: A) -> Option<T> {
    let mut answer = Some(answer);
    (&mut answer as &mut dyn Any)
        .downcast_mut::<Option<T>>()?
        .take()
}

/// Implements store traits for [`Layered`]. The arguments of a method are `&name: Type` for a
/// `&Type`, `?name: Type` for an `Option<&Type>`, and then `name: Type` for a value. The expression
/// after `=>` is the value of [`Call::about`].
macro_rules! layered {
    ($family:ident by $layer:ident: $($store:ident {$(
        $method:ident(
            $(& $lent:ident: $Lent:tt),*
            $(? $may:ident: $May:tt),* $(,)?
            $($given:ident: $Given:ty),*
        ) -> $Answer:ty => $about:expr;
    )*})*) => {$(
        #[async_trait::async_trait]
        impl<L: $layer> $store for $crate::layered::Layered<L> {$(
            async fn $method(
                &self $(, $lent: &$Lent)* $(, $may: Option<&$May>)* $(, $given: $Given)*
            ) -> Result<$Answer, StoreError> {
                let about = $about;
                $(let $lent = $lent.to_owned();)*
                $(let $may = $may.cloned();)*
                let run = Box::new(move |store: std::sync::Arc<dyn $family>| -> BoxFuture<'static, _> {
                    Box::pin(async move {
                        store.$method($(&$lent,)* $($may.as_ref(),)* $($given),*).await
                    })
                });
                let operation = stringify!($method);
                self.0.around(Call { operation, about, run }).await
            }
        )*}
    )*};
}
use layered;
