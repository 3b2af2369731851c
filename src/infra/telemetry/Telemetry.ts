/**
 * Traces, metrics and logs over OTLP to the receiver that `SERVICE_OTLP_ENDPOINT` names. Without it nothing of it is
 * loaded, and no spans are built.
 */
import { Effect, Layer, Option, References } from "effect"
import { Settings } from "../Settings.ts"

/** The exporters that the settings ask for. Built on the loggers, which it adds to. */
export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { otlpEndpoint } = yield* Settings
    if (Option.isNone(otlpEndpoint)) return Layer.succeed(References.TracerEnabled, false)
    const exporting = yield* Effect.promise(() => import("./OtlpExport.ts"))
    return exporting.layerFrom(otlpEndpoint.value)
  }),
).pipe(Layer.provide(Settings.layer))
