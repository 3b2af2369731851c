import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import { connect } from "node:net"
import type { AddressInfo, Socket } from "node:net"
import { emptyDatabase } from "../cli/database.ts"
import { request } from "../support/http.ts"
import type { CallOptions } from "../support/http.ts"
import * as RawConnection from "../support/RawConnection.ts"
import { randomCredential, settings, start } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { withReason } from "../support/skipped.ts"

const LIMIT = 96
const FLOOD = 150
const why = process.platform === "linux" ? undefined : "only Linux reports the limit of open files"
const LOGGED = /Too many open files[^\n]*/g

/** Waits until a condition holds; the test's time limit ends the wait. */
const until = (condition: () => boolean | Promise<boolean>) =>
  Effect.promise(async () => {
    while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 20))
  })

/** Opens connections that send nothing, and counts those that the other side closes. */
const flood = (origin: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { hostname, port } = new URL(origin)
      let closed = 0
      const sockets: ReadonlyArray<Socket> = Array.from({ length: FLOOD }, () =>
        connect(Number(port), hostname)
          .on("error", () => {})
          .on("close", () => closed++)
          .resume(),
      )
      const end = () => {
        for (const socket of sockets) socket.destroy()
      }
      return { closed: () => closed, end }
    }),
    ({ end }) => Effect.sync(end),
  )

/** A webhook receiver that counts the requests. */
const receiver = Effect.acquireRelease(
  Effect.promise(async () => {
    let received = 0
    const server = createServer((_, response) => {
      received++
      response.end()
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, received: () => received }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    }),
)

describe.skipIf(why !== undefined)(withReason("a process with few files", why), () => {
  it.live(
    "closes the connections beyond its limit, keeps serving, delivering and responding to probes, logs once, and recovers",
    () =>
      Effect.gen(function* () {
        const credential = randomCredential()
        const { SERVICE_DATA_DIR: _, ...ports } = yield* settings(yield* temporaryDirectory, credential)
        const env = {
          ...ports,
          SERVICE_DATABASE_URL: Redacted.value(yield* emptyDatabase),
          SERVICE_SECRET_KEY: randomBytes(32).toString("base64"),
          SERVICE_WEBHOOKS_ALLOW_INSECURE: "true",
        }
        const service = yield* start(["serve"], env, undefined, LIMIT)
        yield* service.ready
        const call = (method: string, url: string, options: CallOptions) =>
          Effect.promise(() => request(method, url, options))
        const organizations = `${service.platform}/api/platform/organizations`
        const organization = yield* call("POST", organizations, { token: credential, body: { name: "Acme" } })
        const issued = yield* call("POST", `${organizations}/${organization.body.id}/tokens`, {
          token: credential,
          body: { name: "test" },
        })
        const token = String(issued.body.token)
        const { received, url } = yield* receiver
        const webhook = yield* call("POST", `${service.core}/api/webhooks`, {
          token,
          body: { url, eventNames: ["CUSTOMER_CREATION"] },
        })
        assert.strictEqual(webhook.status, 201, webhook.text)
        const open = yield* Effect.acquireRelease(
          Effect.promise(() => RawConnection.open(service.core)),
          ({ close }) => Effect.sync(close),
        )
        const me = RawConnection.requestBytes("GET", "/api/me", token)
        const customer = (name: string) => RawConnection.requestBytes("POST", "/api/customers", token, { name })
        assert.strictEqual(yield* Effect.promise(() => open.send(me)), 200)

        const { closed, end } = yield* flood(service.core)
        yield* until(() => FLOOD - closed() <= LIMIT / 2 && service.output().includes("Too many open files"))
        const health = `http://127.0.0.1:${env.SERVICE_INTERNAL_PORT}/health/ready`
        assert.strictEqual((yield* call("GET", health, {})).status, 200)
        assert.strictEqual(yield* Effect.promise(() => open.send(me)), 200)
        assert.strictEqual(yield* Effect.promise(() => open.send(customer("Globex"))), 201)
        yield* until(() => received() === 1)
        const again = yield* flood(service.core)
        yield* until(() => again.closed() === FLOOD)
        const logged = service.output().match(LOGGED) ?? []
        assert.lengthOf(logged, 1)
        assert.include(logged[0], "ulimit -n")
        assert.include(logged[0], "LimitNOFILE")
        assert.match(logged[0] ?? "", new RegExp(`"?limit"?: *${LIMIT}`))

        end()
        yield* until(() =>
          request("GET", `${service.core}/api/me`, { token }).then(
            ({ status }) => status === 200,
            () => false,
          ),
        )
        assert.strictEqual(yield* Effect.promise(() => open.send(customer("Initech"))), 201)
        yield* until(() => received() === 2)
        service.process.kill("SIGTERM")
        assert.strictEqual((yield* service.ended).code, 0)
      }),
    120_000,
  )
})
