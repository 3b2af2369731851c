import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import { environmentManager, focusManager, QueryObserver } from "@tanstack/react-query"
import type { QueryClient } from "@tanstack/react-query"
import { vi } from "vitest"
import { deleteAndLeave } from "../../console/src/kernel/refresh/Leaving.ts"
import { createQueries, enabledWhen, keyOf } from "../../console/src/kernel/Queries.ts"

const GET = "GET /api/customers/:customerSlug"
const BELOW = "GET /api/customers/:customerSlug/integrations"
const LIST = "GET /api/customers"
const DELETE = "DELETE /api/customers/:customerSlug"

const POLL_MS = 15_000

const requestFor = (customerSlug: string) => ({ params: { customerSlug } })

let queries: QueryClient

beforeEach(() => {
  vi.useFakeTimers()
  // Timers of queries run in a browser only.
  environmentManager.setIsServer(() => false)
  queries = createQueries()
})

afterEach(() => {
  queries.clear()
  environmentManager.setIsServer(() => true)
  vi.useRealTimers()
})

/** A part of a page that reads every 15 seconds. It knows how often it read, and whether the last reading was aborted. */
const show = (
  operation: string,
  request: object,
  {
    answer = () => Promise.resolve("read"),
    isConditional = false,
  }: { readonly answer?: () => Promise<string>; readonly isConditional?: boolean } = {},
) => {
  const signals: Array<AbortSignal> = []
  const observer = new QueryObserver(queries, {
    queryKey: keyOf(operation, request),
    queryFn: ({ signal }) => {
      signals.push(signal)
      return answer()
    },
    refetchInterval: POLL_MS,
    // As the hooks do: by the default of the cache, or with a condition of their own.
    ...(isConditional ? { enabled: enabledWhen(true) } : {}),
  })
  const leave = observer.subscribe(() => undefined)
  return { leave, shown: () => observer.getCurrentResult().data, signals }
}

/** All that makes a page read again: an event, as the stream of events reports it, the focus of the window, and the time. */
const provoke = async () => {
  void queries.invalidateQueries({ predicate: ({ queryKey: [path] }) => String(path).startsWith("/api/customers") })
  await vi.advanceTimersByTimeAsync(POLL_MS)
  focusManager.setFocused(false)
  focusManager.setFocused(true)
  await vi.advanceTimersByTimeAsync(POLL_MS)
}

const remove = (slug: string, run: () => Promise<unknown> = () => Promise.resolve(undefined)) =>
  deleteAndLeave(queries, DELETE, requestFor(slug), run)

describe("a record that is deleted on its page", () => {
  const openPage = async () => {
    const parts = [
      show(GET, requestFor("acme")),
      show(BELOW, requestFor("acme")),
      show(BELOW, { ...requestFor("acme"), query: { limit: "200" } }, { isConditional: true }),
    ]
    await vi.advanceTimersByTimeAsync(0)
    return parts
  }
  const readings = (parts: Awaited<ReturnType<typeof openPage>>) => parts.map(({ signals }) => signals.length)

  it("is read again by events, by focus and by time until then", async () => {
    const page = await openPage()
    await provoke()
    assert.isTrue(readings(page).every((count) => count >= 4))
  })

  it("is not read again while its page is shown, and other records are", async () => {
    const page = await openPage()
    const others = [show(GET, requestFor("globex")), show(LIST, {})]
    await vi.advanceTimersByTimeAsync(0)
    await remove("acme", provoke)
    await provoke()
    assert.deepStrictEqual(readings(page), [1, 1, 1])
    // What was there stays until the next page is drawn.
    assert.deepStrictEqual(
      page.map(({ shown }) => shown()),
      ["read", "read", "read"],
    )
    assert.isTrue(readings(others).every((count) => count >= 6))
  })

  it("is not read to the end if it was being read", async () => {
    const slow = show(GET, requestFor("acme"), { answer: () => new Promise(() => undefined) })
    await vi.advanceTimersByTimeAsync(0)
    await remove("acme", () => {
      assert.deepStrictEqual(
        slow.signals.map(({ aborted }) => aborted),
        [true],
      )
      return Promise.resolve()
    })
    await provoke()
    assert.strictEqual(slow.signals.length, 1)
  })

  it("is forgotten with its page, and one of the same name is read", async () => {
    const page = await openPage()
    await remove("acme")
    const [first, ...rest] = page
    first?.leave()
    await provoke()
    assert.deepStrictEqual(readings(page), [1, 1, 1])
    for (const { leave } of rest) leave()
    await vi.advanceTimersByTimeAsync(0)
    assert.isUndefined(queries.getQueryData(keyOf(GET, requestFor("acme"))))
    const again = await openPage()
    await provoke()
    assert.isTrue(readings(again).every((count) => count >= 4))
  })

  it("is read again if it stays", async () => {
    const page = await openPage()
    const refused = new Error("still in use")
    assert.strictEqual(await remove("acme", () => Promise.reject(refused)).catch((error: unknown) => error), refused)
    await vi.advanceTimersByTimeAsync(0)
    assert.deepStrictEqual(readings(page), [2, 2, 2])
    await provoke()
    assert.isTrue(readings(page).every((count) => count >= 5))
  })

  it("is forgotten at once if its page was left before the answer", async () => {
    const page = await openPage()
    await remove("acme", () => {
      for (const { leave } of page) leave()
      return Promise.resolve()
    })
    assert.isUndefined(queries.getQueryData(keyOf(GET, requestFor("acme"))))
    const again = await openPage()
    assert.deepStrictEqual(readings(again), [1, 1, 1])
  })
})
