import { table } from "../statements.ts"
import { usageHeld } from "./usageHeld.ts"
import { toEntitlement, toInstance, toTotal, TOTAL, totalColumns } from "./usageKeys.ts"

/**
 * Totals have no foreign keys, and events have none: a transaction updates a total twice, and each time PostgreSQL would look up and lock
 * both rows that it refers to. The references are valid without: the transaction locks the total, an entitlement with usage cannot be
 * deleted, and the deletion of an instance also deletes its usage.
 */
const totals: ReadonlyArray<string> = [
  // The state by which one event updates the total without a reading of earlier events. `decided_at` is the latest instant of a
  // decision on it: it stops a node whose clock is behind from committing an expired reservation whose quantity may be used elsewhere
  // already. `event_count` numbers events, so that it counts voided ones. Every report updates a total: free space on the page keeps the
  // new tuple there (HOT), so that no index is updated.
  ...table(
    "usage_totals",
    "The usage of an entitlement by an instance in a period, so that no decision reads events. Grows by a row for each instance, entitlement and period with usage.",
    `${totalColumns},
    value numeric NOT NULL,
    event_count bigint NOT NULL,
    voided_count bigint NOT NULL DEFAULT 0,
    sum numeric NOT NULL DEFAULT 0,
    value_count bigint NOT NULL DEFAULT 0,
    set_at timestamptz,
    latest_at timestamptz,
    last_at timestamptz,
    decided_at timestamptz,
    warned boolean NOT NULL DEFAULT false,
    limit_reached boolean NOT NULL DEFAULT false,
    cap_exceeded boolean NOT NULL DEFAULT false,
    PRIMARY KEY (${TOTAL})
  `,
    "WITH (fillfactor = 70)",
  ),
  `CREATE INDEX usage_totals_entitlement ON usage_totals (organization_id, entitlement_id)`,
  // `first_at` is when a dropped event first had the key.
  ...table(
    "usage_unique_keys",
    "A key that a UNIQUE_COUNT has counted in a period. Grows by a row for each distinct key of a period.",
    `${totalColumns},
    unique_key text NOT NULL,
    first_at timestamptz,
    PRIMARY KEY (${TOTAL}, unique_key)
  `,
  ),
]

const eventColumns = `${totalColumns},
    ordinal bigint NOT NULL,
    timestamp timestamptz NOT NULL,
    behavior text NOT NULL CHECK (behavior IN ('append', 'set')),
    value numeric NOT NULL,
    unique_key text,
    metadata jsonb,
    transaction_id text,
    source text,
    reported_at timestamptz NOT NULL,
    reported_by jsonb NOT NULL,
    voided_at timestamptz,
    voided_by jsonb`
const EVENT_KEY = `PRIMARY KEY (${TOTAL}, ordinal)`
const eventsHold =
  "An event of usage that was counted. ordinal is its place in the total, by arrival; voided ones stay. Grows by a row for each event; whole months are dropped with SERVICE_RETENTION_USAGE_EVENTS."
const inOrderOfTime = (name: string) =>
  `CREATE INDEX ${name}_time ON ${name} (organization_id, instance_id, entitlement_id, period_start, timestamp, ordinal)`

/** Runs statements if the database has Citus, or if it does not have it. */
const onCitus = (hasIt: boolean, texts: ReadonlyArray<string>) => `DO $do$
  BEGIN
    IF ${hasIt ? "" : "NOT "}EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') THEN
      ${texts.join(";\n      ")};
    END IF;
  END $do$`

/**
 * Events of usage are in monthly partitions, but not on Citus, which distributes one table. The table has no indexes of its own: each
 * partition has the key and the index, because a key of the whole table would have to contain the time. Partitions of months are made
 * like `usage_events_rest`, which takes what has no month yet, so that no report fails (docs/adr/0014-usage-partitions.md).
 */
const events: ReadonlyArray<string> = [
  onCitus(true, [...table("usage_events", eventsHold, `${eventColumns}, ${EVENT_KEY}`), inOrderOfTime("usage_events")]),
  onCitus(false, [
    ...table("usage_events", eventsHold, eventColumns, "PARTITION BY RANGE (timestamp)"),
    `CREATE TABLE usage_events_first (LIKE usage_events INCLUDING CONSTRAINTS, ${EVENT_KEY})`,
    inOrderOfTime("usage_events_first"),
    `CREATE TABLE usage_events_rest (LIKE usage_events_first INCLUDING ALL)`,
    `EXECUTE format('ALTER TABLE usage_events ATTACH PARTITION usage_events_first FOR VALUES FROM (MINVALUE) TO (%L)',
        date_trunc('month', now() + interval '7 days', 'UTC') + interval '1 month')`,
    `ALTER TABLE usage_events ATTACH PARTITION usage_events_rest DEFAULT`,
  ]),
]

const recognition: ReadonlyArray<string> = [
  ...table(
    "usage_transactions",
    "A report with a transaction id, so that it is counted once. Grows with each such report; a row is deleted when the id can be used again.",
    `
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    transaction_id text NOT NULL,
    report jsonb NOT NULL,
    timestamp timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, instance_id, entitlement_id, transaction_id),
    ${toInstance},
    ${toEntitlement}
  `,
  ),
  `CREATE INDEX usage_transactions_expiry ON usage_transactions (expires_at)`,
  // Compared byte by byte, because no query sorts these by the rules of a language.
  ...table(
    "usage_event_ids",
    "A CloudEvent that was counted, so that it is counted once. Grows with each one; a row is deleted when source and id can be used again.",
    `
    organization_id uuid NOT NULL,
    source text NOT NULL COLLATE "C",
    event_id text NOT NULL COLLATE "C",
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, source, event_id)
  `,
  ),
  `CREATE INDEX usage_event_ids_expiry ON usage_event_ids (expires_at)`,
]

const history: ReadonlyArray<string> = [
  ...table(
    "usage_rollups",
    "Up to which event the hours of a total contain its usage: the lock of these hours. Grows with the totals.",
    `${totalColumns},
    rolled_to bigint NOT NULL,
    PRIMARY KEY (${TOTAL}),
    ${toTotal}
  `,
  ),
  ...table(
    "usage_hours",
    "The usage of a total in an hour, so that its history reads no events. Grows by a row for each hour with usage of a total.",
    `${totalColumns},
    hour timestamptz NOT NULL,
    event_count bigint NOT NULL,
    sum numeric NOT NULL,
    minimum numeric,
    maximum numeric,
    latest numeric,
    latest_at timestamptz,
    latest_ordinal bigint,
    PRIMARY KEY (${TOTAL}, hour),
    FOREIGN KEY (${TOTAL}) REFERENCES usage_rollups (${TOTAL}) ON DELETE CASCADE
  `,
  ),
]

/** What is left of months whose events were dropped. All of it applies before `usage_retention.dropped_until`: from there on, the events are there. */
const droppedMonths: ReadonlyArray<string> = [
  // By day in UTC, of each total. `at_start` has the events at the first instant of the day, which a check as of midnight counts. `counted`
  // and what follows it are those of the events since the newest `set` of the row, or of all.
  ...table(
    "usage_days",
    "The sums of a day of a total whose events were dropped. Grows by up to two rows for each day with usage of a total, when its month is dropped.",
    `${totalColumns},
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
    PRIMARY KEY (${TOTAL}, day, at_start)
  `,
  ),
  // By meter, because a bucket can touch several periods.
  ...table(
    "usage_key_buckets",
    "How many distinct keys a UNIQUE_COUNT had in a day or a month whose events were dropped. Grows when a month is dropped.",
    `
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    size text NOT NULL CHECK (size IN ('DAY', 'MONTH')),
    start timestamptz NOT NULL,
    keys bigint NOT NULL,
    event_count bigint NOT NULL,
    PRIMARY KEY (organization_id, instance_id, entitlement_id, size, start)
  `,
  ),
  ...table(
    "usage_retention",
    "Until when events of usage were dropped, in one row.",
    `
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    dropped_until timestamptz
  `,
  ),
  `INSERT INTO usage_retention DEFAULT VALUES`,
  ...table(
    "usage_drops",
    "The partition that is being summed before it is dropped, and up to which instance. At most one row.",
    `
    partition text PRIMARY KEY,
    until timestamptz NOT NULL,
    after_organization uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    after_instance uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    is_summed boolean NOT NULL DEFAULT false
  `,
  ),
  ...table(
    "usage_drop_changes",
    "A total whose events changed while their partition is being summed. Grows with such changes; empty when the partition is dropped.",
    `${totalColumns},
    PRIMARY KEY (${TOTAL})
  `,
  ),
  // The partition that is being summed gets a trigger with this function.
  `CREATE FUNCTION usage_event_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO usage_drop_changes (organization_id, instance_id, entitlement_id, period_start)
    SELECT changed.organization_id, changed.instance_id, changed.entitlement_id, changed.period_start
    FROM (SELECT (CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END).*) AS changed
    -- Locks a change that is noted already, so that summing it waits for this one.
    ON CONFLICT (organization_id, instance_id, entitlement_id, period_start) DO UPDATE SET period_start = excluded.period_start;
    RETURN NULL;
  END $$`,
]

/** Usage: totals, events, reservations, leases, history, and what sites without a connection may use. */
export const usage: ReadonlyArray<string> = [
  ...totals,
  ...events,
  ...recognition,
  ...history,
  ...droppedMonths,
  ...usageHeld,
]
