/**
 * Exports traces, metrics and logs over OTLP to `SERVICE_OTLP_ENDPOINT`. Without that setting the exporters are not
 * loaded and no spans are created.
 */
import { Effect, Layer, Option, References } from "effect"
import { Settings } from "../Settings.ts"

/** The exporters that the settings select. Adds an exporter to the loggers below it. */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { otlpEndpoint } = yield* Settings
    if (Option.isNone(otlpEndpoint)) return Layer.succeed(References.TracerEnabled, false)
    const otlp = yield* Effect.promise(() => import("./OtlpExport.ts"))
    return otlp.layerFrom(otlpEndpoint.value)
  }),
).pipe(Layer.provide(Settings.layer))
