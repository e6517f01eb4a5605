#!/usr/bin/env bash
# Builds functions for AWS: arm64, release, into target/arm64/lambda/<function>/bootstrap.
#
#   delivery/build-arm64.sh <function> ...
#   delivery/build-arm64.sh --check          # only prints the compiler's name
#
# Uses the first compiler that has Rust's standard library for aarch64-unknown-linux-gnu: the one on the PATH (rustup's)
# with the zig linker from .venv, or Debian's with Debian's cross gcc. Binaries from both require glibc 2.34 or earlier,
# the version of Amazon Linux 2023. Doesn't install anything: a toolchain belongs to the machine, not to the project.
#
# The same sources, lock file and compiler produce identical bytes in every checkout, and therefore the same asset hash.
# To this end, fixed names replace the folder names that the compiler writes to a binary (panic locations).
set -euo pipefail
cd "$(dirname "$0")/.."

readonly TARGET=aarch64-unknown-linux-gnu
# Lambda's arm64 is Graviton2 or later. cargo-lambda would choose the same CPU, but encoded RUSTFLAGS replace its flags.
readonly CPU=neoverse-n1

has_target() { # <rustc>
  local libdir
  command -v "$1" >/dev/null && libdir=$("$1" --print target-libdir --target "$TARGET") && test -d "$libdir"
}

say_missing() {
  cat >&2 <<MESSAGE
missing: Rust's standard library for $TARGET. Install it with one of
  rustup target add $TARGET
  dpkg --add-architecture arm64 && apt-get update && apt-get install rustc-web cargo-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu
MESSAGE
}

# The flags are separated by U+001F instead of spaces, so that a folder name can contain a space.
encoded_flags() {
  local cargo_home=${CARGO_HOME:-$HOME/.cargo} separator=$'\x1f'
  printf '%s' "-Ctarget-cpu=$CPU$separator--remap-path-prefix=$PWD=/freshq$separator" \
    "--remap-path-prefix=$cargo_home/registry/src=/crates"
}

if [ "${1:-}" = --check ]; then
  export RUSTUP_AUTO_INSTALL=0
  if has_target rustc; then rustc --version
  elif has_target /usr/bin/rustc && command -v aarch64-linux-gnu-gcc >/dev/null; then /usr/bin/rustc --version
  else say_missing; exit 1; fi
  exit
fi

(($#)) || { echo "usage: delivery/build-arm64.sh <function> ..." >&2; exit 2; }
bins=()
for function in "$@"; do bins+=(--bin "$function"); done

# cargo-lambda is in .venv and finds zig through the Python interpreter in the same folder.
export PATH=$PWD/.venv/bin:$PATH
export CARGO_TARGET_DIR=target/arm64
CARGO_ENCODED_RUSTFLAGS=$(encoded_flags)
export CARGO_ENCODED_RUSTFLAGS
# Prevents every command from downloading a target or a toolchain.
export RUSTUP_AUTO_INSTALL=0
build=(cargo lambda build --locked --release --arm64 --skip-target-check "${bins[@]}")

if has_target rustc; then
  echo "building for arm64 with $(rustc --version), linked by zig" >&2
  "${build[@]}"
elif has_target /usr/bin/rustc && command -v aarch64-linux-gnu-gcc >/dev/null; then
  echo "building for arm64 with Debian's $(/usr/bin/rustc --version), linked by aarch64-linux-gnu-gcc" >&2
  # Uses Debian's cargo and rustc.
  PATH=/usr/bin:$PATH CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc "${build[@]}" --compiler cargo
else
  say_missing
  exit 1
fi
