// Tests use templates without a Rust build. Tests of the build itself change this environment variable.
process.env.FRESHQ_SKIP_BUILD = '1';
delete process.env.FRESHQ_ARTIFACTS;
// Tests do not need the stack trace of each construct, which is slow to collect.
process.env.CDK_DISABLE_STACK_TRACE = '1';
// Validating each template against the CloudFormation schemas takes seconds. The tests of whole apps enable it.
process.env.CDK_VALIDATION = 'false';
