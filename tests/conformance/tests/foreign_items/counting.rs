//! An HTTP client that counts updates.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;

#[derive(Clone, Debug)]
pub(crate) struct Counting {
    pub(crate) below: SharedHttpConnector,
    pub(crate) under_way: Arc<AtomicU32>,
    pub(crate) most: Arc<AtomicU32>,
}

impl HttpConnector for Counting {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let counting = self.clone();
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let update = u32::from(target.ends_with("UpdateItem"));
        HttpConnectorFuture::new(async move {
            let now = counting.under_way.fetch_add(update, Ordering::SeqCst) + update;
            counting.most.fetch_max(now, Ordering::SeqCst);
            // Long enough for other requests to begin.
            tokio::time::sleep(Duration::from_millis(5)).await;
            let response = counting.below.call(request).await;
            counting.under_way.fetch_sub(update, Ordering::SeqCst);
            response
        })
    }
}
