/** What a local client makes of what is on its disk. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { makeLocalInstance } from "../../src/local/index.ts"
import type { LocalInstance } from "../../src/local/index.ts"
import { storeOf, textOfStored } from "../../src/local/Stored.ts"
import type { StateVectors } from "./scripted.ts"

const vectors: StateVectors = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../clients/vectors/local-states.json"), "utf8"),
)
const { instance, issuer, keys, snapshots } = vectors
const token = snapshots["A"]?.token ?? ""
const confirmedAt = Date.parse(vectors.clock)
const sub = "0198c2b0-5f3d-7d14-8f2e-7e0a4b9c1d33"

const stored = textOfStored({
  instance,
  token,
  etag: '"a.1"',
  confirmedAt,
  issuer,
  keys: {},
  state: null,
  revokedAt: null,
})

/** A client that starts with a file, while the service is away. */
const startWith = async (
  text: string,
  { wallMs = confirmedAt + 3_600_000, written = [] as Array<string> } = {},
): Promise<{ readonly client: LocalInstance; readonly bad: number }> => {
  let bad = 0
  const client = makeLocalInstance(instance, {
    clock: { wall: () => wallMs, monotonic: () => 0, random: () => 0.5, after: () => () => undefined },
    service: {
      snapshot: async () => ({ type: "away", code: "", error: new Error("away") }),
      keys: async () => ({ type: "away", code: "", error: new Error("away") }),
      changes: (_, { ended }) => {
        queueMicrotask(() => ended())
        return () => undefined
      },
    },
    store: storeOf({
      read: async () => [{ name: `snapshot-${sub}.json`, text }],
      write: async (_, record) => void written.push(record),
      setAside: async () => {
        bad++
      },
    }),
    keys,
    issuer,
    startTimeoutMs: 2_000,
  })
  await client.ready()
  return { client, bad }
}

const sso = (client: LocalInstance) => client.answers([{ entitlement: "sso" }], "closed").checks[0]

describe("a stored snapshot", () => {
  it("answers as it was stored", async () => {
    const { bad, client } = await startWith(stored)
    assert.deepInclude(sso(client), { allowed: true, reason: "GRANTED" })
    assert.deepStrictEqual([client.view().state, client.view().ageMs, bad], ["STALE", 3_600_000, 0])
  })

  it("that is cut at any byte is as if absent, and kept aside", async () => {
    for (let length = 0; length < stored.length; length++) {
      const { bad, client } = await startWith(stored.slice(0, length))
      assert.deepInclude(sso(client), { allowed: false, reason: "NO_SNAPSHOT" }, String(length))
      assert.deepStrictEqual([client.view().state, bad], ["NONE", 1], String(length))
    }
  })

  it("whose token is changed in any character allows nothing", async () => {
    const start = stored.indexOf(token)
    // Each seventh character: all parts of the token, in a time that a suite has.
    for (let place = start; place < start + token.length; place += 7) {
      const other = stored[place] === "A" ? "B" : "A"
      const { client } = await startWith(stored.slice(0, place) + other + stored.slice(place + 1))
      assert.isFalse(sso(client)?.allowed, String(place))
    }
  })

  it("that cannot be used now, by a clock that is behind, is left as it is", async () => {
    const written: Array<string> = []
    const { client } = await startWith(stored, { wallMs: confirmedAt - 30 * 86_400_000, written })
    assert.deepInclude(sso(client), { allowed: false, reason: "NO_SNAPSHOT" })
    await client.close()
    assert.deepStrictEqual(written, [])
  })

  it("has the entitlements as flags, and names the instance if the caller names nobody", async () => {
    const { client } = await startWith(stored)
    const flags = client.flags({}, "closed")
    assert.deepStrictEqual(flags?.keys(), ["entitlement.sso"])
    assert.deepStrictEqual(flags?.evaluate("entitlement.sso"), {
      key: "entitlement.sso",
      value: true,
      reason: "TARGETING_MATCH",
      metadata: { allowed: true, checkReason: "GRANTED" },
    })
    assert.isUndefined(flags?.evaluate("entitlement.other"))
    assert.isUndefined(flags?.evaluate("other"))
  })

  it("of another form throws nothing", async () => {
    const record: Readonly<Record<string, unknown>> = JSON.parse(stored)
    for (const name of Object.keys(record)) {
      for (const value of [null, 7, "x", [], {}, true]) {
        const { client } = await startWith(JSON.stringify({ ...record, [name]: value }))
        assert.isBoolean(sso(client)?.allowed, `${name} ${JSON.stringify(value)}`)
      }
    }
  })
})
