// Templates are tested without any Rust build; tests of the build itself say so.
process.env.FRESHQ_SKIP_BUILD = '1';
delete process.env.FRESHQ_ARTIFACTS;
// Where each construct was created is not looked at here, and is slow to find out.
process.env.CDK_DISABLE_STACK_TRACE = '1';
// Checking each template against CloudFormation's schemas takes seconds; the tests of whole apps leave it on.
process.env.CDK_VALIDATION = 'false';
