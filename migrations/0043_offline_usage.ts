import { statements } from "./statements.ts"

// What offline bundles reserve, and what sites bring back. `instances.allowances_until` is the latest `open_until` of an
// instance's allowances: a check reads allowances only of instances that have one. `offline_period_usage` is how much
// ledgers have brought of a period. `lines` and `head` of a ledger are the number and the hash of its last line,
// `bundle_sequence` is the newest bundle that a line has named, and `until` when the last bundle ends its uploads.
// `forked_line` and `forked_hash` are the line that did not follow, so that its event is emitted once.
// `offline_held` is what the allowances of an instance still reserve of the period from `begins` to `ends`, at an instant: the
// greatest of those that are open then, without what ledgers have brought already. The function `usage_held` of migration 15
// adds it, so that nodes of the release before respect allowances too.
export default statements(
  `ALTER TABLE instances ADD COLUMN allowances_until timestamptz`,
  `CREATE TABLE offline_allowances (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    bundle_id uuid NOT NULL,
    sequence integer NOT NULL,
    quantity numeric NOT NULL CHECK (quantity > 0),
    valid_from timestamptz NOT NULL,
    valid_until timestamptz NOT NULL,
    open_until timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (organization_id, instance_id, entitlement_id, bundle_id),
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, entitlement_id) REFERENCES entitlements (organization_id, id) ON DELETE CASCADE
  )`,
  `CREATE INDEX offline_allowances_entitlement ON offline_allowances (organization_id, entitlement_id)`,
  `CREATE INDEX offline_allowances_sweep ON offline_allowances (open_until)`,
  `CREATE TABLE offline_period_usage (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    period_start timestamptz NOT NULL,
    quantity numeric NOT NULL,
    PRIMARY KEY (organization_id, instance_id, entitlement_id, period_start),
    FOREIGN KEY (organization_id, instance_id, entitlement_id, period_start)
      REFERENCES usage_totals (organization_id, instance_id, entitlement_id, period_start) ON DELETE CASCADE
  )`,
  `CREATE TABLE offline_ledgers (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    source text NOT NULL,
    lines bigint NOT NULL,
    head text NOT NULL,
    bundle_sequence integer,
    until timestamptz NOT NULL,
    closed_at timestamptz,
    forked_at timestamptz,
    forked_line bigint,
    forked_hash text,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, instance_id, source),
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE
  )`,
  `CREATE INDEX offline_ledgers_sweep ON offline_ledgers (until)`,
  `CREATE FUNCTION offline_held(
    organization uuid, instance uuid, entitlement uuid, begins timestamptz, ends timestamptz, at timestamptz
  ) RETURNS numeric LANGUAGE plpgsql STABLE AS $$
  DECLARE
    allowed numeric;
  BEGIN
    SELECT max(quantity) INTO allowed FROM offline_allowances
    WHERE organization_id = organization AND instance_id = instance AND entitlement_id = entitlement
      AND valid_until > begins AND valid_from < coalesce(ends, 'infinity') AND open_until > greatest(at, begins)
      AND (ended_at IS NULL OR ended_at > at);
    IF allowed IS NULL THEN
      RETURN 0;
    END IF;
    RETURN greatest(0, allowed - coalesce((
      SELECT quantity FROM offline_period_usage
      WHERE organization_id = organization AND instance_id = instance AND entitlement_id = entitlement
        AND period_start = begins
    ), 0));
  END $$`,
  `CREATE OR REPLACE FUNCTION usage_held(
    organization uuid, instance uuid, entitlement uuid, begins timestamptz, ends timestamptz, at timestamptz
  ) RETURNS numeric LANGUAGE plpgsql VOLATILE AS $$
  BEGIN
    RETURN offline_held(organization, instance, entitlement, begins, ends, at) + (
      SELECT coalesce(sum(quantity), 0) FROM usage_reservations
      WHERE organization_id = organization AND instance_id = instance AND entitlement_id = entitlement
        AND state = 'HELD' AND expires_at > greatest(at, begins)
        AND created_at < coalesce(ends, 'infinity')
    );
  END $$`,
  // What reservations and allowances hold of several entitlements, for the statement of batched checks. A function, because its
  // parts would cost every check of that statement, also of instances without allowances.
  `CREATE FUNCTION held_with_allowances(
    organization uuid, instance uuid, entitlements uuid[], begins timestamptz, at timestamptz, known timestamptz
  ) RETURNS text LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN ARRAY(
      SELECT offline_held(organization, instance, wanted.id, begins, NULL, at) + coalesce((
        SELECT sum(quantity) FROM usage_reservations
        WHERE organization_id = organization AND instance_id = instance AND entitlement_id = wanted.id
          AND state = 'HELD' AND expires_at > at AND expires_at <= at + interval '25 hours' AND created_at <= known
      ), 0)
      FROM unnest(entitlements) AS wanted (id)
    )::text;
  END $$`,
)
