import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { spawnSync } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import type { Server } from "node:http"
import { connect } from "node:net"
import type { AddressInfo } from "node:net"
import { resolve } from "node:path"
import { makeGuard } from "../../src/http/ConnectionLimit.ts"
import { FileDescriptors, make, maxConnectionsOf } from "../../src/infra/FileDescriptors.ts"
import { limited } from "../support/ServiceProcess.ts"
import { withReason } from "../support/skipped.ts"

const why = process.platform === "linux" ? undefined : "only Linux reports the limit of open files"

const source = (file: string) => JSON.stringify(resolve(import.meta.dirname, "../../src", file))

// Calls a server while no descriptor is free, by address and by name, and again afterwards.
const SCRIPT = `
import { Effect } from "effect"
import { closeSync, openSync } from "node:fs"
import { createServer } from "node:http"
import { areExhausted, openFilesLimit } from ${source("infra/FileDescriptors.ts")}
import { make } from ${source("infra/outbound/OutboundHttp.ts")}

const server = createServer((_, response) => response.end("ok")).listen(0, "127.0.0.1")
await new Promise((resolve) => server.once("listening", resolve))
const { port } = server.address()
let reports = 0
const http = make({ allowInsecure: true, allowedNetworks: [] }, 1000, () => reports++)
const call = (host) =>
  Effect.runPromise(
    http.send({ method: "GET", url: \`http://\${host}:\${port}/\`, timeoutMillis: 5000, maxBytes: 100 }).pipe(
      Effect.match({ onFailure: ({ fault, message }) => \`\${fault}: \${message}\`, onSuccess: ({ body }) => body }),
    ),
  )
// Resolves a name once, so that the resolver has loaded its files.
const results = { limit: openFilesLimit(), before: [areExhausted(), await call("127.0.0.1"), await call("localhost")] }
await new Promise((resolve) => setTimeout(resolve, 50))
const files = []
try {
  for (;;) files.push(openSync("/"))
} catch (error) {
  results.error = error.code
}
results.during = [areExhausted(), await call("127.0.0.2"), await call("no-such-name.invalid")]
results.reports = reports
for (const file of files) closeSync(file)
results.after = [areExhausted(), await call("127.0.0.1"), (await call("no-such-name.invalid")).slice(0, 4)]
console.log(JSON.stringify(results))
process.exit(0)
`

describe.skipIf(why !== undefined)(withReason("without a free descriptor", why), () => {
  it("an outbound call fails with its own code, by address and by name, and works again afterwards", () => {
    const [command, args] = limited(64, ["--input-type=module-typescript", "--eval", SCRIPT])
    const { stderr, stdout } = spawnSync(command, args, {
      cwd: resolve(import.meta.dirname, "../.."),
      encoding: "utf8",
      timeout: 30_000,
    })
    assert.notStrictEqual(stdout, "", stderr)
    const message = (host: string) => `resources: ${host} was not called: this process has too many open files`
    const { during, ...results } = JSON.parse(stdout)
    assert.deepStrictEqual(results, {
      limit: 64,
      before: [false, "ok", "ok"],
      error: "EMFILE",
      reports: 2,
      after: [false, "ok", "dns:"],
    })
    assert.strictEqual(during[0], true)
    assert.match(during[1], /^resources: 127\.0\.0\.2:\d+ was not called/)
    assert.match(during[2], /^resources: no-such-name\.invalid:\d+ was not called/)
    assert.include(during[1], message("").slice("resources:  ".length))
  })
})

describe("the limit of callers' connections", () => {
  it("leaves the reserve free, but at least half of the descriptors to callers", () => {
    assert.strictEqual(maxConnectionsOf(20_000, 328), 19_672)
    assert.strictEqual(maxConnectionsOf(656, 328), 328)
    assert.strictEqual(maxConnectionsOf(96, 328), 48)
  })

  it.live(
    "closes connections beyond it, but not those that may use the reserve, and frees the place of an ended one",
    () =>
      Effect.gen(function* () {
        const logs: Array<unknown> = []
        const logger = Logger.make(({ message }) => {
          logs.push(message)
        })
        yield* Effect.gen(function* () {
          const descriptors = yield* make(2, 10)
          const listening = (isLimited: boolean) =>
            Effect.acquireRelease(
              Effect.flatMap(Effect.provideService(makeGuard(isLimited), FileDescriptors, descriptors), (guard) =>
                Effect.promise(async () => {
                  const server = createServer((_, response) => response.end())
                  guard(server)
                  server.listen(0, "127.0.0.1")
                  await once(server, "listening")
                  return server
                }),
              ),
              (server) =>
                Effect.sync(() => {
                  server.closeAllConnections()
                  server.close()
                }),
            )
          const limitedServer = yield* listening(true)
          const freeServer = yield* listening(false)
          const open = (server: Server) =>
            Effect.promise(async () => {
              const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").resume()
              socket.on("error", () => {})
              await once(socket, "connect")
              // A request shows whether the connection stays.
              const first = Promise.race([once(socket, "data"), once(socket, "close")])
              socket.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
              await first
              return socket
            })
          const [one, two, three] = [yield* open(limitedServer), yield* open(limitedServer), yield* open(limitedServer)]
          assert.deepStrictEqual(
            [one, two, three].map((socket) => socket.destroyed),
            [false, false, true],
          )
          for (let count = 0; count < 4; count++) assert.isFalse((yield* open(freeServer)).destroyed)
          one.destroy()
          yield* Effect.promise(async () => {
            while (!descriptors.admit()) await new Promise((resolve) => setTimeout(resolve, 5))
          })
          descriptors.release()
          assert.isFalse((yield* open(limitedServer)).destroyed)
          // What Node.js emits if it can neither accept nor close a connection. It must not end the process.
          limitedServer.emit("error", Object.assign(new Error("accept EMFILE"), { code: "EMFILE" }))
          limitedServer.emit("error", Object.assign(new Error("accept ENOBUFS"), { code: "ENOBUFS" }))
          yield* Effect.yieldNow
          assert.lengthOf(logs, 2)
          assert.match(String(logs[0]), /^Too many open files/)
          assert.match(String(logs[1]), /ENOBUFS/)
        }).pipe(Effect.scoped, Effect.provide(Layer.mergeAll(Logger.layer([logger]))))
      }),
  )
})
