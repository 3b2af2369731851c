/**
 * Tickets of event streams: what a browser opens a stream with, because `EventSource` sends no credential. A ticket names a credential
 * and an instance. It allows nothing but to follow their changes.
 */
import { Clock, Context, Effect, Exit, Layer, Option, Redacted, Schema } from "effect"
import { Caller } from "../../../../kernel/contract/Caller.ts"
import { SecretBox } from "../../../../kernel/ports/SecretBox.ts"
import { OrganizationId } from "../../../../kernel/values/Identifiers.ts"
import type { FollowRequest } from "../../../events/changes/Model.ts"
import { followerOf } from "../../../instances/following/Follower.ts"

const LIFETIME_MS = 24 * 60 * 60 * 1000

/** Logs and traces mask what begins like this (`SecretMasking.ts`), so that the path of a stream shows no ticket. */
const PREFIX = "kst_"

const place = { purpose: "ofrep-stream", boundTo: [] }

/** What a ticket holds. Its time is in milliseconds. */
const Content = Schema.fromJsonString(
  Schema.Struct({
    organization: OrganizationId,
    credential: Schema.String,
    kind: Schema.Literals(["token", "membership"]),
    confinedTo: Schema.NullOr(Schema.String),
    instances: Schema.Array(Schema.String),
    endsAt: Schema.Finite,
  }),
)
const encode = Schema.encodeSync(Content)
const decode = Schema.decodeUnknownOption(Content)

/** Issues and opens tickets. */
export class StreamTickets extends Context.Service<
  StreamTickets,
  {
    /** A ticket of the caller for an instance, or for changes of the organization alone. It lives for 24 hours. */
    readonly issue: (instance: string | undefined) => Effect.Effect<Redacted.Redacted, never, Caller>
    /** What the holder of a ticket may follow. None if the text is not a ticket, or the ticket has expired. */
    readonly open: (ticket: Redacted.Redacted) => Effect.Effect<Option.Option<FollowRequest>>
  }
>()("keyshelf/flags/StreamTickets") {
  static readonly layer = Layer.effect(
    StreamTickets,
    Effect.map(SecretBox, (box) =>
      StreamTickets.of({
        issue: Effect.fnUntraced(function* (instance) {
          const caller = yield* Caller
          const { confinedTo, credential, endsAt, instances } = followerOf(
            caller,
            instance === undefined ? [] : [instance],
          )
          const text = encode({
            organization: credential.organizationId,
            credential: credential.id,
            kind: credential.kind,
            confinedTo: confinedTo ?? null,
            instances: instances ?? [],
            endsAt: Math.min(endsAt, (yield* Clock.currentTimeMillis) + LIFETIME_MS),
          })
          const sealed = yield* box.seal(place, text)
          return Redacted.make(`${PREFIX}${Buffer.from(sealed).toString("base64url")}`)
        }),

        open: Effect.fnUntraced(function* (ticket) {
          const text = Redacted.value(ticket)
          if (!text.startsWith(PREFIX)) return Option.none()
          const encoded = text.slice(PREFIX.length)
          const sealed = Buffer.from(encoded, "base64url").toString()
          // A ticket has one spelling: the decoder skips what it does not know.
          if (Buffer.from(sealed).toString("base64url") !== encoded) return Option.none()
          // An altered text, or one that another installation sealed, is a defect of the box, but not of the service.
          const opened = yield* Effect.exit(box.open(place, sealed))
          if (Exit.isFailure(opened)) return Option.none()
          const at = yield* Clock.currentTimeMillis
          return Option.map(
            Option.filter(decode(opened.value), ({ endsAt }) => endsAt > at),
            ({ confinedTo, credential, endsAt, instances, kind, organization }): FollowRequest => ({
              credential: { organizationId: organization, id: credential, kind },
              confinedTo: confinedTo ?? undefined,
              instances,
              endsAt,
            }),
          )
        }),
      }),
    ),
  )
}
