/** Signs and sends one attempt (Standard Webhooks 1.0). */
import { Context, Duration, Effect, Layer, Redacted } from "effect"
import { createHmac } from "node:crypto"
import { OutboundHttp } from "../../../kernel/ports/OutboundHttp.ts"
import type { OutboundError, OutboundFailure } from "../../../kernel/ports/OutboundHttp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { DeliveryLimits } from "../DeliveryLimits.ts"

/** The maximum size of a stored response body. */
const MAX_RESPONSE_BYTES = 16 * 1024

/** One request to an endpoint. */
export interface WebhookRequest {
  readonly organizationId: OrganizationId
  readonly endpointId: string
  readonly deliveryId: string
  readonly eventId: string
  readonly attempt: number
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Why there was no response: a code for programs and a message for people. */
export interface AttemptError {
  readonly code: Exclude<OutboundFailure, "too_large"> | "abandoned" | "event_gone"
  readonly message: string
}

/** The outcome of an attempt. Only the status decides: 2xx is a success. */
export interface AttemptOutcome {
  readonly statusCode: number | null
  readonly responseBody: string | null
  readonly error: AttemptError | null
}

/** Whether the receiver accepted the event. */
export const isSuccess = ({ statusCode }: AttemptOutcome): boolean =>
  statusCode !== null && statusCode >= 200 && statusCode < 300

/** The headers of an attempt, among them the three of Standard Webhooks, with one signature per secret. */
export const signedHeaders = (
  eventId: string,
  at: Date,
  body: string,
  secrets: ReadonlyArray<Redacted.Redacted>,
): Record<string, string> => {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(Redacted.value(secret).replace(/^whsec_/, ""), "base64")
    return `v1,${createHmac("sha256", key).update(`${eventId}.${timestamp}.${body}`).digest("base64")}`
  })
  return {
    "content-type": "application/json",
    "user-agent": "Keyshelf",
    "webhook-id": eventId,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  }
}

// PostgreSQL cannot store NUL in text. Invalid UTF-8 has already become U+FFFD.
const storable = (text: string): string => text.replaceAll("\u0000", "")

const faultOf = (error: OutboundError): AttemptError => ({
  code: error.fault === undefined || error.fault === "too_large" ? "protocol" : error.fault,
  message: error.message,
})

/** Sends attempts. It never fails: an error is an outcome. */
export class WebhookSender extends Context.Service<
  WebhookSender,
  { readonly send: (request: WebhookRequest) => Effect.Effect<AttemptOutcome> }
>()("keyshelf/webhooks/delivery/WebhookSender") {
  /** Sends over HTTP, to global addresses only. A redirect is a response, and not followed. */
  static readonly layer = Layer.effect(
    WebhookSender,
    Effect.gen(function* () {
      const http = yield* OutboundHttp
      const { timeout } = yield* DeliveryLimits
      return WebhookSender.of({
        send: ({ body, headers, url }) =>
          http
            .send({
              method: "POST",
              url,
              headers,
              body,
              timeoutMillis: Duration.toMillis(timeout),
              maxBytes: MAX_RESPONSE_BYTES,
              whenLonger: "cut",
              statusDecides: true,
            })
            .pipe(
              Effect.map((response): AttemptOutcome => ({
                statusCode: response.status,
                responseBody: storable(response.body),
                error: null,
              })),
              Effect.catchTag("OutboundError", (error) =>
                Effect.succeed<AttemptOutcome>({ statusCode: null, responseBody: null, error: faultOf(error) }),
              ),
            ),
      })
    }),
  )
}
