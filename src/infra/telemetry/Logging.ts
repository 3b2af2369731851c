/** Logs: pretty on a terminal, one JSON object a line otherwise; never with a credential in them. */
import { Console, Context, Effect, Layer, Logger, References } from "effect"
import type { Fiber } from "effect"
import { inspect } from "node:util"
import { withoutSecrets } from "./SecretMasking.ts"
import { Settings } from "../Settings.ts"

/** One JSON object a line. What looks like a credential is masked, whoever put it there. */
export const json = Logger.withConsoleLog(Logger.map(Logger.formatJson, withoutSecrets))

const clean = (shown: unknown): unknown => {
  if (typeof shown === "string") return withoutSecrets(shown)
  const text = inspect(shown, { depth: 8 })
  const safe = withoutSecrets(text)
  return safe === text ? shown : safe
}

const cleanConsole = (console: Console.Console): Console.Console =>
  Object.assign(Object.create(console) as Console.Console, {
    log: (...shown: ReadonlyArray<unknown>) => console.log(...shown.map(clean)),
    error: (...shown: ReadonlyArray<unknown>) => console.error(...shown.map(clean)),
  })

// The pretty logger takes its console from the fiber. Only that is replaced: what the service prints on purpose, such as
// a credential that is shown once, goes past the logs.
const onCleanConsole = (fiber: Fiber.Fiber<unknown, unknown>): Fiber.Fiber<unknown, unknown> =>
  Object.assign(Object.create(fiber) as Fiber.Fiber<unknown, unknown>, {
    getRef: <A>(reference: Context.Reference<A>): A =>
      Object.is(reference, Console.Console)
        ? (cleanConsole(fiber.getRef(Console.Console)) as A)
        : fiber.getRef(reference),
  })

/** Lines for people, masked like {@link json}. */
export const pretty = (options?: Parameters<typeof Logger.consolePretty>[0]) => {
  const logger = Logger.consolePretty(options)
  return Logger.make<unknown, void>((line) => logger.log({ ...line, fiber: onCleanConsole(line.fiber) }))
}

/** The loggers that the settings ask for. */
export const layer = Layer.unwrap(
  Effect.map(Settings, (settings) =>
    Layer.merge(
      Logger.layer([settings.logFormat === "pretty" ? pretty() : json]),
      Layer.succeed(References.MinimumLogLevel, settings.logLevel),
    ),
  ),
).pipe(Layer.provide(Settings.layer))
