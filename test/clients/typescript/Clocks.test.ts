/** How old an answer may be, whatever happens to the clocks of the machine. */
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { createProductClient, lastKnown } from "../../../clients/typescript/src/product/index.ts"
import { withServer } from "./answering.ts"
import type { Received, Reply } from "./answering.ts"

const SECOND = 1000
const DAY = 86_400 * SECOND

const bodies: Readonly<Record<string, unknown>> = {
  check: {
    instance: "globex-prod",
    license: "pro",
    at: "2026-11-25T08:50:23.476Z",
    checks: [{ entitlement: "exports", allowed: true, reason: "GRANTED" }],
  },
  flags: { flags: [{ key: "new-search", value: true }] },
  leases: { id: "l-1", expiresAt: "2026-11-25T08:50:23.476Z" },
}

/** The first response of each kind is a result, then the service is away. */
const onceEach = () => {
  const answered = new Set<string>()
  return ({ path }: Received): Reply => {
    const kind = path.split("/").at(-1) ?? ""
    if (answered.has(kind)) return { status: 503 }
    answered.add(kind)
    return { status: 200, body: JSON.stringify(bodies[kind]) }
  }
}

/** Sets the clocks to now, and these times further. */
const moveClocks = (wall: number, monotonic: number) => {
  vi.restoreAllMocks()
  const [now, since] = [Date.now(), performance.now()]
  vi.spyOn(Date, "now").mockReturnValue(now + wall)
  vi.spyOn(performance, "now").mockReturnValue(since + monotonic)
}

const sourcesAfter = (wall: number, monotonic: number, test: (sources: ReadonlyArray<string>, held: boolean) => void) =>
  withServer(onceEach(), async ({ url }) => {
    const client = createProductClient({ baseUrl: url, token: "ksh_0", retries: 0 })
    moveClocks(0, 0)
    await client.check("globex-prod", "exports")
    await client.flags({})
    const seat = await client.acquireSeat("globex-prod", "editors", { holder: "anna", ttlSeconds: 60 })
    moveClocks(wall, monotonic)
    const whenAway = lastKnown(60 * SECOND, "closed")
    const { source } = await client.check("globex-prod", "exports", { whenAway })
    const flags = await client.flags({}, { maxAgeMs: 60 * SECOND })
    test([source, flags.source], seat.isHeld)
  })

describe("the age of what the client for TypeScript knows", () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.live("is known while both clocks go on", () =>
    sourcesAfter(30 * SECOND, 30 * SECOND, (sources, held) => {
      assert.deepStrictEqual(sources, ["lastKnown", "lastKnown"])
      assert.isTrue(held)
    }),
  )

  it.live("is too old after a day, although the clock was set back by a week", () =>
    sourcesAfter(-6 * DAY, DAY, (sources, held) => {
      assert.deepStrictEqual(sources, ["policy", "default"])
      assert.isFalse(held)
    }),
  )

  it.live("is too old after a day of sleep, in which the monotonic clock stood still", () =>
    sourcesAfter(DAY, 0, (sources, held) => {
      assert.deepStrictEqual(sources, ["policy", "default"])
      assert.isFalse(held)
    }),
  )

  it.live("is too old if the clock was set back while the machine slept", () =>
    sourcesAfter(-DAY, 0, (sources) => {
      assert.deepStrictEqual(sources, ["policy", "default"])
    }),
  )
})
