import { table } from "../statements.ts"
import { toEntitlement, toInstance, toTotal, TOTAL, totalColumns } from "./usageKeys.ts"

const reservations: ReadonlyArray<string> = [
  // A reservation refers to the total of the period in which it was created. It counts in each period that its lifetime overlaps.
  ...table(
    "usage_reservations",
    "A quantity that is reserved until commit, release or expiry. Grows with each reservation; ended ones are deleted by the sweeper.",
    `
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
    ${toTotal},
    CHECK ((state = 'HELD') = (ended_at IS NULL)),
    CHECK ((state = 'COMMITTED') = (committed_quantity IS NOT NULL))
  `,
    "WITH (autovacuum_vacuum_scale_factor = 0.02)",
  ),
  // Active reservations are at the end of this index, so expired ones are never read.
  `CREATE INDEX usage_reservations_held
    ON usage_reservations (organization_id, instance_id, entitlement_id, expires_at)
    INCLUDE (created_at, quantity) WHERE state = 'HELD'`,
  `CREATE INDEX usage_reservations_total ON usage_reservations (${TOTAL})`,
  // For the sweeper. It is not by expiry, so that no query plan prefers it to the index above.
  `CREATE INDEX usage_reservations_age ON usage_reservations (created_at)`,
]

const leases: ReadonlyArray<string> = [
  // `decided_at` is the latest instant of a decision, so that a node whose clock is behind renews no lease whose seat
  // another node has assigned since. `most_held` is at least the number of live leases.
  ...table(
    "usage_seats",
    "The seats of an entitlement in an instance: the lock of its leases. Grows by a row for each instance and entitlement that is leased.",
    `
    organization_id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    decided_at timestamptz NOT NULL,
    most_held double precision NOT NULL,
    PRIMARY KEY (organization_id, instance_id, entitlement_id),
    ${toInstance},
    ${toEntitlement}
  `,
    "WITH (fillfactor = 20)",
  ),
  `CREATE INDEX usage_seats_entitlement ON usage_seats (organization_id, entitlement_id)`,
  // No index has a column that a renewal changes, and pages have room, so that renewals add no index entries (HOT).
  // `sweep_after` is the end of the day on which the lease ends: it changes once a day.
  ...table(
    "usage_leases",
    "A holder that uses an entitlement for a time. Grows with each holder; a lease that ended is deleted within a day, or used again by its holder.",
    `
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
  `,
    "WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)",
  ),
  `CREATE INDEX usage_leases_newest ON usage_leases (organization_id, instance_id, entitlement_id, id)`,
  `CREATE INDEX usage_leases_sweep ON usage_leases (sweep_after)`,
]

const allowances: ReadonlyArray<string> = [
  ...table(
    "offline_allowances",
    "What an offline bundle reserves of an entitlement for its site. Grows with each bundle that has allowances; deleted some time after the site can no longer report usage.",
    `
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
    ${toInstance},
    ${toEntitlement}
  `,
  ),
  `CREATE INDEX offline_allowances_entitlement ON offline_allowances (organization_id, entitlement_id)`,
  `CREATE INDEX offline_allowances_sweep ON offline_allowances (open_until)`,
  ...table(
    "offline_period_usage",
    "How much usage the ledgers of a site have brought of a total. Grows by a row for each such total.",
    `${totalColumns},
    quantity numeric NOT NULL,
    PRIMARY KEY (${TOTAL}),
    ${toTotal}
  `,
  ),
]

/** What reservations, seats and sites without a connection reserve of usage. */
export const usageHeld: ReadonlyArray<string> = [...reservations, ...leases, ...allowances]
