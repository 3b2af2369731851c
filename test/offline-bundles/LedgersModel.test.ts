import { assert, layer } from "@effect/vitest"
import { Arbitrary, Context, Effect, Layer, Schema } from "effect"
import { DAY_MS } from "../../src/kernel/values/Timestamp.ts"
import { anotherNode } from "../events/support.ts"
import { TestService } from "../support/TestService.ts"
import type { HttpResponse } from "../support/TestService.ts"
import { linesOf, newSource, openLedgerSite, sha256 } from "./LedgerSite.ts"
import type { Use } from "./LedgerSite.ts"
import { iso } from "./Site.ts"

/** A second node on the same database. */
class OtherNode extends Context.Service<OtherNode, TestService["Service"]>()("keyshelf/test/OtherNode") {
  static readonly layer = Layer.effect(OtherNode, anotherNode)
}

const upTo = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))
/** Lines around the next one that the service has not: `back` 0 leaves one out. */
const slice = { back: upTo(4), count: upTo(5), node: upTo(1) }
const Step = Schema.Union([
  Schema.Struct({ does: Schema.Literal("write"), value: upTo(9), day: upTo(2), count: upTo(3) }),
  Schema.Struct({ does: Schema.Literal("upload"), ...slice }),
  /** The upload, whose answer is lost, is repeated through the other node. */
  Schema.Struct({ does: Schema.Literal("repeat"), ...slice }),
  /** Two lines change places. */
  Schema.Struct({ does: Schema.Literal("reorder"), ...slice, at: upTo(6) }),
  /** A line is left out. */
  Schema.Struct({ does: Schema.Literal("cut"), ...slice, at: upTo(6) }),
  /** A copy of the machine, as it was some lines ago, goes on by itself. What it can upload is the ledger from then on. */
  Schema.Struct({ does: Schema.Literal("fork"), ...slice, ago: upTo(2) }),
  /** Both nodes get an upload at the same time. */
  Schema.Struct({ does: Schema.Literal("race"), ...slice, other: upTo(4) }),
])
type Step = typeof Step.Type

const steps = Arbitrary.schema(Schema.Array(Step).check(Schema.isMinLength(10), Schema.isMaxLength(24)))

interface Outcome {
  readonly stored: ReadonlyArray<string>
  readonly answer: unknown
}

/** What an upload does to a ledger of which all lines are known, and what it answers. */
const expectedOf = (source: string, before: ReadonlyArray<string>, sent: ReadonlyArray<string>): Outcome => {
  const stored = [...before]
  for (const text of sent) {
    const { id, prevhash } = JSON.parse(text)
    const number = Number(id)
    if (number > stored.length + 1) return { stored: before, answer: "UploadOfflineUsage.LedgerGap" }
    const isNext = number === stored.length + 1
    const follows = isNext
      ? prevhash === sha256(stored.at(-1) ?? source)
      : number < stored.length || text === stored.at(-1)
    if (!follows) return { stored: before, answer: "UploadOfflineUsage.LedgerForked" }
    if (isNext) stored.push(text)
  }
  const accepted = stored.length - before.length
  const head = sha256(stored.at(-1) ?? source)
  return { stored, answer: [accepted, sent.length - accepted, stored.length, head] }
}

const answerOf = ({ body, status }: HttpResponse): unknown =>
  status === 200 ? [body.accepted, body.duplicates, body.lines, body.head] : body.code

const swapped = (lines: ReadonlyArray<string>, at: number): ReadonlyArray<string> => {
  const place = lines.length === 0 ? 0 : at % lines.length
  return [...lines.slice(0, place), ...lines.slice(place).toReversed()]
}

layer(OtherNode.layer.pipe(Layer.provideMerge(TestService.separate)), { excludeTestServices: true })(
  "an upload of a ledger",
  (it) => {
    it.effect.prop(
      "however it is repeated, reordered, cut, forked and raced, counts each line once",
      { steps },
      ({ steps }) =>
        Effect.gen(function* () {
          const site = yield* openLedgerSite
          const nodes = [yield* TestService, yield* OtherNode]
          const { token } = site.tenant
          yield* site.metered("daily", 20, { resetPeriod: "DAY" })
          yield* site.metered("hits", 5, { aggregationMethod: "COUNT" })
          const source = newSource()
          const midnight = Math.ceil(site.issuedAt / DAY_MS) * DAY_MS
          const defaults = { bundleId: String(site.bundle.id), time: midnight }
          const usesOf = (value: number, day: number, count: number): ReadonlyArray<Use> =>
            Array.from({ length: count }, (_, index) => ({
              type: index % 2 === 0 ? "daily" : "hits",
              value,
              time: midnight + day * DAY_MS,
            }))
          let written = yield* linesOf(source, usesOf(3, 0, 6), defaults)
          let stored: ReadonlyArray<string> = []

          const upload = (node: number, lines: ReadonlyArray<string>) =>
            (nodes[node % 2] ?? nodes[0])!.core("POST", "/instances/prod/offline-usage", {
              token,
              body: { source, lines },
            })
          const check = Effect.fnUntraced(function* (node: number, lines: ReadonlyArray<string>) {
            if (lines.length === 0) return
            const expected = expectedOf(source, stored, lines)
            const answer = yield* upload(node, lines)
            assert.deepStrictEqual(answerOf(answer), expected.answer, answer.text)
            stored = expected.stored
          })
          const race = Effect.fnUntraced(function* (one: ReadonlyArray<string>, two: ReadonlyArray<string>) {
            if (one.length === 0 || two.length === 0) return
            const answers = yield* Effect.all([upload(0, one), upload(1, two)], { concurrency: 2 })
            const first = expectedOf(source, stored, one)
            const second = expectedOf(source, stored, two)
            const orders = [
              { after: expectedOf(source, first.stored, two), answers: (last: unknown) => [first.answer, last] },
              { after: expectedOf(source, second.stored, one), answers: (last: unknown) => [last, second.answer] },
            ]
            const real = answers.map(answerOf)
            const order = orders.find(
              (each) => JSON.stringify(each.answers(each.after.answer)) === JSON.stringify(real),
            )
            if (order === undefined) return assert.fail(`${JSON.stringify(real)} is the answer in no order`)
            stored = order.after.stored
          })

          const run = Effect.fnUntraced(function* (step: Step) {
            if (step.does === "write") {
              const position = { lines: written.length, head: sha256(written.at(-1) ?? source) }
              const more = yield* linesOf(source, usesOf(step.value, step.day, step.count + 1), defaults, position)
              written = [...written, ...more]
              return
            }
            const around = (back: number) => {
              const from = Math.max(0, stored.length + 1 - back)
              return written.slice(from, from + step.count + 1)
            }
            const sent = around(step.back)
            switch (step.does) {
              case "upload":
                return yield* check(step.node, sent)
              case "repeat": {
                if (sent.length === 0) return
                yield* upload(step.node, sent)
                stored = expectedOf(source, stored, sent).stored
                return yield* check(step.node + 1, sent)
              }
              case "reorder":
                return yield* check(step.node, swapped(sent, step.at))
              case "cut":
                return yield* check(
                  step.node,
                  sent.filter((_, index) => index !== step.at),
                )
              case "fork": {
                const copied = stored.slice(0, Math.max(0, stored.length - step.ago))
                const position = { lines: copied.length, head: sha256(copied.at(-1) ?? source) }
                const own = yield* linesOf(source, usesOf(7, 1, step.count + 1), defaults, position)
                yield* check(step.node, [...copied.slice(-step.back), ...own])
                if (stored.at(-1) === own.at(-1)) written = stored
                return
              }
              case "race":
                return yield* race(sent, around(step.other))
            }
          })
          for (const step of steps) yield* run(step)

          const counted = stored.map((text) => JSON.parse(text))
          const sums: Record<string, number> = {}
          for (const { data, time, type } of counted) {
            if (type === "daily") sums[time] = (sums[time] ?? 0) + data.value
          }
          const usage = yield* site.stored("daily")
          assert.deepStrictEqual(Object.fromEntries(usage.map(([start, value]) => [start, Number(value)])), sums)
          assert.deepStrictEqual(
            usage.map(([, , brought]) => brought ?? "0"),
            usage.map(([, value]) => value),
          )
          const hits = counted.filter(({ type }) => type === "hits").length
          assert.deepStrictEqual(yield* site.used("hits"), [hits, hits])
          const crossed = (value: number, limit: number) => (value > limit ? 1 : 0)
          const exceeded = Object.values(sums).reduce((sum, value) => sum + crossed(value, 20), crossed(hits, 5))
          assert.strictEqual((yield* site.eventsOf("ENTITLEMENT_USAGE_CAP_EXCEEDED")).length, exceeded)
          const uploads = yield* site.eventsOf("OFFLINE_USAGE_UPLOADED")
          const accepted = uploads.map(({ data }: { data: { accepted: number } }) => data.accepted)
          assert.strictEqual(
            accepted.reduce((sum: number, count: number) => sum + count, 0),
            stored.length,
          )
          assert.isFalse(accepted.includes(0), iso(midnight))
        }),
      { arbitrary: { runs: 40 }, timeout: 120_000 },
    )
  },
)
