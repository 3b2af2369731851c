/** The process: listeners and workers by role; nothing else. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Layer, Option, Redacted } from "effect"
import { allScopes, PlatformCredentials } from "./access/PlatformCredentials.ts"
import { coreRoutes, internalRoutes, platformRoutes, services } from "./App.ts"
import * as Database from "./runtime/Database.ts"
import * as DatabaseClock from "./runtime/DatabaseClock.ts"
import * as Listeners from "./runtime/Listeners.ts"
import * as Logging from "./runtime/Logging.ts"
import * as OutboundHttp from "./runtime/OutboundHttp.ts"
import * as Secrets from "./runtime/Secrets.ts"
import { Settings } from "./runtime/Settings.ts"
import type { Role } from "./runtime/Settings.ts"

/** The services of a process: settings, keys, database, clock, use cases. */
export const backend = (whenRunning: Database.WhenRunning) =>
  services.pipe(
    Layer.provideMerge(DatabaseClock.layer),
    Layer.provideMerge(Database.layer(whenRunning)),
    Layer.provideMerge(Secrets.layer.pipe(Layer.provide(NodeServices.layer))),
    Layer.provideMerge(OutboundHttp.layer),
    Layer.provideMerge(Settings.layer),
  )

const listeners = Layer.unwrap(
  Effect.gen(function* () {
    const { corePort, host, internalPort, platformPort, roles } = yield* Settings
    const when = <A, E, R>(role: Role, listener: Layer.Layer<A, E, R>) =>
      roles.has(role) ? Layer.effectDiscard(Layer.build(listener)) : Layer.empty
    return Layer.mergeAll(
      when("core", Listeners.serve(coreRoutes, { host, port: corePort, setting: "SERVICE_CORE_PORT" })),
      when("platform", Listeners.serve(platformRoutes, { host, port: platformPort, setting: "SERVICE_PLATFORM_PORT" })),
      when("internal", Listeners.serve(internalRoutes, { host, port: internalPort, setting: "SERVICE_INTERNAL_PORT" })),
    )
  }),
)

/**
 * The first platform credential: the one from the settings; else, on an embedded database that has none yet, a new
 * one, answered so that the banner shows it this once.
 */
const firstCredential = Effect.gen(function* () {
  const settings = yield* Settings
  const credentials = yield* PlatformCredentials
  if (Option.isSome(settings.bootstrapPlatformCredential)) {
    yield* credentials.ensure(settings.bootstrapPlatformCredential.value)
    return Option.none<Redacted.Redacted>()
  }
  if (Option.isSome(settings.databaseUrl) || (yield* credentials.exists)) return Option.none<Redacted.Redacted>()
  const issued = yield* credentials.createLocally({ name: "first", scopes: allScopes })
  return Option.some(issued.token)
})

const banner = Effect.fnUntraced(function* (credential: Option.Option<Redacted.Redacted>) {
  const { corePort, host, internalPort, platformPort, roles } = yield* Settings
  const shown = host.includes(":") ? `[${host}]` : host
  const lines = [
    "Keyshelf is ready.",
    ...(roles.has("core")
      ? [`  Core API      http://${shown}:${corePort}/api`, `  Documentation http://${shown}:${corePort}/docs`]
      : []),
    ...(roles.has("platform") ? [`  Platform API  http://${shown}:${platformPort}/api`] : []),
    ...(roles.has("internal") ? [`  Health        http://${shown}:${internalPort}/health/ready`] : []),
    ...(Option.isSome(credential)
      ? [
          "",
          "  The operator's platform credential, shown this once (keep it; `keyshelf platform-credential create` makes another):",
          `  ${Redacted.value(credential.value)}`,
        ]
      : []),
  ]
  yield* Console.log(`${lines.join("\n")}\n`)
})

/** Runs the service until it is interrupted; then listeners drain, and the database closes last. */
export const serve = Effect.gen(function* () {
  const credential = yield* firstCredential
  yield* Layer.build(listeners)
  yield* banner(credential)
  return yield* Effect.never
}).pipe(Effect.scoped, Effect.provide(backend("refuse")), Effect.provide(Logging.layer))
