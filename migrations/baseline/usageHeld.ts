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
  // `decided_at` is the latest instant of a decision, so that a node whose clock is behind renews no lease whose seat another node has
  // given away. `most_held` is at least the number of live leases.
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
  // No index has a column that a renewal changes, and pages have room, so that renewals leave no dead rows behind (HOT).
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
    "What an offline bundle reserves of an entitlement for its site. Grows with each bundle that has allowances; deleted some time after the site can report no more usage.",
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

/** What is held of a period. Statements call these functions where their parts would cost those that hold nothing. */
const heldFunctions: ReadonlyArray<string> = [
  // What the allowances of an instance still reserve of the period from `begins` to `ends`, at an instant: the greatest of those that are
  // open then, without what ledgers have brought already.
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
  // What reservations and allowances hold. A volatile function, because the statement that takes the lock also calls it, after the lock. It
  // therefore sees what other transactions committed during the wait for the lock.
  `CREATE FUNCTION usage_held(
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
  // What both hold of several entitlements, for the statement of batched checks. A function, because its parts would cost every check of
  // that statement, also of instances without allowances.
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
]

/** What is held of usage: by reservations, by seats, and by sites without a connection. */
export const usageHeld: ReadonlyArray<string> = [...reservations, ...leases, ...allowances, ...heldFunctions]
