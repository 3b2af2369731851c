/** The webhook step of the story: a receiver in this process gets an event of the service and checks its signature. */
import { Context, Deferred, Duration, Effect, Option, Predicate, Schema } from "effect"
import { createHmac } from "node:crypto"
import { createServer } from "node:http"
import type { IncomingMessage } from "node:http"
import { text } from "node:stream/consumers"
import { isSameSecret } from "../kernel/values/SecretComparison.ts"
import { DemoFailed, Stage } from "./Demo.ts"
import type { Calls } from "./Demo.ts"

/** How long the receiver waits for the event. */
export const MaxWait = Context.Reference<Duration.Duration>("keyshelf.reference/demo/MaxWait", {
  defaultValue: () => Duration.seconds(10),
})

const Endpoint = Schema.Struct({ id: Schema.String, secret: Schema.String })

interface Delivery {
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

/** Whether a delivery is signed with the secret, as Standard Webhooks libraries check it. */
const isGenuine = ({ body, headers }: Delivery, secret: string): boolean => {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64")
  const signed = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`
  const expected = createHmac("sha256", key).update(signed).digest()
  return String(headers["webhook-signature"])
    .split(" ")
    .some((part) => isSameSecret(Buffer.from(part.replace(/^v1,/, ""), "base64"), expected))
}

/** A receiver on this machine, which responds 204 to everything. Ends with the scope. */
const startReceiver = Effect.gen(function* () {
  const first = yield* Deferred.make<Delivery>()
  const { port } = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((request, response) => {
        void text(request).then((body) => {
          Deferred.doneUnsafe(first, Effect.succeed({ headers: request.headers, body }))
          response.writeHead(204).end()
        })
      })
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
      const address = server.address()
      return { server, port: address === null || Predicate.isString(address) ? 0 : address.port }
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      }),
  )
  return { url: `http://127.0.0.1:${port}/`, delivery: Deferred.await(first) }
})

const isNotAllowed = (body: unknown): boolean => JSON.stringify(body ?? null).includes('"body.url"')

/**
 * Creates an endpoint for a receiver of its own, changes something, and waits for the event. By default the service
 * sends to public `https` addresses only: then the demo says so and continues.
 */
export const receiveWebhook = Effect.fn("Demo.receiveWebhook")(function* (
  call: Calls,
  onWebhooks: Calls,
  customerSlug: string,
) {
  const { expectEmpty, expectOneOf, expectSuccess: succeeds, print, shape } = yield* Stage
  const { delivery, url } = yield* startReceiver
  yield* print("   Webhooks push events to the vendor's systems. This demo has a receiver of its own ...")
  const request = onWebhooks("POST", "/webhooks", { url, eventNames: ["CUSTOMER_UPDATED"] })
  const { body, status } = yield* expectOneOf(request, [201, 422])
  if (status === 422) {
    if (!isNotAllowed(body)) return yield* new DemoFailed({ message: "The demo stopped at POST /api/webhooks: 422." })
    return yield* print(
      "   ... which the service rejects: by default it sends to public https addresses only, so that no caller can point it at your network. Start it with SERVICE_WEBHOOKS_ALLOW_INSECURE=true to see this step.",
    )
  }
  const endpoint = yield* shape(request, body, Endpoint)
  yield* print("   ... and when a customer changes, it receives the event within moments.")
  yield* succeeds(call("PATCH", `/customers/${customerSlug}`, { name: "Acme International" }), 200, Schema.Unknown)
  const maxWait = yield* MaxWait
  const received = yield* Effect.timeoutOption(delivery, maxWait)
  yield* Option.match(received, {
    onNone: () =>
      print(`   The event did not arrive within ${Duration.format(maxWait)}: the service cannot reach this machine.`),
    onSome: (delivered) =>
      isGenuine(delivered, endpoint.secret)
        ? print(`   It received, with a genuine signature:\n\n    ${delivered.body}`)
        : new DemoFailed({ message: "The demo stopped: the signature of the webhook is not genuine." }),
  })
  yield* expectEmpty(onWebhooks("DELETE", `/webhooks/${endpoint.id}`))
}, Effect.scoped)
