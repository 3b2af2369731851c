import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { days, months } from "../../src/kernel/database/TimePartitions.ts"

const instants = Schema.Int.check(Schema.isBetween({ minimum: Date.UTC(100, 0), maximum: Date.UTC(9998, 0) }))

describe("partitions by time", () => {
  for (const [name, span, pattern] of [
    ["day", days, /^(\d{4})(\d\d)(\d\d)$/],
    ["month", months, /^(\d{4})(\d\d)$/],
  ] as const) {
    it.effect.prop(
      `each instant is in one ${name}, whose name reads back as its start`,
      { millis: instants },
      ({ millis }) =>
        Effect.sync(() => {
          const at = new Date(millis)
          const number = span.of(at)
          const [start, end] = [span.startOf(number), span.startOf(number + 1)]
          assert.isTrue(start <= at && at < end, `${start.toISOString()} <= ${at.toISOString()} < ${end.toISOString()}`)
          assert.strictEqual(span.of(start), number)
          assert.strictEqual(span.of(new Date(end.getTime() - 1)), number)
          const [, year, month, day = "01"] = pattern.exec(span.suffixOf(number)) ?? []
          assert.strictEqual(`${year}-${month}-${day}T00:00:00.000Z`, start.toISOString())
        }),
    )
  }
})
