#!/usr/bin/env bash
# Writes a backup of the database at SERVICE_DATABASE_URL into a directory, and reads it back to the end.
#
#   SERVICE_DATABASE_URL=postgres://... deploy/backup/backup.sh /var/backups/keyshelf
#
# It is consistent (one snapshot) and may run beside the service. Prints the file's name. The secret key is not in it.
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
# A file that is cut or damaged fails here, not on the day it is needed.
pg_restore --file=/dev/null "$part"
contents="$(pg_restore --list "$part")"
grep -q ' TABLE DATA .* keyshelf_migrations ' <<< "$contents" || {
  echo "This is no database of Keyshelf: it has no table keyshelf_migrations." >&2
  exit 1
}

(cd "$directory" && sha256sum "$(basename "$part")" | sed "s/\.part$//") > "$file.sha256"
mv "$part" "$file"
echo "$file"
