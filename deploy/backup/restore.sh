#!/usr/bin/env bash
# Restores a backup into the empty database at SERVICE_DATABASE_URL: everything or nothing.
#
#   createdb keyshelf_restored
#   SERVICE_DATABASE_URL=postgres://.../keyshelf_restored deploy/backup/restore.sh /var/backups/keyshelf/keyshelf-....dump
#
# Start the service with the SERVICE_SECRET_KEY of the backed-up installation: without it no stored token verifies.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/url.sh"

file="${1:?usage: restore.sh <backup>}"
split_url "${SERVICE_DATABASE_URL:?set it to the empty database to restore into}"
need pg_restore
need psql

if [ -f "$file.sha256" ]; then
  (cd "$(dirname "$file")" && sha256sum --check --quiet "$(basename "$file").sha256") || {
    echo "$file is damaged: its checksum differs. Use another backup." >&2
    exit 1
  }
fi

query() { psql --no-psqlrc --tuples-only --no-align --set=ON_ERROR_STOP=1 --dbname="$address" --command="$1"; }

if [ "$(query "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'")" != 0 ]; then
  echo "The database is not empty. Nothing was changed. Create a new database and restore into it." >&2
  exit 1
fi

echo "Restoring ..." >&2
pg_restore --exit-on-error --single-transaction --no-owner --no-privileges --dbname="$address" "$file"
echo "Gathering statistics ..." >&2
# Only Keyshelf's tables: ANALYZE of everything warns about each table of PostgreSQL that the role does not own.
tables="$(query "SELECT string_agg(oid::regclass::text, ', ') FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition")"
query "ANALYZE $tables" > /dev/null
query "SELECT 'Restored ' || (SELECT count(*) FROM organizations) || ' organizations and ' || (SELECT count(*) FROM credentials)
  || ' credentials, schema ' || (SELECT max(migration_id) FROM keyshelf_migrations)"
