#!/usr/bin/env bash
# Restores a backup into the empty database at SERVICE_DATABASE_URL: all of it, or nothing.
#
#   createdb keyshelf_restored
#   SERVICE_DATABASE_URL=postgres://.../keyshelf_restored deploy/backup/restore.sh /var/backups/keyshelf/keyshelf-....dump
#
# Start the service on it with the SERVICE_SECRET_KEY that it had: without that key no stored token verifies.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/url.sh"

file="${1:?usage: restore.sh <backup>}"
split_url "${SERVICE_DATABASE_URL:?set it to the empty database to restore into}"
need pg_restore
need psql

if [ -f "$file.sha256" ]; then
  (cd "$(dirname "$file")" && sha256sum --check --quiet "$(basename "$file").sha256") || {
    echo "$file is not what was backed up: its checksum differs." >&2
    exit 1
  }
fi

ask() { psql --no-psqlrc --tuples-only --no-align --set=ON_ERROR_STOP=1 --dbname="$address" --command="$1"; }

if [ "$(ask "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'")" != 0 ]; then
  echo "The database is not empty. Restore into a new one: nothing was changed." >&2
  exit 1
fi

echo "Restoring ..." >&2
pg_restore --exit-on-error --single-transaction --no-owner --no-privileges --dbname="$address" "$file"
echo "Gathering statistics ..." >&2
ask "ANALYZE" > /dev/null
ask "SELECT 'Restored ' || (SELECT count(*) FROM organizations) || ' organizations and ' || (SELECT count(*) FROM credentials)
  || ' credentials, schema ' || (SELECT max(migration_id) FROM keyshelf_migrations)"
