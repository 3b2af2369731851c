import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Layer, Option } from "effect"
import { Settings } from "../../src/infra/Settings.ts"

const settingsUnder = (env: Record<string, string>) =>
  Effect.provide(Settings, Layer.fresh(Settings.layer)).pipe(
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(env))),
  )

const RETIRED = "SERVICE_RETENTION_RETIRED_TOKENS"
const EVENTS = "SERVICE_RETENTION_EVENTS"
const USAGE = "SERVICE_RETENTION_USAGE_EVENTS"
const HISTORY = "SERVICE_RETENTION_WEBHOOK_HISTORY"

describe("retention settings", () => {
  it.effect("default to 90 days for tokens, 30 days for delivery history and forever for events and usage", () =>
    Effect.gen(function* () {
      const { retention } = yield* settingsUnder({})
      assert.strictEqual(Duration.toDays(retention.retiredTokens), 90)
      assert.strictEqual(Duration.toDays(retention.webhookHistory), 30)
      assert.isTrue(Option.isNone(retention.events))
      assert.isTrue(Option.isNone(retention.usageEvents))
    }),
  )

  it.effect("accept a number and a unit", () =>
    Effect.gen(function* () {
      for (const [text, hours] of [
        ["90 days", 2160],
        ["1 day", 24],
        ["12 hours", 12],
        [" 2 weeks ", 336],
        ["90 minutes", 1.5],
        ["1.5 hours", 1.5],
        ["3600 seconds", 1],
        ["36500 days", 876_000],
      ] as const) {
        const { retention } = yield* settingsUnder({ [RETIRED]: text })
        assert.strictEqual(Duration.toHours(retention.retiredTokens), hours, text)
      }
    }),
  )

  it.effect("reject everything else with a message that names the setting and shows an example", () =>
    Effect.gen(function* () {
      for (const text of [
        "90",
        "days",
        "-1 days",
        "0 days",
        "90 fortnights",
        "P90D",
        "1e3 days",
        "36501 days",
        "for ever",
      ]) {
        const error = yield* Effect.flip(settingsUnder({ [RETIRED]: text }))
        assert.match(error.message, new RegExp(`^${RETIRED} is not valid: .*90 days`), text)
      }
    }),
  )

  it.effect("must retain events at least as long as the delivery history", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(settingsUnder({ [EVENTS]: "29 days" }))
      assert.match(error.message, /^SERVICE_RETENTION_EVENTS is not valid: .*SERVICE_RETENTION_WEBHOOK_HISTORY \(30d\)/)
      const equal = yield* settingsUnder({ [EVENTS]: "7 days", [HISTORY]: "7 days" })
      assert.strictEqual(Option.map(equal.retention.events, Duration.toDays).pipe(Option.getOrThrow), 7)
    }),
  )

  it.effect("must retain usage as long as late reports and sites need it", () =>
    Effect.gen(function* () {
      for (const text of ["89 days", "35 days", "1 hour"]) {
        const error = yield* Effect.flip(settingsUnder({ [USAGE]: text }))
        assert.strictEqual(
          error.message,
          "SERVICE_RETENTION_USAGE_EVENTS is not valid: expected at least 90 days. Late reports need 35 days, and sites upload usage until 90 days after the end of their bundle.",
          text,
        )
      }
      const least = yield* settingsUnder({ [USAGE]: "90 days" })
      assert.strictEqual(Option.map(least.retention.usageEvents, Duration.toDays).pipe(Option.getOrThrow), 90)
      assert.match((yield* Effect.flip(settingsUnder({ [USAGE]: "90" }))).message, new RegExp(`^${USAGE} is not valid`))
    }),
  )
})
