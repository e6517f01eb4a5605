// Templates are tested without any Rust build; tests of the build itself say so.
process.env.SKIP_BUILD = '1';
delete process.env.FRESHQ_ARTIFACTS;
