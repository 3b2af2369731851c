/**
 * The provider for Svix (https://api.svix.com/docs). Each event becomes a message of the organization's application.
 * The message has the event's id, so that Svix rejects duplicates. Svix then owns endpoints, retries and history.
 */
import { Duration, Effect, Layer, Metric, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientError } from "effect/http"
import { now } from "../../../kernel/values/Timestamp.ts"
import { Transactions } from "../../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { eventText } from "../../events/log/EventText.ts"
import type { StoredEvent } from "../../events/log/EventText.ts"
import * as metrics from "../Metrics.ts"
import { Outbox } from "../../events/Outbox.ts"
import type { OutboxClaim } from "../../events/Outbox.ts"
import { makeRoundRobin } from "./RoundRobin.ts"
import { WebhookProvider } from "./Provider.ts"

/** The connection to Svix. */
interface SvixOptions {
  /** The server's origin, e.g. `https://api.eu.svix.com`. */
  readonly url: string
  readonly token: Redacted.Redacted
}

/** Svix did not accept an event. */
class SvixError extends Schema.TaggedError<SvixError>()("SvixError", { message: Schema.String }) {}

const MAX_EVENTS = 64
const MAX_CONCURRENCY = 8
const TIMEOUT = Duration.seconds(15)
// A claim must outlast its batch even if every call times out.
const CLAIM_MS = 300_000
const MAX_RETRY_DELAY_MS = 300_000

/** The delay in milliseconds after this many failed tries: 1 s, doubling up to 5 minutes. */
export const retryDelayAfter = (tries: number): number =>
  Math.min(1000 * 2 ** Math.min(tries - 1, 20), MAX_RETRY_DELAY_MS)

/** Publishes one event with Svix. */
const publishing = Effect.fnUntraced(function* ({ token, url }: SvixOptions) {
  const http = yield* HttpClient.HttpClient
  const baseUrl = url.replace(/\/+$/, "")

  const post = (path: string, body: string) =>
    http
      .execute(
        HttpClientRequest.post(`${baseUrl}${path}`).pipe(
          HttpClientRequest.bearerToken(Redacted.value(token)),
          HttpClientRequest.acceptJson,
          HttpClientRequest.bodyText(body, "application/json"),
        ),
      )
      .pipe(
        // Reading the whole response frees its connection.
        Effect.flatMap((response) => Effect.as(Effect.ignore(response.text), response.status)),
        Effect.timeout(TIMEOUT),
        // The client's error contains the request, and with it the token.
        Effect.mapError(
          (error: HttpClientError.HttpClientError | { readonly _tag: string }) =>
            new SvixError({ message: `Svix cannot be reached (${error._tag})` }),
        ),
      )

  const application = (organizationId: OrganizationId) => ({ name: organizationId, uid: organizationId })

  // Status 409 means that Svix has it already.
  return Effect.fn("Svix.publish")(function* (event: StoredEvent) {
    const { organizationId } = event
    const head = JSON.stringify({
      application: application(organizationId),
      eventId: event.id,
      eventType: event.type,
    })
    // The payload is inserted as text, which keeps the order of its properties.
    const message = `${head.slice(0, -1)},"payload":${eventText(event)}}`
    const send = post(`/api/v1/app/${organizationId}/msg/`, message)
    let status = yield* send
    if (status === 404) {
      // Older servers do not create the application with the message.
      const created = yield* post("/api/v1/app/?get_if_exists=true", JSON.stringify(application(organizationId)))
      if (created >= 300) {
        return yield* new SvixError({ message: `Svix did not create the application (${created})` })
      }
      status = yield* send
    }
    if (status >= 300 && status !== 409) {
      return yield* new SvixError({ message: `Svix did not accept the event (${status})` })
    }
  })
})

/** {@link WebhookProvider} for Svix. */
export const layer = (options: SvixOptions) =>
  Layer.effect(
    WebhookProvider,
    Effect.gen(function* () {
      const publish = yield* publishing(options)
      const outbox = yield* Outbox
      const transactions = yield* Transactions
      const roundRobin = makeRoundRobin(outbox, MAX_EVENTS)
      const postpone = Effect.fnUntraced(function* (claim: OutboxClaim) {
        yield* Metric.update(metrics.providerFailures, 1)
        yield* outbox.postpone(claim, new Date((yield* now).getTime() + retryDelayAfter(claim.claims)))
      })

      const takeDue = Effect.fnUntraced(function* (
        organizationIds: ReadonlyArray<OrganizationId>,
        perOrganization: number,
      ) {
        const at = yield* now
        const claims = yield* transactions.run(
          outbox.claimDue(organizationIds, { at, until: new Date(at.getTime() + CLAIM_MS), perOrganization }),
        )
        if (claims.length === 0) return 0
        const events = new Map((yield* outbox.findEvents(claims)).map((event) => [event.id, event]))
        const uncommitted = new Set(yield* outbox.findUncommitted(claims.filter(({ eventId }) => !events.has(eventId))))
        const failures: Array<SvixError> = []
        yield* Effect.forEach(
          claims,
          (claim) => {
            if (uncommitted.has(claim)) return outbox.postpone(claim, new Date(at.getTime() + retryDelayAfter(1)))
            const event = events.get(claim.eventId)
            return (event === undefined ? Effect.void : publish(event)).pipe(
              Effect.andThen(outbox.delete(claim)),
              Effect.catchTag("SvixError", (error) => {
                failures.push(error)
                return postpone(claim)
              }),
            )
          },
          { concurrency: MAX_CONCURRENCY, discard: true },
        )
        if (failures[0] !== undefined) {
          yield* Effect.logWarning(`Postponed events for Svix: ${failures[0].message}`).pipe(
            Effect.annotateLogs({ events: failures.length }),
          )
        }
        return claims.length
      })

      return WebhookProvider.of({ name: "svix", publishDue: roundRobin(takeDue) })
    }),
  )
