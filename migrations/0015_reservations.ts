import { statements } from "./statements.ts"

export default statements(
  // The latest instant by which something was decided on a total. An expired reservation, once its quantity may have been
  // given to others, cannot be committed by a node whose clock is behind.
  `ALTER TABLE usage_totals ADD COLUMN decided_at timestamptz`,
  // Quantities that are kept for someone until they are committed, released or expired. A reservation hangs on the total
  // of the period that it was made in; it counts in every period that its lifetime touches.
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
  // What is held now is the end of this index: however many expired before, they are not read.
  `CREATE INDEX usage_reservations_held
    ON usage_reservations (organization_id, instance_id, entitlement_id, expires_at)
    INCLUDE (created_at, quantity) WHERE state = 'HELD'`,
  `CREATE INDEX usage_reservations_total
    ON usage_reservations (organization_id, instance_id, entitlement_id, period_start)`,
  // For the sweeper. Not by expiry, so that no plan reads it in place of the index above.
  `CREATE INDEX usage_reservations_age ON usage_reservations (created_at)`,
  // A function, because it is asked behind a lock in the statement that takes the lock: being volatile, it sees what
  // committed while the lock was waited for.
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
