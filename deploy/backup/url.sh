# Sourced by backup.sh and restore.sh. Moves the password of a connection URL to PGPASSWORD, because every user of the machine
# can read the arguments of a program. Sets `address` to the URL without the password.
split_url() {
  address="$1"
  if [[ "$address" =~ ^(postgres(ql)?://[^:@/]+):([^@/]*)@(.*)$ ]]; then
    address="${BASH_REMATCH[1]}@${BASH_REMATCH[4]}"
    local encoded="${BASH_REMATCH[3]//\\/\\\\}"
    PGPASSWORD="$(printf '%b' "${encoded//%/\\x}")"
    export PGPASSWORD
  fi
}

need() {
  command -v "$1" > /dev/null || {
    echo "$1 is missing: install PostgreSQL's client programs, in the server's version or newer." >&2
    exit 1
  }
}
