#!/bin/sh
# Runs Keyshelf on its own Node.js. Follows links, so that one in a folder of PATH works.
set -e
self=$0
while [ -L "$self" ]; do
  target=$(readlink "$self")
  case $target in
    /*) self=$target ;;
    *) self=$(dirname "$self")/$target ;;
  esac
done
home=$(cd "$(dirname "$self")" && pwd -P)
# Node.js needs a library that a minimal system lacks. Where it is not at its usual places, Node.js is tried first.
found=
for library in /lib/*/libatomic.so.1 /usr/lib/*/libatomic.so.1 /usr/lib64/libatomic.so.1 /usr/lib/libatomic.so.1; do
  [ -e "$library" ] && found=1 && break
done
if [ -z "$found" ] && ! "$home/lib/node" --version >/dev/null 2>&1; then
  echo "Keyshelf's Node.js does not start here. On Debian and Ubuntu, install libatomic1: apt-get install libatomic1" >&2
  exit 1
fi
exec "$home/lib/node" "$home/bin/keyshelf.mjs" "$@"
