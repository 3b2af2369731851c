/** Refills: lines that a product brings, and the tranches that it asks for. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { RefilledTranche, TrancheRequest } from "../../usage/tranches/Model.ts"
import { exampleHead, exampleSource, LineResult, MAX_LINES, position, Source } from "../ledgers/Model.ts"

const MAX_TRANCHES = 100

/** A refill without lines. */
export const exampleRefill = {
  source: exampleSource,
  lines: [],
  tranches: [{ entitlement: "exports", keep: "12", need: "15", want: "100" }],
}

/** Body of `POST /instances/{instanceSlug}/tranches`. */
export const RefillTranches = Schema.Struct({
  source: Source.annotate({ description: "The source of the holder's ledger, `urn:keyshelf:ledger:<uuid>`" }),
  lines: Schema.optionalKey(Schema.Array(Schema.String).check(Schema.isMaxLength(MAX_LINES))).annotate({
    description:
      "What was spent: lines of the ledger in their order, each exactly as it was written: a CloudEvent as JSON, whose `bundleid` may be that of any snapshot",
  }),
  tranches: Schema.optionalKey(Schema.Array(TrancheRequest).check(Schema.isMaxLength(MAX_TRANCHES))).annotate({
    description: "What the holder asks for, each entitlement and period once",
  }),
  close: Schema.optionalKey(Schema.Boolean).annotate({
    description: "Whether this is the last refill: all is given back, and the ledger takes no more lines",
  }),
}).annotate(component("RefillTranches"))
export type RefillTranches = typeof RefillTranches.Type

/** The response to a refill. */
export const RefilledTranches = Schema.Struct({
  source: Schema.String,
  accepted: Schema.Int.annotate({ description: "How many lines are counted now" }),
  duplicates: Schema.Int.annotate({ description: "How many lines were stored before" }),
  ...position,
  closed: Schema.Boolean,
  results: Schema.Array(LineResult).annotate({ description: "The result of each line, in the order of the request" }),
  tranches: Schema.Array(RefilledTranche).annotate({ description: "In the order of the request" }),
  snapshot: Schema.String.annotate({
    description: "The snapshot of the instance, with all that the holder may spend after these lines as `tranche`",
  }),
  etag: Schema.String.annotate({ description: "The `ETag` of the snapshot" }),
}).annotate(
  component("RefilledTranches", {
    source: exampleSource,
    accepted: 1,
    duplicates: 0,
    lines: 1,
    head: exampleHead,
    closed: false,
    snapshot: "eyJ0eXAiOiJrZXlzaGVsZi1idW5kbGUrand0...",
    etag: '"q2bWYz0J3w.1768046400"',
  }),
)
export type RefilledTranches = typeof RefilledTranches.Type
