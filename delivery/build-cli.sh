#!/usr/bin/env bash
# Builds the freshq command for a platform, release, into target/cli/<platform>/freshq.
#
#   delivery/build-cli.sh linux-x64|linux-arm64|darwin-x64|darwin-arm64
#
# For Linux, cargo-zigbuild links it with zig for glibc 2.28. It uses the first compiler that has the target's standard
# library: the one on the PATH (rustup's), or Debian's. For macOS, which zig can't link without Apple's libraries, it
# must run on macOS.
set -euo pipefail
cd "$(dirname "$0")/.."

# cargo-zigbuild is in .venv and finds zig through the Python interpreter in the same folder.
export PATH=$PWD/.venv/bin:$PATH
export CARGO_TARGET_DIR=target/cli/cargo RUSTUP_AUTO_INSTALL=0 MACOSX_DEPLOYMENT_TARGET=11.0
# Fixed names replace the folder names in the binary, so that every checkout produces identical bytes.
separator=$'\x1f'
export CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=$PWD=/freshq$separator--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=/crates"

platform=${1:-}
glibc='' command=zigbuild
case "$platform" in
  linux-x64) target=x86_64-unknown-linux-gnu glibc=.2.28 ;;
  linux-arm64) target=aarch64-unknown-linux-gnu glibc=.2.28 ;;
  darwin-x64) target=x86_64-apple-darwin command=build ;;
  darwin-arm64) target=aarch64-apple-darwin command=build ;;
  *) echo "usage: delivery/build-cli.sh linux-x64|linux-arm64|darwin-x64|darwin-arm64" >&2; exit 2 ;;
esac
if [ "$command" = build ] && [ "$(uname -s)" != Darwin ]; then
  echo "$platform can only be built on macOS. The release workflow builds it there." >&2
  exit 1
fi
has_target() { # <rustc>
  local libdir
  command -v "$1" >/dev/null && libdir=$("$1" --print target-libdir --target "$target") && test -d "$libdir"
}
cargo=cargo
if ! has_target rustc; then
  # Uses Debian's cargo and rustc.
  cargo=/usr/bin/cargo
  export RUSTC=/usr/bin/rustc
  if ! has_target "$RUSTC"; then
    echo "missing: Rust's standard library for $target. Install it with: rustup target add $target" >&2
    exit 1
  fi
fi
"$cargo" "$command" --locked --release --package freshq --bin freshq --target "$target$glibc"
mkdir -p "target/cli/$platform"
install -m 755 "$CARGO_TARGET_DIR/$target/release/freshq" "target/cli/$platform/freshq"
