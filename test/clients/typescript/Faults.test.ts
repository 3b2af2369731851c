/** Settings and requests that can never work fail before anything is sent, whatever a policy says. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { inspect } from "node:util"
import { vi } from "vitest"
import { createProductClient, isProblem, isServiceAway } from "../../../clients/typescript/src/product/node.ts"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"
import { failureOf } from "./answering.ts"
import {
  ADDRESS,
  assertConfiguration,
  assertFault,
  network,
  playing,
  printed,
  thrownBy,
  TOKEN,
  typedClient,
} from "./unreachable.ts"

describe("faults of settings and requests, in TypeScript", () => {
  it("a URL object is an address", async () => {
    const { client, sent } = playing({ baseUrl: new URL("https://keyshelf.example/api/") })
    await client.check("globex-prod", "sso", { whenAway: "open" })
    assert.strictEqual(sent[0]?.url, "https://keyshelf.example/api/instances/globex-prod/check")
  })

  it("a function that cannot read the token fails the call, also with the error of a service that is away", async () => {
    const away = Object.assign(new Error("The vault is away"), { isAway: true })
    const { client, sent } = playing({ token: () => Promise.reject(away) })
    for (const call of [
      () => client.check("globex-prod", "sso", { whenAway: "open" }),
      () => client.flags({ targetingKey: "globex-prod" }, { whenAway: "open" }),
      () => client.acquireSeat("globex-prod", "editors", { holder: "anna" }),
    ]) {
      const error = await failureOf(call())
      assertConfiguration(error, "token", undefined, "away")
      assert.strictEqual((error as Error).cause, away)
    }
    assert.lengthOf(sent, 0)
    const buffer = await client.usageBuffer()
    await buffer.report("globex-prod", "api-calls")
    assert.isFalse(isServiceAway(await failureOf(buffer.flush())))
    assert.strictEqual(buffer.size, 1)
  })

  it("other faults of a request fail the call, whatever a policy says", async () => {
    const { client, sent } = playing()
    const open = { whenAway: "open" } as const
    const any = (value: unknown) => value as never
    const cyclic: Record<string, unknown> = {}
    cyclic["self"] = cyclic
    const calls: ReadonlyArray<() => Promise<unknown>> = [
      ...[Number.NaN, Infinity, -1, 2n ** 64n, true, null, {}, "x"].map(
        (requested) => () => client.check("globex-prod", "exports", any({ requested, ...open })),
      ),
      ...["", "a\ud800", "a\n", 7, null].map((slug) => () => client.check("globex-prod", any(slug), open)),
      ...["Open", "allow", "", true, null, {}].map(
        (whenAway) => () => client.check("globex-prod", "sso", any({ whenAway })),
      ),
      ...["2026-01-31", "soon", new Date(Number.NaN), 7].map(
        (at) => () => client.check("globex-prod", "sso", any({ at, ...open })),
      ),
      () => client.checkAll("globex-prod", [], open),
      () => client.checkAll("globex-prod", Array<string>(101).fill("sso"), open),
      () => client.check("globex-prod", "sso", any({ signal: new AbortController(), ...open })),
      () => client.consume("globex-prod", "sso", any({ ...open })),
      () => client.consume("globex-prod", "sso", any({ at: new Date(), idempotencyKey: "job-1", ...open })),
      ...[
        { n: Number.NaN },
        { n: -Infinity },
        { n: 1n },
        { t: "\ud800" },
        { "\udfff": 1 },
        { d: [new Date(Number.NaN)] },
        cyclic,
      ].flatMap((value) => [
        () => client.flags(value, open),
        () => client.acquireSeat("globex-prod", "editors", { holder: "anna", metadata: value }),
      ]),
      () => client.flags({}, any({ whenAway: "never" })),
      () => client.refresh("globex-prod"),
      ...[Number.NaN, 0, -1, Infinity].map(
        (ttlSeconds) => () => client.acquireSeat("globex-prod", "editors", { holder: "anna", ttlSeconds }),
      ),
      ...["", "\ud800", null].map((holder) => () => client.acquireSeat("globex-prod", "editors", any({ holder }))),
      () => client.report("globex-prod", "rows", "1234567890123456789"),
      () => client.report("globex-prod", "rows", 1, { transactionId: "" }),
      () => client.report("globex-prod", "rows", 1, { uniqueKey: "\ud800" }),
      () => client.usageBuffer({ capacity: Number.NaN }),
      () => client.usageBuffer({ capacity: 0 }),
      () => client.usageBuffer({ source: "" }),
    ]
    for (const [index, call] of calls.entries()) assertFault(await failureOf(call()), String(index))
    assert.lengthOf(sent, 0)
    const buffer = await client.usageBuffer()
    for (const interval of [Number.NaN, 0, -1, Infinity])
      assertFault(
        thrownBy(() => buffer.start(interval)),
        "start",
      )
  })

  it("times and retries that cannot be fail when the client is made", () => {
    const wrong: ReadonlyArray<Record<string, unknown>> = [
      ...["timeoutMs", "deadlineMs"].flatMap((name) =>
        [0, -1, Number.NaN, "10000", 10n].map((value) => ({ [name]: value })),
      ),
      ...[-1, 0.5, Number.NaN, "2"].map((retries) => ({ retries })),
      { fetch: "fetch" },
    ]
    for (const options of wrong) {
      const [setting = ""] = Object.keys(options)
      for (const make of [createProductClient, typedClient]) {
        const error = thrownBy(() => make({ baseUrl: ADDRESS, token: TOKEN, ...options }))
        assertConfiguration(error, setting, undefined, inspect(options))
      }
    }
  })

  it("a time without an end is as long as a timer can be", async () => {
    const { client, sent } = playing({ timeoutMs: Infinity, deadlineMs: Infinity })
    assert.strictEqual((await client.check("globex-prod", "sso", { whenAway: "open" })).source, "policy")
    assert.lengthOf(sent, 1)
  })

  it("a body, header, query or time of the typed client that cannot be sent fails the call", async () => {
    const { fetch, sent } = network()
    const core = typedClient({ baseUrl: ADDRESS, token: TOKEN, retries: 0, fetch })
    const any = (value: unknown) => value as never
    const calls: ReadonlyArray<() => Promise<unknown>> = [
      () => core.createCustomer({ body: any({ name: "a\ud800" }) }),
      () => core.createCustomer({ body: any({ name: "Globex", metadata: { n: Number.NaN } }) }),
      // As `null` it would be an instance that never ends.
      () => core.createInstance({ body: any({ name: "Globex", endLicenseDate: new Date("soon") }) }),
      () => core.createCustomer({ body: any(() => 1) }),
      () => core.listCustomers({ query: { q: "\udc00" } }),
      () => core.listCustomers({ timeoutMs: Number.NaN }),
      () => core.listCustomers(any({ body: {} })),
      ...["a\nb", "a\u0000", "a\u2028"].map((value) => () => core.listCustomers({ headers: { "x-secret": value } })),
      () => core.listCustomers({ headers: { "x secret": "a" } }),
    ]
    for (const [index, call] of calls.entries()) assertFault(await failureOf(call()), String(index))
    assert.lengthOf(sent, 0)
    const secret = await failureOf(core.listCustomers({ headers: { "x-secret": "hidden\nvalue" } }))
    assert.notInclude(printed(secret), "hidden")
    await failureOf(core.listCustomers({ headers: { Authorization: "Basic x", "X-Trace": " 1\n" } }))
    assert.deepStrictEqual(
      [sent[0]?.headers.get("authorization"), sent[0]?.headers.get("x-trace")],
      [`Bearer ${TOKEN}`, "1"],
    )
  })

  it("what the function of the caller throws is no failure of the service", async () => {
    const reason = new Error("of the caller")
    let calls = 0
    const fetch = async () => {
      calls++
      return Response.json({}, { status: 503 })
    }
    const core = typedClient({ baseUrl: ADDRESS, token: TOKEN, fetch })
    const onResponse = () => {
      throw reason
    }
    assert.strictEqual(await failureOf(core.getMe({ onResponse })), reason)
    assert.strictEqual(calls, 1)
    assert.isTrue(isProblem(await failureOf(core.getMe({ timeoutMs: 1_000 }))))
  })

  it.live("the file of a buffer needs a folder", () =>
    Effect.scoped(
      Effect.flatMap(temporaryDirectory, (directory) =>
        Effect.promise(async () => {
          const { client } = playing()
          writeFileSync(join(directory, "file"), "")
          for (const path of ["", join(directory, "missing/usage.jsonl"), join(directory, "file/usage.jsonl")]) {
            assertConfiguration(await failureOf(client.usageBuffer({ path })), "path", undefined, path)
          }
          const missing = await failureOf(client.usageBuffer({ path: join(directory, "missing/usage.jsonl") }))
          assert.include(String(missing), `must be in a folder that exists: ${join(directory, "missing")}`)
        }),
      ),
    ),
  )

  it.live("a runtime without SQLite is named with the version that has it", () =>
    Effect.scoped(
      Effect.flatMap(temporaryDirectory, (directory) =>
        Effect.promise(async () => {
          vi.doMock("node:sqlite", () => {
            throw Object.assign(new Error("No such built-in module: node:sqlite"), {
              code: "ERR_UNKNOWN_BUILTIN_MODULE",
            })
          })
          try {
            const error = await failureOf(playing().client.usageBuffer({ path: join(directory, "usage.jsonl") }))
            assertConfiguration(error, "path", undefined, "sqlite")
            assert.include(String(error), "Node.js 22.13 or newer")
          } finally {
            vi.doUnmock("node:sqlite")
          }
        }),
      ),
    ),
  )
})
