/** Assembles the process: its services, and the listeners and workers of its roles. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Layer, Option, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { AuthMode } from "../domains/access/tokens/GatewayTokens.ts"
import { allScopes, PlatformCredentials } from "../domains/access/PlatformCredentials.ts"
import * as InstallationKeys from "./InstallationKeys.ts"
import { coreRoutes, coreRoutesWithoutWebhooks, internalRoutes, platformRoutes, webhookRoutes } from "./Routes.ts"
import { services } from "./Services.ts"
import { CurrentRetentionPeriods } from "../kernel/ports/RetentionPeriods.ts"
import * as AuditWorker from "../domains/audit/Worker.ts"
import * as MigrationsWorker from "../domains/licensemoves/Worker.ts"
import * as CreditExpiryWorker from "../domains/usage/credits/Worker.ts"
import * as TermNoticesWorker from "../domains/instances/terms/Worker.ts"
import { CurrentTermLeads } from "../domains/instances/terms/Leads.ts"
import * as SweeperWorker from "../domains/maintenance/Worker.ts"
import { commandLine } from "../infra/PackageFiles.ts"
import * as Database from "../infra/database/Database.ts"
import * as DatabaseClock from "../infra/database/DatabaseClock.ts"
import * as FileDescriptors from "../infra/FileDescriptors.ts"
import * as Cors from "../http/middleware/Cors.ts"
import * as ConsoleRoutes from "../http/routes/console/Console.ts"
import * as ConsoleFiles from "../http/routes/console/ConsoleFiles.ts"
import * as Health from "../http/routes/Health.ts"
import { SecurityContact } from "../http/routes/SecurityText.ts"
import * as OpenIdKeys from "../infra/outbound/OpenIdKeys.ts"
import * as Listeners from "../http/Listeners.ts"
import * as Logging from "../infra/telemetry/Logging.ts"
import * as OutboundHttp from "../infra/outbound/OutboundHttp.ts"
import * as ProcessMetrics from "../infra/telemetry/ProcessMetrics.ts"
import * as RateBudgets from "../infra/RateBudgets.ts"
import * as RequestDeadlines from "../http/middleware/RequestDeadlines.ts"
import * as ListenNotify from "../infra/database/ListenNotify.ts"
import { hostInUrl } from "../infra/HostUrl.ts"
import * as LivenessSession from "../infra/database/LivenessSession.ts"
import { Settings } from "../infra/Settings.ts"
import { collectAfterStart } from "./StartupGc.ts"
import * as Telemetry from "../infra/telemetry/Telemetry.ts"
import type { Role } from "../infra/SettingFormats.ts"
import type { Transactions } from "../kernel/database/Transactions.ts"
import { DeliveryLimits } from "../domains/webhooks/DeliveryLimits.ts"
import type { WebhookProvider } from "../domains/webhooks/outbox/Provider.ts"
import * as QueueProvider from "../domains/webhooks/outbox/QueueProvider.ts"
import { engine } from "../domains/webhooks/Layer.ts"
import { WebhookSender } from "../domains/webhooks/delivery/Sender.ts"
import * as SvixProvider from "../domains/webhooks/outbox/SvixProvider.ts"
import { ChangeStreamLimits } from "../domains/events/changes/Limits.ts"
import { OutboxSelection } from "../domains/webhooks/outbox/OutboxFilter.ts"
import * as DispatcherWorker from "../domains/webhooks/delivery/Worker.ts"

/** The services of a process: settings, keys, database, clock and use cases. */
export const backend = (whenRunning: Database.WhenRunning) =>
  services.pipe(
    Layer.provideMerge(ListenNotify.layer),
    Layer.provideMerge(InstallationKeys.layer.pipe(Layer.provide(NodeServices.layer))),
    Layer.provideMerge(DatabaseClock.layer),
    Layer.provideMerge(Database.layer(whenRunning)),
    Layer.provideMerge(Layer.merge(OutboundHttp.layer, OpenIdKeys.layer)),
    Layer.provideMerge(
      Layer.effect(
        AuthMode,
        Effect.map(Settings, ({ authMode }) => authMode),
      ),
    ),
    Layer.provideMerge(
      Layer.effect(
        Cors.AllowedOrigins,
        Effect.map(Settings, ({ corsOrigins }) => Option.getOrUndefined(corsOrigins)),
      ),
    ),
    Layer.provideMerge(
      Layer.effect(
        SecurityContact,
        Effect.map(Settings, ({ securityContact }) => Option.getOrUndefined(securityContact)),
      ),
    ),
    Layer.provideMerge(
      Layer.effect(
        CurrentRetentionPeriods,
        Effect.map(Settings, ({ retention }) => retention),
      ),
    ),
    Layer.provideMerge(
      Layer.effect(
        CurrentTermLeads,
        Effect.map(Settings, ({ termNotices }) => termNotices),
      ),
    ),
    Layer.provideMerge(
      Layer.effect(
        ChangeStreamLimits,
        Effect.gen(function* () {
          const defaults = yield* ChangeStreamLimits
          const { changeStreams } = yield* Settings
          return Object.assign({}, defaults, { streamsPerProcess: changeStreams })
        }),
      ),
    ),
    Layer.provideMerge(
      Layer.effect(
        OutboxSelection,
        Effect.map(Settings, ({ svix }) => (Option.isSome(svix) ? "all" : "subscribed")),
      ),
    ),
    Layer.provideMerge(Settings.layer),
  )

type ProviderServices = Layer.Services<typeof QueueProvider.layer> | Transactions

/** Delivers events to webhook endpoints, or hands them to the webhook provider of the settings. */
const dispatcher = Layer.unwrap(
  Effect.gen(function* () {
    const { retention, svix, webhooksConcurrency } = yield* Settings
    const defaults = yield* DeliveryLimits
    const limits = {
      ...defaults,
      concurrency: webhooksConcurrency,
      history: retention.webhookHistory,
    }
    return DispatcherWorker.layer.pipe(
      Layer.provide(
        Option.match(svix, {
          onNone: (): Layer.Layer<WebhookProvider, never, ProviderServices> => QueueProvider.layer,
          onSome: (options) => SvixProvider.layer(options).pipe(Layer.provide(FetchHttpClient.layer)),
        }),
      ),
      Layer.provide(engine),
      Layer.provide(LivenessSession.layer),
      Layer.provide(WebhookSender.layer),
      Layer.provide(Layer.succeed(DeliveryLimits, limits)),
    )
  }),
)

/** What the console needs to know about this process. */
const consoleSettings = Layer.merge(
  ConsoleFiles.layer,
  Layer.effect(
    ConsoleRoutes.WebhooksAddress,
    Effect.map(Settings, ({ webhooksPort, webhooksUrl }) =>
      Option.isNone(webhooksPort) ? "" : Option.getOrNull(webhooksUrl),
    ),
  ),
)

const listeners = Layer.unwrap(
  Effect.gen(function* () {
    const { corePort, host, platformPort, roles, webhooksPort } = yield* Settings
    const when = <A, E, R>(role: Role, listener: Layer.Layer<A, E, R>) =>
      roles.has(role) ? Layer.effectDiscard(Layer.build(listener)) : Layer.empty
    return Layer.mergeAll(
      when(
        "core",
        Listeners.serve(Option.isSome(webhooksPort) ? coreRoutesWithoutWebhooks : coreRoutes, {
          host,
          port: corePort,
          setting: "SERVICE_CORE_PORT",
        }),
      ),
      Option.isSome(webhooksPort)
        ? when(
            "webhooks",
            Listeners.serve(webhookRoutes, { host, port: webhooksPort.value, setting: "SERVICE_WEBHOOKS_PORT" }),
          )
        : Layer.empty,
      when("platform", Listeners.serve(platformRoutes, { host, port: platformPort, setting: "SERVICE_PLATFORM_PORT" })),
      when(
        "sweeper",
        Layer.mergeAll(
          SweeperWorker.layer,
          TermNoticesWorker.layer,
          CreditExpiryWorker.layer,
          MigrationsWorker.layer,
          AuditWorker.layer,
        ),
      ),
      when("dispatcher", dispatcher),
    )
  }),
)

const internalListener = Layer.unwrap(
  Effect.map(Settings, ({ host, internalPort, roles }) =>
    roles.has("internal")
      ? Layer.effectDiscard(
          Layer.build(
            Listeners.serve(internalRoutes, {
              host,
              port: internalPort,
              setting: "SERVICE_INTERNAL_PORT",
              mayUseReserve: true,
            }),
          ),
        )
      : Layer.empty,
  ),
)

/** Background services of a serving process: health, metrics, rate limits and file descriptors. */
const backgroundServices = Layer.mergeAll(
  Health.layer,
  FileDescriptors.layer.pipe(Layer.provide(Settings.layer)),
  ProcessMetrics.layer,
  RequestDeadlines.layer,
  consoleSettings.pipe(Layer.provide(Settings.layer)),
  RateBudgets.fromSettings.pipe(Layer.provide(Settings.layer)),
)

/** The token of a new credential; otherwise whether a credential is known, or an operator's command must create it. */
export type FirstCredential = "known" | "missing" | Redacted.Redacted

/**
 * Ensures that a first platform credential exists. If the settings have one, it is stored. Otherwise, an embedded
 * database without a credential gets a new one, which the banner shows once. On the operator's own database, other
 * processes may start at the same time: there a command creates it.
 */
const firstCredential = Effect.gen(function* () {
  const settings = yield* Settings
  const credentials = yield* PlatformCredentials
  if (Option.isSome(settings.bootstrapPlatformCredential)) {
    yield* credentials.ensure(settings.bootstrapPlatformCredential.value)
    return "known" as const
  }
  if (yield* credentials.exists) return "known" as const
  if (Option.isSome(settings.databaseUrl)) return "missing" as const
  return (yield* credentials.createLocally({ name: "first", scopes: allScopes })).token
})

/** What the banner says of the operator's credential. */
const credentialLines = (credential: FirstCredential): ReadonlyArray<string> => {
  if (credential === "known") return []
  if (credential === "missing") {
    return [
      "",
      "  There is no platform credential yet. Create the operator's first one, with the settings of this process:",
      `  ${commandLine("platform-credential create --name first")}`,
    ]
  }
  return [
    "",
    `  The operator's platform credential, shown this once (keep it; \`${commandLine("platform-credential create")}\` creates another):`,
    `  ${Redacted.value(credential)}`,
    "",
    "  To see what the service does, run this in another terminal:",
    `  KEYSHELF_PLATFORM_CREDENTIAL=ksm_... ${commandLine("demo --keep")}`,
  ]
}

const banner = Effect.fnUntraced(function* (credential: FirstCredential) {
  const { corePort, host, internalPort, platformPort, roles, webhooksPort } = yield* Settings
  const hasConsole = Option.isSome(yield* ConsoleFiles.CurrentConsoleFiles)
  const shown = hostInUrl(host)
  const lines = [
    "Keyshelf is ready.",
    ...(roles.has("core") && hasConsole ? [`  Console       http://${shown}:${corePort}/console`] : []),
    ...(roles.has("core")
      ? [`  Core API      http://${shown}:${corePort}/api`, `  Documentation http://${shown}:${corePort}/docs`]
      : []),
    ...(roles.has("webhooks") && Option.isSome(webhooksPort)
      ? [`  Webhook API   http://${shown}:${webhooksPort.value}/api`]
      : []),
    ...(roles.has("platform")
      ? [`  Platform API  http://${shown}:${platformPort}/api (documentation: http://${shown}:${platformPort}/docs)`]
      : []),
    ...(roles.has("platform") && hasConsole
      ? [`                http://${shown}:${platformPort}/console for the operator`]
      : []),
    ...(roles.has("internal") ? [`  Health        http://${shown}:${internalPort}/health/ready`] : []),
    ...credentialLines(credential),
  ]
  yield* Console.log(`${lines.join("\n")}\n`)
})

/**
 * Runs the service until it is interrupted, and announces it when it is ready. Listeners then finish their requests, and the database
 * closes last.
 */
export const serving = <E, R>(announce: (credential: FirstCredential) => Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    // The internal listener opens first and closes last, so that it reports health during start and shutdown.
    yield* Layer.build(internalListener)
    yield* Layer.build(listeners)
    // A start that fails on a port must not leave a credential that was never shown.
    const credential = yield* firstCredential
    yield* Health.serving
    yield* announce(credential)
    yield* Effect.forkScoped(collectAfterStart)
    return yield* Effect.never
  }).pipe(
    Effect.scoped,
    Effect.provide(backend("fail").pipe(Layer.provideMerge(backgroundServices))),
    Effect.provide(Telemetry.layer),
    Effect.provide(Logging.layer),
  )

/** `keyshelf serve`. */
export const serve = serving(banner)
