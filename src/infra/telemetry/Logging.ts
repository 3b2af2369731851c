/** Loggers: pretty on a terminal, else one JSON object per line. They mask credentials. */
import { Console, Context, Effect, Layer, Logger, References } from "effect"
import type { Fiber } from "effect"
import { inspect } from "node:util"
import { withoutSecrets } from "./SecretMasking.ts"
import { Settings } from "../Settings.ts"

/** Logs one JSON object per line. Masks all text that looks like a credential, wherever it came from. */
export const json = Logger.withConsoleLog(Logger.map(Logger.formatJson, withoutSecrets))

const mask = (value: unknown): unknown => {
  if (typeof value === "string") return withoutSecrets(value)
  const text = inspect(value, { depth: 8 })
  const masked = withoutSecrets(text)
  return masked === text ? value : masked
}

const maskingConsole = (console: Console.Console): Console.Console =>
  Object.assign(Object.create(console) as Console.Console, {
    log: (...values: ReadonlyArray<unknown>) => console.log(...values.map(mask)),
    error: (...values: ReadonlyArray<unknown>) => console.error(...values.map(mask)),
  })

// The pretty logger takes its console from the fiber, so only that console is replaced. Output that must show a
// credential once does not go through the loggers.
const withMaskingConsole = (fiber: Fiber.Fiber<unknown, unknown>): Fiber.Fiber<unknown, unknown> =>
  Object.assign(Object.create(fiber) as Fiber.Fiber<unknown, unknown>, {
    getRef: <A>(reference: Context.Reference<A>): A =>
      Object.is(reference, Console.Console)
        ? (maskingConsole(fiber.getRef(Console.Console)) as A)
        : fiber.getRef(reference),
  })

/** Logs human-readable lines, masked like {@link json}. */
export const pretty = (options?: Parameters<typeof Logger.consolePretty>[0]) => {
  const logger = Logger.consolePretty(options)
  return Logger.make<unknown, void>((line) => logger.log({ ...line, fiber: withMaskingConsole(line.fiber) }))
}

/** The logger and log level that the settings select. */
export const layer = Layer.unwrap(
  Effect.map(Settings, (settings) =>
    Layer.merge(
      Logger.layer([settings.logFormat === "pretty" ? pretty() : json]),
      Layer.succeed(References.MinimumLogLevel, settings.logLevel),
    ),
  ),
).pipe(Layer.provide(Settings.layer))
