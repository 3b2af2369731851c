/** The buffer of reports: what was taken is counted once, whatever happens between. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { appendFileSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setImmediate } from "node:timers/promises"
import {
  BufferFull,
  BufferLocked,
  createProductClient,
  FlushFailed,
} from "../../../clients/typescript/src/product/node.ts"
import type { BufferOptions, FlushResult, UsageBuffer } from "../../../clients/typescript/src/product/node.ts"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"
import { failureOf, withServer } from "./answering.ts"
import type { Received, Reply } from "./answering.ts"

const STOPPED = "http://127.0.0.1:1"

const openAt = (baseUrl: string, options: BufferOptions = {}) =>
  createProductClient({ baseUrl, token: "ksh_0", retries: 0 }).usageBuffer(options)

const idsIn = (path: string): ReadonlyArray<string> =>
  readFileSync(path, "utf8")
    .split("\n")
    .slice(1, -1)
    .map((line) => JSON.parse(line).id)

/** A service that counts each event once, and loses some of its responses. */
const counting = ({ lost = 0, poison = "" } = {}) => {
  const counted: Array<string> = []
  const answer = ({ body }: Received, number: number): Reply => {
    if (poison !== "" && body.includes(poison)) {
      return { status: 422, body: '{"code":"Request.ValidationFailed","detail":"body[0]"}' }
    }
    const results = JSON.parse(body).map(({ id, source }: { readonly id: string; readonly source: string }) => {
      const key = `${source} ${id}`
      if (counted.includes(key)) return { id, status: "duplicate" }
      counted.push(key)
      return { id, status: "accepted" }
    })
    return lost > 0 && number % lost === lost - 1 ? "lost" : { status: 200, body: JSON.stringify({ results }) }
  }
  return { counted, answer }
}

/** Flushes once, and returns what that did, also if it failed. */
const flushOnce = (buffer: UsageBuffer): Promise<FlushResult> =>
  buffer.flush().catch((error: unknown) => {
    assert.instanceOf(error, FlushFailed)
    return error.result
  })

const inFile = (test: (path: string) => Promise<void>) =>
  Effect.scoped(
    Effect.flatMap(temporaryDirectory, (directory) => Effect.promise(() => test(join(directory, "usage.jsonl")))),
  )

describe("the usage buffer in TypeScript", () => {
  it.live("events survive a restart, and leave by their results", () => {
    const { answer, counted } = counting()
    return withServer(answer, ({ url }) =>
      Effect.runPromise(
        inFile(async (path) => {
          const first = await openAt(STOPPED, { path })
          const ids = await Promise.all([1, 2, 3].map((value) => first.report("globex-prod", "api-calls", value)))
          const failed = await failureOf(first.flush())
          assert.instanceOf(failed, FlushFailed)
          assert.isTrue(failed.isAway)
          await first.close()
          const second = await openAt(url, { path })
          assert.deepStrictEqual([second.size, second.source], [3, first.source])
          assert.strictEqual((await second.flush()).accepted, 3)
          await second.close()
          const third = await openAt(url, { path })
          assert.strictEqual(third.size, 0)
          await third.close()
          assert.deepStrictEqual(
            counted,
            ids.map((id) => `${first.source} ${id}`),
          )
        }),
      ),
    )
  })

  it.live("what was taken is there after kill -9", () =>
    inFile(async (path) => {
      const reporter = spawn(process.execPath, [join(import.meta.dirname, "reporter.ts"), path], {
        stdio: ["ignore", "pipe", "inherit"],
      })
      const taken: Array<string> = []
      for await (const id of createInterface({ input: reporter.stdout })) {
        taken.push(id)
        if (taken.length === 20) reporter.kill("SIGKILL")
      }
      assert.isAtLeast(taken.length, 20)
      const again = await openAt(STOPPED, { path })
      await again.close()
      assert.deepStrictEqual(idsIn(path).slice(0, taken.length), taken)
    }),
  )

  it.live("a line that was cut off is left out, and others stay", () =>
    inFile(async (path) => {
      const buffer = await openAt(STOPPED, { path })
      await buffer.report("globex-prod", "api-calls", 1, { id: "first" })
      await buffer.close()
      appendFileSync(path, '{"specversion":"1.0","id":"cut')
      const again = await openAt(STOPPED, { path })
      await again.report("globex-prod", "api-calls", 1, { id: "second" })
      await again.close()
      assert.deepStrictEqual(idsIn(path), ["first", "second"])
    }),
  )

  it.live("one buffer uses a file, and no other file is overwritten", () =>
    inFile(async (path) => {
      const buffer = await openAt(STOPPED, { path })
      assert.instanceOf(await failureOf(openAt(STOPPED, { path })), BufferLocked)
      await buffer.close()
      assert.instanceOf(await failureOf(buffer.report("globex-prod", "api-calls")), TypeError)
      for (const content of ["hello", "hello\n", '{"format":"x"}\n', "[]\n"]) {
        writeFileSync(path, content)
        await failureOf(openAt(STOPPED, { path }))
        assert.strictEqual(readFileSync(path, "utf8"), content)
      }
    }),
  )

  it("a full buffer takes no report, also while others are being stored", async () => {
    const buffer = await openAt(STOPPED, { capacity: 2 })
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => buffer.report("globex-prod", "api-calls")))
    assert.deepStrictEqual(
      outcomes.map((outcome) => outcome.status),
      ["fulfilled", "fulfilled", "rejected"],
    )
    assert.instanceOf(await failureOf(buffer.report("globex-prod", "api-calls")), BufferFull)
    assert.strictEqual(buffer.size, 2)
  })

  it.live("lost responses count nothing twice, and lose nothing", () => {
    const { answer, counted } = counting({ lost: 3 })
    return withServer(answer, ({ url }) =>
      Effect.runPromise(
        inFile(async (path) => {
          const buffer = await openAt(url, { path })
          const reporting = { isActive: true }
          const ids = Promise.all(
            [1, 2, 3].map(async () => {
              const taken: Array<string> = []
              while (taken.length < 100) taken.push(await buffer.report("globex-prod", "api-calls"))
              return taken
            }),
          ).finally(() => (reporting.isActive = false))
          let settled = 0
          while (reporting.isActive || buffer.size > 0) {
            // A flush of an empty buffer leaves no turn to the reports.
            await setImmediate()
            const { accepted, duplicates } = await flushOnce(buffer)
            settled += accepted + duplicates
          }
          await buffer.close()
          const expected = (await ids).flat().map((id) => `${buffer.source} ${id}`)
          assert.deepStrictEqual(counted.toSorted(), expected.toSorted())
          assert.strictEqual(settled, 300)
        }),
      ),
    )
  })

  it.live("large buffers are sent in batches", () => {
    const { answer } = counting()
    return withServer(answer, async ({ requests, url }) => {
      const buffer = await openAt(url)
      const wide = "ü".repeat(255)
      for (let number = 0; number < 1_001; number++) await buffer.report("globex-prod", "api-calls")
      for (let number = 0; number < 900; number++) await buffer.report(wide, wide, 1, { uniqueKey: wide })
      assert.strictEqual((await buffer.flush()).accepted, 1_901)
      assert.lengthOf(JSON.parse(requests[0]?.body ?? ""), 1_000)
      for (const { body } of requests) assert.isBelow(Buffer.byteLength(body), 1 << 20)
    })
  })

  it.live("one event that the service cannot read blocks no other", () => {
    const { answer } = counting({ poison: "poison" })
    return withServer(answer, async ({ url }) => {
      const buffer = await openAt(url)
      for (const id of ["a", "b", "poison", "c", "d"]) await buffer.report("globex-prod", "api-calls", 1, { id })
      const { accepted, rejected } = await buffer.flush()
      assert.deepStrictEqual(
        rejected.map(({ code, event }) => [event.id, code]),
        [["poison", "Request.ValidationFailed"]],
      )
      assert.deepStrictEqual([accepted, buffer.size], [4, 0])
    })
  })

  it.live("the background flushes until it is stopped", () => {
    const { answer, counted } = counting()
    return withServer(answer, async ({ url }) => {
      const buffer = await openAt(url)
      await buffer.report("globex-prod", "api-calls")
      await new Promise<void>((flushed) => buffer.start(10, () => flushed()))
      await buffer.stop()
      assert.deepStrictEqual([buffer.size, counted.length], [0, 1])
    })
  })
})
