/** Ledgers: the usage that sites without a network recorded. */
import { Schema } from "effect"
import { component } from "../../../kernel/contract/Component.ts"
import { Timestamp } from "../../../kernel/values/Timestamp.ts"
import { LEDGER_SOURCE, rejectionFields, UsageEventStatus } from "../../usage/cloudevents/Model.ts"
import { OverAllowance } from "../../usage/siteusage/Model.ts"

export const MAX_LINES = 1_000

/** The source of a ledger. */
export const Source = Schema.String.check(
  Schema.isPattern(new RegExp(`^${LEDGER_SOURCE}[0-9a-f-]{36}$`), { expected: "urn:keyshelf:ledger:<uuid>" }),
)

export const exampleSource = `${LEDGER_SOURCE}0198c2b5-0000-7000-8000-000000000001`

/** An upload with the first line of a ledger. */
export const exampleUpload = {
  source: exampleSource,
  lines: [
    `{"specversion":"1.0","id":"1","source":"${exampleSource}","subject":"globex-production","type":"api-calls","time":"2026-01-12T08:00:00.000Z","bundleid":"0198c2b1-1111-7000-8000-000000000007","prevhash":"oyCPlHha3Lg-LBgTuJCadV7LcJ0OqzTqKfir02JUIvQ","data":{"value":25}}`,
  ],
  close: false,
}

export const exampleHead = "T0E1dYCvgZifqNaCUmrGQZsNwIY0HBOkYrMdLLAJegU"

/** Body of `POST /instances/{instanceSlug}/offline-usage`. */
export const UploadOfflineUsage = Schema.Struct({
  source: Source.annotate({ description: "The source of the ledger, `urn:keyshelf:ledger:<uuid>`" }),
  lines: Schema.Array(Schema.String).check(Schema.isMinLength(1), Schema.isMaxLength(MAX_LINES)).annotate({
    description: "Lines of the ledger in their order, each exactly as it was written: a CloudEvent as JSON",
  }),
  close: Schema.optionalKey(
    Schema.Boolean.annotate({
      description:
        "Whether this was the last upload of the ledger: it takes no more lines, and the allowances of the bundles that it names, and of all before them, end",
    }),
  ),
}).annotate(component("UploadOfflineUsage"))
export type UploadOfflineUsage = typeof UploadOfflineUsage.Type

/** The position of a ledger. */
export const position = {
  lines: Schema.Int.annotate({ description: "How many lines of the ledger are stored" }),
  head: Schema.String.annotate({
    description: "The hash of the last stored line, base64url of SHA-256; of the source if there is none",
  }),
}

/** What became of a line. */
export const LineResult = Schema.Struct({
  index: Schema.Int,
  id: Schema.String.annotate({ description: "The number of the line" }),
  status: UsageEventStatus,
  ...rejectionFields,
}).annotate(component("OfflineUsageResult", { index: 0, id: "1" }))

/** Usage above allowances, as responses and events show it. */
const overAllowance = Schema.Array(OverAllowance).annotate({
  description: "What ledgers brought above the allowances, in the periods of these lines",
})

/** The response to an upload. */
export const OfflineUsageUpload = Schema.Struct({
  source: Schema.String,
  accepted: Schema.Int.annotate({ description: "How many lines are counted now" }),
  duplicates: Schema.Int.annotate({ description: "How many lines were stored before" }),
  ...position,
  closed: Schema.Boolean,
  overAllowance,
  results: Schema.Array(LineResult).annotate({ description: "The result of each line, in the order of the request" }),
}).annotate(
  component("OfflineUsageUpload", {
    source: exampleSource,
    accepted: 1,
    duplicates: 0,
    lines: 1,
    head: exampleHead,
    closed: false,
    overAllowance: [],
  }),
)
export type OfflineUsageUpload = typeof OfflineUsageUpload.Type

/** A ledger as it is stored. */
export const OfflineLedger = Schema.Struct({
  instance: Schema.String.annotate({ description: "Slug of the instance" }),
  source: Schema.String,
  ...position,
  closedAt: Schema.NullOr(Timestamp).annotate({ description: "When it was closed: it takes no more lines" }),
  forkedAt: Schema.NullOr(Timestamp).annotate({
    description: "When a line last did not follow from the one before: a second copy of the ledger exists",
  }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
}).annotate(
  component("OfflineLedger", {
    instance: "globex-production",
    source: exampleSource,
    lines: 1,
    head: exampleHead,
    closedAt: null,
    forkedAt: null,
  }),
)
export type OfflineLedger = typeof OfflineLedger.Type

/** The payload of the event of an upload. */
export const uploadFields = {
  accepted: Schema.Int,
  rejected: Schema.Int.annotate({ description: "How many new lines cannot count" }),
  overAllowance,
}
