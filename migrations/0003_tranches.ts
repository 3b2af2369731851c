import type { Impact } from "./impact.ts"
import { statements } from "./statements.ts"

/**
 * Tranches: what the service sets aside for a product that spends units without a request. One is a reservation of a ledger, for one
 * period, so nodes of the release before leave room for it. They take it as held in the next period too.
 */
export default statements(
  `ALTER TABLE usage_reservations ADD COLUMN ledger text`,
  `ALTER TABLE usage_reservations ADD COLUMN spend_until timestamptz`,
  // What is set aside can be spent, and is refilled later: a tranche of 0 stays a tranche.
  `ALTER TABLE usage_reservations DROP CONSTRAINT usage_reservations_quantity_check`,
  `ALTER TABLE usage_reservations ADD CONSTRAINT usage_reservations_quantity
    CHECK (quantity > 0 OR (quantity = 0 AND ledger IS NOT NULL))`,
  `ALTER TABLE usage_reservations ADD CONSTRAINT usage_reservations_spend_until
    CHECK ((ledger IS NULL) = (spend_until IS NULL))`,
  `CREATE UNIQUE INDEX usage_reservations_ledger
    ON usage_reservations (organization_id, instance_id, ledger, entitlement_id, period_start) WHERE ledger IS NOT NULL`,
)

export const impact: Impact = {
  locks: [{ table: "usage_reservations", mode: "ACCESS EXCLUSIVE" }],
  reads: ["usage_reservations"],
  millisecondsPerMillionRows: 800,
  until:
    "Nothing has to wait. Processes of the version before leave room for tranches in the next period too: they allow less for a day at most, never more.",
}
