import { statements } from "./statements.ts"

export default statements(
  // The latest time at which a decision on the total was made. It stops a node whose clock is behind from committing an
  // expired reservation whose quantity may already be used elsewhere.
  `ALTER TABLE usage_totals ADD COLUMN decided_at timestamptz`,
  // Quantities that are reserved until commit, release or expiry. A reservation refers to the total of the period in
  // which it was created. It counts in each period that its lifetime overlaps.
  `CREATE TABLE usage_reservations (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    period_start timestamptz NOT NULL,
    quantity numeric NOT NULL CHECK (quantity > 0),
    state text NOT NULL CHECK (state IN ('HELD', 'COMMITTED', 'RELEASED')),
    committed_quantity numeric CHECK (committed_quantity <= quantity),
    metadata jsonb,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    ended_by jsonb,
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, instance_id, entitlement_id, period_start)
      REFERENCES usage_totals (organization_id, instance_id, entitlement_id, period_start) ON DELETE CASCADE,
    CHECK ((state = 'HELD') = (ended_at IS NULL)),
    CHECK ((state = 'COMMITTED') = (committed_quantity IS NOT NULL))
  ) WITH (autovacuum_vacuum_scale_factor = 0.02)`,
  // Active reservations are at the end of this index, so expired ones are never read.
  `CREATE INDEX usage_reservations_held
    ON usage_reservations (organization_id, instance_id, entitlement_id, expires_at)
    INCLUDE (created_at, quantity) WHERE state = 'HELD'`,
  `CREATE INDEX usage_reservations_total
    ON usage_reservations (organization_id, instance_id, entitlement_id, period_start)`,
  // For the sweeper. It is not by expiry, so that no query plan prefers it to the index above.
  `CREATE INDEX usage_reservations_age ON usage_reservations (created_at)`,
  // A volatile function, because the statement that takes the lock also calls it, after the lock. It therefore sees
  // what other transactions committed during the wait for the lock.
  `CREATE FUNCTION usage_held(
    organization uuid, instance uuid, entitlement uuid, begins timestamptz, ends timestamptz, at timestamptz
  ) RETURNS numeric LANGUAGE plpgsql VOLATILE AS $$
  BEGIN
    RETURN (
      SELECT coalesce(sum(quantity), 0) FROM usage_reservations
      WHERE organization_id = organization AND instance_id = instance AND entitlement_id = entitlement
        AND state = 'HELD' AND expires_at > greatest(at, begins)
        AND created_at < coalesce(ends, 'infinity')
    );
  END $$`,
)
