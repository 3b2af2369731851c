/** Schemas of the event log. */
import { Effect, Schema, SchemaGetter, SchemaIssue } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { component } from "../../kernel/contract/Component.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

/** A number of events of a log, as a query parameter. */
export const LogSize = Schema.String.annotate({ format: "int64" }).pipe(
  Schema.decodeTo(Schema.Int, {
    decode: SchemaGetter.transformEffect((text: string) =>
      /^(0|[1-9]\d{0,14})$/.test(text)
        ? Effect.succeed(Number(text))
        : Effect.fail(new SchemaIssue.InvalidValue({ message: "must be a whole number of events" })),
    ),
    encode: SchemaGetter.transform(String),
  }),
)

const CHECKPOINT = `keyshelf/0198c2b0-0a11-7d52-8a39-2f6c1e8a7054
11
jC5bU/GNPgFgVSaksZ0APkfC41pB4TI8dXW5LYhlCEY=

— keyshelf/0198c2b0-0a11-7d52-8a39-2f6c1e8a7054 RN3dcf+qm4ow66B9oYabDcx5MjtRSR3evI9Q59aOSwXmGzGTxpKGRnrAW6nuYDc7V6mzqhxDYuWnfJmoy1ULfghatgY=
`

const plain = HttpApiSchema.asText({ contentType: "text/plain" })

/** A signed checkpoint, as text. */
export const EventCheckpoint = Schema.String.annotate(component("EventCheckpoint", CHECKPOINT)).pipe(plain)

/** A proof that an event is in the log, as text. */
export const EventProof = Schema.String.annotate(
  component(
    "EventProof",
    `c2sp.org/tlog-proof@v1
index 10
cXJw7ImsNiaCIsQI5K2p268+W6SMbPwWdyNVTjmIofA=
MSGKY0ZzPjXsFsanx/zErNsUMEfRwuixER48sVXhg8M=

${CHECKPOINT}`,
  ),
).pipe(plain)

/** A proof that a log only grew between two sizes. */
export const EventConsistency = Schema.Struct({
  from: Schema.Int.annotate({ description: "The smaller size" }),
  to: Schema.Int.annotate({ description: "The larger size" }),
  hashes: Schema.Array(Schema.String).annotate({ description: "The consistency proof of RFC 6962, hashes in base64" }),
}).annotate(
  component("EventConsistency", {
    from: 7,
    to: 11,
    hashes: ["GHJRLy52BDoOSHORtUDX79fEdplh86DQONvCIMwg6Ck=", "VV0rqN1BWO2rGVhHBzDwVHDEgihAIZVpWE9n2c2Sx60="],
  }),
)
export type EventConsistency = typeof EventConsistency.Type

/** What retention deleted from an event log. */
export const PrunedEvents = Schema.Struct({
  upTo: Schema.Int.annotate({
    description: "The position of the last event that was deleted; all before it are deleted too",
  }),
  before: Timestamp.annotate({ description: "All of them occurred before this start of a day in UTC" }),
  count: Schema.Int.annotate({ description: "How many events this deletion removed" }),
  note: Schema.String.annotate({ description: "Signed note of `upTo` and `before`" }),
}).annotate(
  component("PrunedEvents", {
    upTo: 4,
    before: "2026-01-01T00:00:00.000Z",
    count: 4,
    note: "keyshelf/0198c2b0-0a11-7d52-8a39-2f6c1e8a7054/pruned\n4\n2026-01-01T00:00:00.000Z\n\n— keyshelf/0198c2b0-0a11-7d52-8a39-2f6c1e8a7054/pruned /5J2rPxwhzvzcbGCEOz/mSy9UXJTZwnC1827tIqKico22/I95lKSZd0E2AbR9StZWOgnWUXDWofB3aeuJxC6R4R9Fw0=\n",
  }),
)

/** The beginning of a new event log. */
export const RestartedLog = Schema.Struct({
  log: Schema.Int.annotate({
    description: "The number of the log that begins. Its checkpoints name it after the origin",
  }),
  note: Schema.NullOr(Schema.String).annotate({
    description: "The newest checkpoint of the log before, if it had one",
  }),
}).annotate(component("RestartedLog", { log: 2, note: CHECKPOINT }))
