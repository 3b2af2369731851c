/** How long a seat is held, whatever happens to the clocks of the machine. */
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { createProductClient } from "../../../clients/typescript/src/product/index.ts"
import { withServer } from "./answering.ts"

const SECOND = 1000
const DAY = 86_400 * SECOND

const lease = { id: "l-1", expiresAt: "2026-11-25T08:50:23.476Z" }

/** Sets the clocks to now, and these times further. */
const moveClocks = (wall: number, monotonic: number) => {
  vi.restoreAllMocks()
  const [now, since] = [Date.now(), performance.now()]
  vi.spyOn(Date, "now").mockReturnValue(now + wall)
  vi.spyOn(performance, "now").mockReturnValue(since + monotonic)
}

const isHeldAfter = (wall: number, monotonic: number, test: (held: boolean) => void) =>
  withServer(
    () => ({ status: 201, body: JSON.stringify(lease) }),
    async ({ url }) => {
      const client = createProductClient({ baseUrl: url, token: "ksh_0", mode: "remote", retries: 0 })
      moveClocks(0, 0)
      const seat = await client.acquireSeat("globex-prod", "editors", { holder: "anna", ttlSeconds: 60 })
      moveClocks(wall, monotonic)
      test(seat.isHeld)
    },
  )

describe("a seat of the client for TypeScript", () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it.live("is held while both clocks go on", () => isHeldAfter(30 * SECOND, 30 * SECOND, (held) => assert.isTrue(held)))

  it.live("is not held after a day, although the clock was set back by a week", () =>
    isHeldAfter(-6 * DAY, DAY, (held) => assert.isFalse(held)),
  )

  it.live("is not held after a day of sleep, in which the monotonic clock stood still", () =>
    isHeldAfter(DAY, 0, (held) => assert.isFalse(held)),
  )
})
