import { statements } from "./statements.ts"

// Usage in monthly partitions. `usage_events_partition` makes the table of events a partition of a new one that takes its name. It
// reads no rows if a valid constraint `usage_events_boundary` says that all are before the boundary. The new table has no
// indexes of its own: each partition has the key and the index of the old table, so nothing is built. A statement of the release
// before finds the new table by the name. `usage_events_rest` takes what has no month yet, so that no report fails. Here, only a
// table without rows is converted; `keyshelf migrate` does it for others, afterwards and step by step (ADR 14).
//
// `usage_days` are the sums of events that are dropped with their month: by day in UTC, of each total. `at_start` has the events at
// the first instant of the day, which a check as of midnight counts. `counted` and what follows it are those of the events
// since the newest `set` of the row, or of all. `usage_key_buckets` has the distinct keys of a UNIQUE_COUNT, by meter, because a
// bucket can touch several periods. `usage_unique_keys.first_at` is when a dropped event first had the key. All of them apply before
// `usage_retention.dropped_until`: until then the events are still there. `usage_drops` is the month that is being summed, up to
// which instance, and `usage_drop_changes` are totals whose events have changed meanwhile.
export default statements(
  `CREATE TABLE usage_days (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    period_start timestamptz NOT NULL,
    day timestamptz NOT NULL,
    at_start boolean NOT NULL,
    stored_count bigint NOT NULL,
    event_count bigint NOT NULL,
    first_at timestamptz,
    last_at timestamptz,
    counted bigint NOT NULL,
    sum numeric,
    minimum numeric,
    maximum numeric,
    latest numeric,
    latest_at timestamptz,
    latest_ordinal bigint,
    set_at timestamptz,
    set_value numeric,
    brought_count bigint NOT NULL,
    brought_sum numeric NOT NULL,
    PRIMARY KEY (organization_id, instance_id, entitlement_id, period_start, day, at_start)
  )`,
  `CREATE TABLE usage_key_buckets (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    size text NOT NULL CHECK (size IN ('DAY', 'MONTH')),
    start timestamptz NOT NULL,
    keys bigint NOT NULL,
    event_count bigint NOT NULL,
    PRIMARY KEY (organization_id, instance_id, entitlement_id, size, start)
  )`,
  `ALTER TABLE usage_unique_keys ADD COLUMN first_at timestamptz`,
  `CREATE TABLE usage_retention (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    dropped_until timestamptz
  )`,
  `INSERT INTO usage_retention DEFAULT VALUES`,
  `CREATE TABLE usage_drops (
    partition text PRIMARY KEY,
    until timestamptz NOT NULL,
    after_organization uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    after_instance uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    is_summed boolean NOT NULL DEFAULT false
  )`,
  `CREATE TABLE usage_drop_changes (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    period_start timestamptz NOT NULL,
    PRIMARY KEY (organization_id, instance_id, entitlement_id, period_start)
  )`,
  `CREATE FUNCTION usage_event_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO usage_drop_changes (organization_id, instance_id, entitlement_id, period_start)
    SELECT changed.organization_id, changed.instance_id, changed.entitlement_id, changed.period_start
    FROM (SELECT (CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END).*) AS changed
    -- Locks a change that is noted already, so that summing it waits for this one.
    ON CONFLICT (organization_id, instance_id, entitlement_id, period_start) DO UPDATE SET period_start = excluded.period_start;
    RETURN NULL;
  END $$`,
  `CREATE FUNCTION usage_events_partition(boundary timestamptz) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    LOCK TABLE usage_events IN ACCESS EXCLUSIVE MODE;
    IF (SELECT relkind FROM pg_class WHERE oid = 'usage_events'::regclass) = 'p' THEN
      RETURN;
    END IF;
    ALTER TABLE usage_events RENAME TO usage_events_first;
    CREATE TABLE usage_events (LIKE usage_events_first INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (timestamp);
    ALTER TABLE usage_events DROP CONSTRAINT IF EXISTS usage_events_boundary;
    EXECUTE format('ALTER TABLE usage_events ATTACH PARTITION usage_events_first FOR VALUES FROM (MINVALUE) TO (%L)', boundary);
    ALTER TABLE usage_events_first DROP CONSTRAINT IF EXISTS usage_events_boundary;
    CREATE TABLE usage_events_rest (LIKE usage_events_first INCLUDING ALL);
    ALTER TABLE usage_events ATTACH PARTITION usage_events_rest DEFAULT;
  END $$`,
  `DO $$
  BEGIN
    IF NOT EXISTS (SELECT 1 FROM usage_events) AND NOT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') THEN
      LOCK TABLE usage_events IN ACCESS EXCLUSIVE MODE;
      IF NOT EXISTS (SELECT 1 FROM usage_events) THEN
        PERFORM usage_events_partition(date_trunc('month', now() + interval '7 days', 'UTC') + interval '1 month');
      END IF;
    END IF;
  END $$`,
)
