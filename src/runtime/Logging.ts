/** Logs: pretty on a terminal, one JSON object a line otherwise. */
import { Effect, Layer, Logger, References } from "effect"
import { Settings } from "./Settings.ts"

/** The loggers that the settings ask for. */
export const layer = Layer.unwrap(
  Effect.map(Settings, (settings) =>
    Layer.merge(
      Logger.layer([settings.logFormat === "pretty" ? Logger.consolePretty() : Logger.consoleJson]),
      Layer.succeed(References.MinimumLogLevel, settings.logLevel),
    ),
  ),
).pipe(Layer.provide(Settings.layer))
