/**
 * Delivery by Svix (https://api.svix.com/docs): each event becomes a message of the organization's application, with the
 * event's id, so that a message is never made twice. Endpoints, retries and history are Svix's then.
 */
import { Duration, Effect, Layer, Metric, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientError } from "effect/http"
import type { EventRecord } from "../../../kernel/contract/Event.ts"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import { envelopeText } from "../Payload.ts"
import * as metrics from "../Metrics.ts"
import { OutboxRepo } from "../../events/Outbox.ts"
import type { OutboxClaim } from "../../events/Outbox.ts"
import { makeTurns } from "./RoundRobin.ts"
import { WebhookProvider } from "./Provider.ts"

/** Where Svix is and how it knows us. */
export interface SvixOptions {
  /** The server's origin, e.g. `https://api.eu.svix.com`. */
  readonly url: string
  readonly token: Redacted.Redacted
}

/** Svix did not take an event. */
export class SvixError extends Schema.TaggedError<SvixError>()("SvixError", { message: Schema.String }) {}

const MOST_EVENTS = 64
const CONCURRENCY = 8
const TIMEOUT = Duration.seconds(15)
// Longer than a batch takes, if every call of it times out.
const CLAIM_MILLIS = 300_000
const LONGEST_WAIT_MILLIS = 300_000

/** How long an event waits after so many tries: 1 s, doubling up to 5 minutes. */
export const waitAfter = (tries: number): number => Math.min(1000 * 2 ** Math.min(tries - 1, 20), LONGEST_WAIT_MILLIS)

/** {@link WebhookProvider} that hands events to Svix. */
export const layer = (options: SvixOptions) =>
  Layer.effect(
    WebhookProvider,
    Effect.gen(function* () {
      const http = yield* HttpClient.HttpClient
      const outbox = yield* OutboxRepo
      const transactions = yield* Transactions
      const turns = makeTurns(outbox, MOST_EVENTS)
      const root = options.url.replace(/\/+$/, "")

      const post = (path: string, body: string) =>
        http
          .execute(
            HttpClientRequest.post(`${root}${path}`).pipe(
              HttpClientRequest.bearerToken(Redacted.value(options.token)),
              HttpClientRequest.acceptJson,
              HttpClientRequest.bodyText(body, "application/json"),
            ),
          )
          .pipe(
            // The answer is read to its end, so that its connection is free again.
            Effect.flatMap((response) => Effect.as(Effect.ignore(response.text), response.status)),
            Effect.timeout(TIMEOUT),
            // The client's own error names the request, and with it the token.
            Effect.mapError(
              (error: HttpClientError.HttpClientError | { readonly _tag: string }) =>
                new SvixError({ message: `Svix cannot be reached (${error._tag})` }),
            ),
          )

      const application = (organizationId: string) => ({ name: organizationId, uid: organizationId })

      /** Hands one event over. 409 says that it was handed over before. */
      const publish = Effect.fn("Svix.publish")(function* (event: EventRecord) {
        const { organizationId } = event
        const head = JSON.stringify({
          application: application(organizationId),
          eventId: event.id,
          eventType: event.type,
        })
        // The envelope is put in as its text, so that Svix gets the members in their order.
        const message = `${head.slice(0, -1)},"payload":${envelopeText(event)}}`
        const send = post(`/api/v1/app/${organizationId}/msg/`, message)
        let status = yield* send
        if (status === 404) {
          // Servers that do not make the application along with the message.
          const made = yield* post("/api/v1/app/?get_if_exists=true", JSON.stringify(application(organizationId)))
          if (made >= 300) return yield* new SvixError({ message: `Svix did not make the application (${made})` })
          status = yield* send
        }
        if (status >= 300 && status !== 409) {
          return yield* new SvixError({ message: `Svix did not take the event (${status})` })
        }
      })

      const postpone = Effect.fnUntraced(function* (claim: OutboxClaim) {
        yield* Metric.update(metrics.providerFailures, 1)
        yield* outbox.postpone(claim, new Date((yield* now).getTime() + waitAfter(claim.claims)))
      })

      const take = Effect.fnUntraced(function* (organizations: ReadonlyArray<string>, each: number) {
        const at = yield* now
        const claims = yield* transactions.run(
          outbox.claimDue(organizations, { at, until: new Date(at.getTime() + CLAIM_MILLIS), perOrganization: each }),
        )
        if (claims.length === 0) return 0
        const events = new Map((yield* outbox.events(claims)).map((event) => [event.id, event]))
        const failures: Array<SvixError> = []
        yield* Effect.forEach(
          claims,
          (claim) => {
            const event = events.get(claim.eventId)
            return (event === undefined ? Effect.void : publish(event)).pipe(
              Effect.andThen(outbox.delete(claim)),
              Effect.catchTag("SvixError", (error) => {
                failures.push(error)
                return postpone(claim)
              }),
            )
          },
          { concurrency: CONCURRENCY, discard: true },
        )
        if (failures[0] !== undefined) {
          yield* Effect.logWarning(`${failures.length} events wait for another try: ${failures[0].message}`)
        }
        return claims.length
      })

      return WebhookProvider.of({ name: "svix", publishDue: turns(take) })
    }),
  )
