import { statements } from "./statements.ts"

// Seats: how many holders use an entitlement at one time. A lease ends by time; its row stays until it is removed or its holder
// acquires again.
export default statements(
  // The lock of the leases of an instance and an entitlement. `decided_at` is the latest instant of a decision, so that a node
  // whose clock is behind renews no lease whose seat another node has given away. `most_held` is at least the number of live leases.
  `CREATE TABLE usage_seats (
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    decided_at timestamptz NOT NULL,
    most_held double precision NOT NULL,
    PRIMARY KEY (organization_id, instance_id, entitlement_id),
    FOREIGN KEY (organization_id, instance_id) REFERENCES instances (organization_id, id) ON DELETE CASCADE,
    FOREIGN KEY (organization_id, entitlement_id) REFERENCES entitlements (organization_id, id) ON DELETE CASCADE
  ) WITH (fillfactor = 20)`,
  `CREATE INDEX usage_seats_entitlement ON usage_seats (organization_id, entitlement_id)`,
  // No index has a column that a renewal changes, and pages have room, so that renewals leave no dead rows behind (HOT).
  // `sweep_after` is the end of the day on which the lease ends: it changes once a day.
  `CREATE TABLE usage_leases (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    holder text NOT NULL,
    acquired_at timestamptz NOT NULL,
    renewed_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    sweep_after timestamptz NOT NULL,
    metadata jsonb,
    PRIMARY KEY (organization_id, id),
    CONSTRAINT usage_leases_holder UNIQUE (organization_id, instance_id, entitlement_id, holder),
    FOREIGN KEY (organization_id, instance_id, entitlement_id)
      REFERENCES usage_seats (organization_id, instance_id, entitlement_id) ON DELETE CASCADE
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)`,
  `CREATE INDEX usage_leases_newest ON usage_leases (organization_id, instance_id, entitlement_id, id)`,
  `CREATE INDEX usage_leases_sweep ON usage_leases (sweep_after)`,
)
