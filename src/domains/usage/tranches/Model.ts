/** Tranches: what the holders of ledgers may spend without a request. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { Timestamp, TimestampInput } from "../../../kernel/values/Timestamp.ts"
import { CheckReason } from "../check/Model.ts"
import { LEDGER_SOURCE } from "../cloudevents/Model.ts"

/** How long a holder may spend after a refill: longer than most outages of a network. */
export const SPEND_SECONDS = 3_600

const holder = `${LEDGER_SOURCE}0198c2b5-0000-7000-8000-000000000001`

/** An amount as a decimal text, so that no reader rounds it. */
const Units = Schema.String.check(Schema.isPattern(/^\d{1,18}(\.\d{1,18})?$/, { expected: "a decimal of 18 digits" }))

const entitlement = Schema.String.annotate({ description: "Slug of the entitlement" })
const unspent = Schema.String.annotate({ description: "What the holder may still spend; a decimal" })
const spendUntil = Timestamp.annotate({ description: "From then on the holder may spend nothing" })
const heldUntil = Timestamp.annotate({ description: "Until then others leave room for it" })

/** A tranche that a refill asks for. */
export const TrancheRequest = Schema.Struct({
  entitlement,
  periodStart: Schema.optionalKey(TimestampInput).annotate({
    description:
      "The present period, which is the default; the next one, from 60 seconds before it begins; or the last one, until 10 seconds after its end",
  }),
  keep: Schema.optionalKey(Units).annotate({
    description: "How much the holder still has. The rest is given back; default 0",
  }),
  need: Schema.optionalKey(Units).annotate({
    description: "How much the holder needs now, `keep` included: all of it or nothing is granted; default 0",
  }),
  want: Schema.optionalKey(Units).annotate({
    description: "How much it would like to have, `keep` included: a part of what is free is granted; default 0",
  }),
}).annotate(component("TrancheRequest", { entitlement: "exports", keep: "12", need: "15", want: "100" }))
export type TrancheRequest = typeof TrancheRequest.Type

/** A tranche after a refill. */
export const RefilledTranche = Schema.Struct({
  entitlement,
  periodStart: Timestamp,
  unspent,
  satisfied: Schema.Boolean.annotate({ description: "Whether the holder may spend what it needs" }),
  reason: CheckReason.annotate({ description: "The reason that a check of what was missing has" }),
  spendUntil,
  heldUntil,
}).annotate(
  component("RefilledTranche", { entitlement: "exports", unspent: "100", satisfied: true, reason: "GRANTED" }),
)
export type RefilledTranche = typeof RefilledTranche.Type

/** A tranche as it is stored. */
export const Tranche = Schema.Struct({
  holder: Schema.String.annotate({ description: "The source of its ledger" }),
  entitlement,
  periodStart: Timestamp,
  unspent,
  spendUntil,
  heldUntil,
  lines: Schema.Int.annotate({ description: "How many lines of the ledger are stored" }),
  updatedAt: Timestamp.annotate({ description: "When it was refilled" }),
}).annotate(component("Tranche", { holder, entitlement: "exports", unspent: "100", lines: 9 }))
export type Tranche = typeof Tranche.Type

/** A tranche whose hold has not ended. */
export const StoredTranche = Schema.Struct({
  ledger: Schema.String,
  entitlementId: Schema.String,
  entitlement: Schema.String,
  periodStart: Schema.Date,
  /** A decimal. */
  quantity: Schema.String,
  spendUntil: Schema.Date,
  expiresAt: Schema.Date,
})
export type StoredTranche = typeof StoredTranche.Type

/** A tranche to store: what its holder may spend from now on. */
export interface TrancheChange {
  readonly id: string
  readonly entitlementId: string
  readonly periodStart: Date
  /** A decimal. */
  readonly quantity: string
  /** As of when it is refilled. */
  readonly createdAt: Date
  readonly spendUntil: Date
  readonly expiresAt: Date
  /** When its holder gave it back by closing its ledger. */
  readonly endedAt: Date | null
}

/** A stored tranche, with how many other ledgers may spend of its total. */
export type SharedTranche = StoredTranche & { readonly others: number }
