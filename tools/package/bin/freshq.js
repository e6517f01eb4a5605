#!/usr/bin/env node
// Starts the freshq command. npm installs its binary for this platform as an optional dependency.
'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { optionalDependencies } = require('../package.json');

const PREFIX = '@freshq/cli-';
/** Exit code that a shell returns if it does not find a command. */
const NOT_FOUND = 127;
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM'];
/** Signals that a terminal sends to every foreground process, so that the command receives them directly. */
const FROM_KEYBOARD = ['SIGINT', 'SIGQUIT'];

function binary() {
  const platform = `${process.platform}-${process.arch}`;
  const name = `${PREFIX}${platform}`;
  if (!(name in optionalDependencies)) {
    const supported = Object.keys(optionalDependencies).map((each) => each.slice(PREFIX.length));
    const remedy = process.platform === 'win32' ? 'run it in the Windows Subsystem for Linux' : 'run it on one of these';
    fail(`the command has no version for ${platform}. It supports ${supported.join(', ')}. Remedy: ${remedy}.`);
  }
  try {
    return require.resolve(`${name}/bin/freshq`);
  } catch {
    const libc = process.platform === 'linux' ? ' It needs glibc 2.28 or later, so it does not run on Alpine Linux.' : '';
    const built = 'A package that you built with `make package` has no command: run `make install-cli` in the clone.';
    fail(
      `the package ${name} is missing. Remedy: install freshq again on this machine, with optional dependencies.${libc} ${built}`,
    );
  }
}

function fail(message) {
  process.stderr.write(`freshq: ${message}\n`);
  process.exit(NOT_FOUND);
}

const command = binary();
// Handles signals before the command starts, so that no signal can end this process while the command runs on.
for (const signal of SIGNALS) {
  process.on(signal, () => {
    if (!(process.stdin.isTTY && FROM_KEYBOARD.includes(signal))) child.kill(signal);
  });
}
const child = spawn(command, process.argv.slice(2), { stdio: 'inherit' });
child.on('error', (error) => fail(`${command} could not be started: ${error.message}`));
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  // Ends this process with the same signal. If it survives, its exit code is the one that a shell would return.
  for (const each of SIGNALS) process.removeAllListeners(each);
  process.exitCode = 128 + constants.signals[signal];
  process.kill(process.pid, signal);
});
