#!/usr/bin/env bash
# Writes a backup of the database at SERVICE_DATABASE_URL into a directory, and reads it back completely.
#
#   SERVICE_DATABASE_URL=postgres://... deploy/backup/backup.sh /var/backups/keyshelf
#
# The backup is one consistent snapshot; the service can run meanwhile. It does not contain the secret key. Prints the file's name.
set -euo pipefail
umask 077
source "$(dirname "${BASH_SOURCE[0]}")/url.sh"

directory="${1:?usage: backup.sh <directory>}"
split_url "${SERVICE_DATABASE_URL:?set it to the database to back up}"
need pg_dump
need pg_restore
mkdir -p "$directory"

file="$directory/keyshelf-$(date -u +%Y%m%dT%H%M%SZ).dump"
part="$file.part"
trap 'rm -f "$part"' EXIT

echo "Dumping ..." >&2
pg_dump --format=custom --no-owner --no-privileges --file="$part" --dbname="$address"

echo "Reading it back ..." >&2
# A truncated or damaged file fails here, not during a restore.
pg_restore --file=/dev/null "$part"
contents="$(pg_restore --list "$part")"
grep -q ' TABLE DATA .* keyshelf_migrations ' <<< "$contents" || {
  echo "This is not a Keyshelf database: it has no table keyshelf_migrations. Check SERVICE_DATABASE_URL." >&2
  exit 1
}

(cd "$directory" && sha256sum "$(basename "$part")" | sed "s/\.part$//") > "$file.sha256"
mv "$part" "$file"
echo "$file"
