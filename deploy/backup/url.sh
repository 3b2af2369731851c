# Sourced by backup.sh and restore.sh: takes the password out of a connection URL, because arguments of a program can be
# read by every user of the machine. Sets `address` (the URL without it) and PGPASSWORD.
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
    echo "$1 is missing: install PostgreSQL's client programs, of the server's version or newer." >&2
    exit 1
  }
}
