#!/bin/sh
# Unpacks what PyPI does not have into the directory given, without touching the system: GoogleTest,
# Debian's package libgtest-dev. Does nothing where the system has it.
set -eu
target=$1

if echo '#include <gtest/gtest.h>' | c++ -x c++ -std=c++17 -fsyntax-only - 2>/dev/null; then
  exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
  echo "GoogleTest is missing. Install it (Debian and Ubuntu: libgtest-dev) and run make again." >&2
  exit 1
fi
mkdir -p "$target/apt/lists/partial" "$target/apt/cache/archives/partial"
apt() {
  apt-get -qq -o Dir::State::Lists="$target/apt/lists" -o Dir::Cache="$target/apt/cache" \
    -o Debug::NoLocking=1 -o APT::Sandbox::User= "$@"
}
apt update
(cd "$target/apt" && apt download libgtest-dev && dpkg-deb -x libgtest-dev_*.deb "$target")
