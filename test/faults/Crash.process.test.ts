import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { request } from "../support/http.ts"
import type { HttpResponse } from "../support/http.ts"
import { randomCredential, settings, start } from "../support/ServiceProcess.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"

const CLIENTS = 20
const LOAD_MILLIS = Number(process.env["KEYSHELF_CRASH_MILLIS"] ?? 4_000)

/** A write that the service acknowledged. Its path must return the record after the restart. */
interface Acknowledged {
  readonly path: string
  readonly name: string
}

describe("kill -9 of the embedded database", { timeout: 60_000 }, () => {
  it.live("a killed embedded database causes 503 for a short time, and recovers with all its data", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const operator = randomCredential()
      const env = yield* settings(directory, operator)
      const service = yield* start(["serve"], env)
      yield* service.ready
      const organizations = (method: string, body?: object) =>
        Effect.promise(() =>
          request(method, `${service.platform}/api/platform/organizations`, {
            token: operator,
            ...(body === undefined ? {} : { body }),
          }),
        )
      const created = yield* organizations("POST", { name: "Acme" })
      assert.strictEqual(created.status, 201)
      const [pid = ""] = readFileSync(join(env.SERVICE_DATA_DIR, "postgres/postmaster.pid"), "utf8").split("\n")
      process.kill(Number(pid), "SIGKILL")
      const deadline = Date.now() + 20_000
      let response = yield* organizations("GET")
      while (response.status !== 200 && Date.now() < deadline) {
        assert.strictEqual(response.status, 503, response.text)
        yield* Effect.sleep(100)
        response = yield* organizations("GET")
      }
      assert.deepStrictEqual(response.body.items, [created.body])
    }),
  )
})

describe("kill -9 under load", { timeout: 180_000 }, () => {
  it.live("kill -9 under load loses no acknowledged write, and no earlier response is a 5xx", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const operator = randomCredential()
      const env = yield* settings(directory, operator)
      const service = yield* start(["serve"], env)
      yield* service.ready

      const setup = async () => {
        const platform = `${service.platform}/api/platform/organizations`
        const organization = await request("POST", platform, { token: operator, body: { name: "Acme" } })
        const minted = await request("POST", `${platform}/${organization.body.id}/tokens`, {
          token: operator,
          body: { name: "all" },
        })
        return String(minted.body.token)
      }
      const token = yield* Effect.promise(setup)
      const url = (path: string) => `${service.core}/api${path}`

      const acknowledged: Array<Acknowledged> = []
      const failures: Array<string> = []
      const kinds = [
        ["/components", (name: string) => ({ name, version: "1" })],
        ["/customers", (name: string) => ({ name })],
        ["/entitlements", (name: string) => ({ name, type: "NUMBER" })],
        ["/licenses", (name: string) => ({ name, type: "PAID" })],
        ["/releases", (name: string) => ({ version: name })],
        ["/deployment-zones", (name: string) => ({ name, type: "production" })],
      ] as const
      const noteFailure = (response: HttpResponse, what: string) => {
        if (response.status >= 500) failures.push(`${what}: ${response.text}`)
      }
      const client = async (number: number) => {
        for (let turn = 0; ; turn++) {
          const [path, body] = kinds[(number + turn) % kinds.length] ?? kinds[0]
          const name = `client ${number} turn ${turn}`
          try {
            const response = await request("POST", url(path), { token, body: body(name) })
            noteFailure(response, `POST ${path}`)
            if (response.status === 201) acknowledged.push({ path: `${path}/${response.body.slug}`, name })
            noteFailure(await request("GET", url(`${path}?limit=20`), { token }), `GET ${path}`)
          } catch {
            // The kill cut the connection, so this write may or may not be committed.
            return
          }
        }
      }
      const clients = Array.from({ length: CLIENTS }, (_, number) => client(number))
      yield* Effect.sleep(LOAD_MILLIS)
      service.process.kill("SIGKILL")
      yield* service.ended
      yield* Effect.promise(() => Promise.all(clients))
      assert.deepStrictEqual(failures, [])
      assert.isAbove(acknowledged.length, CLIENTS)

      const again = yield* start(["serve"], env)
      yield* again.ready
      const lost: Array<string> = []
      yield* Effect.forEach(
        acknowledged,
        ({ name, path }) =>
          Effect.map(
            Effect.promise(() => request("GET", url(path), { token })),
            (response) => {
              if (response.status !== 200 || (response.body.name ?? response.body.version) !== name)
                lost.push(`${path}: ${response.text}`)
            },
          ),
        { concurrency: 20, discard: true },
      )
      assert.deepStrictEqual(lost, [])

      // Every acknowledged write has its event.
      const created = new Set<string>()
      let cursor = ""
      for (;;) {
        const page = yield* Effect.promise(() => request("GET", url(`/events?limit=200${cursor}`), { token }))
        for (const event of page.body.items) created.add(event.data.slug)
        cursor = `&cursor=${page.body.nextCursor}`
        if (!page.body.hasMore) break
      }
      const missing = acknowledged.filter(({ path }) => !created.has(path.split("/")[2] ?? ""))
      assert.deepStrictEqual(missing, [])
    }),
  )
})
