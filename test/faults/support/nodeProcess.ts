/** Runs the service like `keyshelf serve`, with delivery limits that the settings do not allow. */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Duration, Effect, Exit, Runtime } from "effect"
import { serve } from "../../../src/app/Process.ts"
import { DeliveryLimits } from "../../../src/domains/webhooks/DeliveryLimits.ts"

/** Limits that a fault test can lower, in milliseconds. */
export interface LimitsInMillis {
  readonly lease?: number
  readonly timeout?: number
  readonly drain?: number
  readonly disableAfter?: number
}

const given = JSON.parse(process.env["FAULTS_LIMITS"] ?? "{}") as Record<string, number>

Effect.gen(function* () {
  const limits = {
    ...(yield* DeliveryLimits),
    ...Object.fromEntries(Object.entries(given).map(([name, millis]) => [name, Duration.millis(millis)])),
  }
  return yield* Effect.provideService(serve, DeliveryLimits, limits)
}).pipe(
  NodeRuntime.runMain({
    teardown: (exit, onExit) =>
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit),
  }),
)
