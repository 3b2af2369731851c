import type { Impact, TableLock } from "./impact.ts"
import { statements, table } from "./statements.ts"

const KEY = "organization_id, instance_id, entitlement_id, period_start, ordinal"

/**
 * Credits: amounts that an instance can use once, after its limit. Nodes of the release before neither read nor write any of this, so
 * credits are sold only when all nodes run this release.
 */
export default statements(
  // `holder_id` is the instance. It has no foreign key, so that other holders can have credits; the deletion of an instance deletes them.
  // Each burn updates `used`: free space on the page keeps the new tuple there (HOT), so only what uses up a credit changes an index.
  ...table(
    "credits",
    "An amount that its holder can use once of an entitlement, in [starts_at, expires_at). Grows with each credit.",
    `
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    holder_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    amount numeric NOT NULL CHECK (amount > 0),
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 100),
    starts_at timestamptz NOT NULL,
    expires_at timestamptz CHECK (expires_at > starts_at),
    reason text,
    external_id text,
    used numeric NOT NULL DEFAULT 0,
    is_spent boolean NOT NULL DEFAULT false,
    dropped_used numeric NOT NULL DEFAULT 0,
    dropped_until timestamptz,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    voided_at timestamptz,
    voided_by jsonb,
    expiry_emitted boolean NOT NULL DEFAULT false,
    PRIMARY KEY (organization_id, id),
    FOREIGN KEY (organization_id, entitlement_id) REFERENCES entitlements (organization_id, id),
    CONSTRAINT credits_used CHECK (used BETWEEN 0 AND amount),
    CONSTRAINT credits_spent CHECK (is_spent = (used = amount))
  `,
    "WITH (fillfactor = 70)",
  ),
  // What can pay: few rows, however many were bought before.
  `CREATE INDEX credits_open ON credits (organization_id, holder_id, entitlement_id) WHERE NOT is_spent AND voided_at IS NULL`,
  // One that is used up still grants until it expires.
  `CREATE INDEX credits_granting ON credits (organization_id, holder_id, entitlement_id, (coalesce(expires_at, 'infinity'::timestamptz)))
    WHERE is_spent AND voided_at IS NULL`,
  `CREATE INDEX credits_newest ON credits (organization_id, holder_id, entitlement_id, id)`,
  `CREATE INDEX credits_entitlement ON credits (organization_id, entitlement_id)`,
  `CREATE UNIQUE INDEX credits_external_id ON credits (organization_id, external_id) WHERE external_id IS NOT NULL`,
  `CREATE INDEX credits_expiry ON credits (expires_at) WHERE NOT expiry_emitted AND expires_at IS NOT NULL`,
  // Which credits have uses in months whose events were dropped, after the drop.
  `CREATE INDEX credits_dropped ON credits ((coalesce(dropped_until, '-infinity'::timestamptz)), organization_id, id)`,
  // A negative quantity returns a part of the use `of_use`, at the timestamp of the correction. Rows of voided events, and returns of them, have
  // `voided_at`: the others add up to `used` of their credit, and to `burned` of their total.
  ...table(
    "credit_uses",
    "What a credit paid of an event of usage, or what was returned to it. Grows with each event that burns or returns.",
    `
    organization_id uuid NOT NULL,
    credit_id uuid NOT NULL,
    at timestamptz NOT NULL,
    id uuid NOT NULL,
    instance_id uuid NOT NULL,
    entitlement_id uuid NOT NULL,
    period_start timestamptz NOT NULL,
    ordinal bigint NOT NULL,
    quantity numeric NOT NULL CHECK (quantity <> 0),
    of_use uuid,
    voided_at timestamptz,
    PRIMARY KEY (organization_id, credit_id, at, id),
    FOREIGN KEY (organization_id, credit_id) REFERENCES credits (organization_id, id) ON DELETE CASCADE,
    CHECK ((of_use IS NULL) = (quantity > 0))
  `,
  ),
  `CREATE INDEX credit_uses_event ON credit_uses (${KEY})`,
  `ALTER TABLE usage_totals ADD COLUMN burned numeric NOT NULL DEFAULT 0`,
  // `credits`: what is set aside of each, as [{"credit", "quantity"}] with decimal texts; `from_credits` is their sum. The rest of the
  // quantity is held of the limit.
  `ALTER TABLE usage_reservations ADD COLUMN from_credits numeric NOT NULL DEFAULT 0`,
  `ALTER TABLE usage_reservations ADD COLUMN credits jsonb`,
  `ALTER TABLE usage_reservations ADD CONSTRAINT usage_reservations_from_credits
    CHECK (from_credits BETWEEN 0 AND quantity AND (from_credits = 0) = (credits IS NULL))`,
  `DROP INDEX usage_reservations_held`,
  `CREATE INDEX usage_reservations_held
    ON usage_reservations (organization_id, instance_id, entitlement_id, expires_at)
    INCLUDE (created_at, quantity, from_credits) WHERE state = 'HELD'`,
)

export const impact: Impact = {
  locks: [
    ...["usage_totals", "usage_reservations"].map((table): TableLock => ({ table, mode: "ACCESS EXCLUSIVE" })),
    // The foreign key of the new table.
    { table: "entitlements", mode: "SHARE ROW EXCLUSIVE" },
  ],
  reads: ["usage_reservations"],
  millisecondsPerMillionRows: 1_500,
  until: "Sell no credit: processes of the version before do not know them.",
}
