//! Reads the settings of functions, event source mappings and asynchronous invocations.

use aws_sdk_lambda::types::{DestinationConfig, FilterCriteria, State};
use serde_json::{Value, json};

use super::aws::{AwsStack, found};
use crate::failure::{Failure, Result};

impl AwsStack {
    pub(super) async fn function(&self, name: &str) -> Result<Option<Value>> {
        let read = self.lambda.get_function_configuration().function_name(name);
        let Some(function) = found("GetFunctionConfiguration", read.send().await)? else {
            return Ok(None);
        };
        let reserved = self.lambda.get_function_concurrency().function_name(name);
        let reserved = found("GetFunctionConcurrency", reserved.send().await)?;
        let reserved = reserved.and_then(|there| there.reserved_concurrent_executions());
        let recursion = self
            .lambda
            .get_function_recursion_config()
            .function_name(name);
        let recursion = found("GetFunctionRecursionConfig", recursion.send().await)?;
        let recursion = recursion.as_ref().and_then(|there| there.recursive_loop());
        Ok(Some(json!({
            "Timeout": function.timeout(),
            "MemorySize": function.memory_size(),
            "Environment": function
                .environment()
                // Skip the variables if Lambda could not decrypt them for this operator.
                .filter(|there| there.error().is_none())
                .map(|there| json!({ "Variables": there.variables() })),
            // Only Failed is a fault: an idle function is Inactive until its next invocation.
            "State": match function.state() {
                Some(State::Failed) => "Failed",
                _ => "Active",
            },
            "ReservedConcurrentExecutions": reserved,
            "RecursiveLoop": recursion.map_or("Terminate", |recursion| recursion.as_str()),
        })))
    }

    pub(super) async fn event_source(&self, id: &str) -> Result<Option<Value>> {
        let read = self.lambda.get_event_source_mapping().uuid(id).send().await;
        let Some(source) = found("GetEventSourceMapping", read)? else {
            return Ok(None);
        };
        let responses = source.function_response_types().iter();
        let concurrency = source
            .scaling_config()
            .and_then(|scaling| scaling.maximum_concurrency());
        Ok(Some(json!({
            "State": source.state(),
            "BatchSize": source.batch_size(),
            "MaximumBatchingWindowInSeconds": source.maximum_batching_window_in_seconds().unwrap_or(0),
            "BisectBatchOnFunctionError": source.bisect_batch_on_function_error().unwrap_or(false),
            "MaximumRetryAttempts": source.maximum_retry_attempts(),
            "MaximumRecordAgeInSeconds": source.maximum_record_age_in_seconds(),
            "ParallelizationFactor": source.parallelization_factor(),
            "FunctionResponseTypes": responses.map(|there| there.as_str()).collect::<Vec<_>>(),
            "FilterCriteria": filters(source.filter_criteria()),
            "ScalingConfig": { "MaximumConcurrency": concurrency },
            "DestinationConfig": destination(source.destination_config()),
        })))
    }

    pub(super) async fn invocation(&self, function: &str) -> Result<Option<Value>> {
        let read = self
            .lambda
            .get_function_event_invoke_config()
            .function_name(function);
        let read = found("GetFunctionEventInvokeConfig", read.send().await)?;
        if read.is_none() && self.is_local {
            return Err(Failure::NotLocal);
        }
        Ok(read.map(|there| {
            json!({
                "MaximumRetryAttempts": there.maximum_retry_attempts(),
                "MaximumEventAgeInSeconds": there.maximum_event_age_in_seconds(),
                "DestinationConfig": destination(there.destination_config()),
            })
        }))
    }
}

fn destination(config: Option<&DestinationConfig>) -> Value {
    let failures = config.and_then(|config| config.on_failure());
    json!({ "OnFailure": { "Destination": failures.and_then(|failures| failures.destination()) } })
}

fn filters(criteria: Option<&FilterCriteria>) -> Value {
    let filters = criteria.map(FilterCriteria::filters).unwrap_or_default();
    let patterns = filters
        .iter()
        .map(|filter| json!({ "Pattern": filter.pattern() }));
    json!({ "Filters": patterns.collect::<Vec<_>>() })
}
