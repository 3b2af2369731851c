/** The service's settings: environment variables, read once at startup. */
import { Context, Duration, Effect, Layer, Option, Redacted, Schema } from "effect"
import type { LogLevel } from "effect"
import { IpNetwork } from "effect/net"
import type { RateLimit } from "../kernel/ports/RateBudgets.ts"
import {
  BaseUrl,
  BootstrapCredential,
  ChangeStreamCount,
  CorsOriginsText,
  corsOriginsOf,
  DurationsText,
  Networks,
  OtlpEndpoint,
  PoolSize,
  Port,
  PostgresUrl,
  RateLimitText,
  rateLimitOf,
  RedisUrl,
  Roles,
  roles,
  SecurityContact,
  WebhooksConcurrency,
  YesNo,
} from "./SettingFormats.ts"
import type { CorsOrigins, Role } from "./SettingFormats.ts"
import { identityProvider, retention, svix } from "./SettingGroups.ts"
import type { IdentityProvider, RetentionSettings, SvixServer } from "./SettingGroups.ts"
import { failure, optionalSetting, setting, SettingsError } from "./SettingReader.ts"

/** A key of `SERVICE_SECRET_KEY`: 32 bytes, and the id that encrypted and hashed values refer to. */
export interface SecretKey {
  readonly id: string
  readonly bytes: Redacted.Redacted<Uint8Array>
}

const parseKeys = (text: string): Effect.Effect<ReadonlyArray<SecretKey>, SettingsError> => {
  const keys = text.split(",").map((part, index) => {
    const colon = part.indexOf(":")
    const id = colon === -1 ? (index === 0 ? "default" : "") : part.slice(0, colon).trim()
    return { id, bytes: Buffer.from(part.slice(colon + 1).trim(), "base64") }
  })
  const isInvalid =
    keys.some((key) => !/^[A-Za-z0-9_-]{1,32}$/.test(key.id) || key.bytes.length !== 32) ||
    new Set(keys.map((key) => key.id)).size !== keys.length
  return isInvalid
    ? Effect.fail(
        failure(
          "SERVICE_SECRET_KEY",
          "expected 32 bytes in base64 (openssl rand -base64 32), or a comma-separated list of id:base64 with distinct ids, whose first key encrypts",
        ),
      )
    : Effect.succeed(keys.map((key) => ({ id: key.id, bytes: Redacted.make(new Uint8Array(key.bytes)) })))
}

/** The settings of this process. */
export class Settings extends Context.Service<
  Settings,
  {
    /** Address that all listeners bind to. */
    readonly host: string
    /** Port of the Core API, the documentation and the console. */
    readonly corePort: number
    /** Port of the Platform API. */
    readonly platformPort: number
    /** Absent: the core listener serves webhook management. */
    readonly webhooksPort: Option.Option<number>
    /** Where browsers reach the dedicated listener of webhook management. Without a trailing slash. */
    readonly webhooksUrl: Option.Option<string>
    /** Port of health checks, metrics and token validation. */
    readonly internalPort: number
    /** What this process does. */
    readonly roles: ReadonlySet<Role>
    /** Folder of the embedded database and of generated keys. */
    readonly dataDir: string
    /** Absent: the process runs the embedded database. */
    readonly databaseUrl: Option.Option<Redacted.Redacted>
    /** Direct address for LISTEN if `SERVICE_DATABASE_URL` points to a transaction pooler. */
    readonly databaseListenUrl: Option.Option<Redacted.Redacted>
    /** Maximum number of pooled connections of this process. */
    readonly databasePoolSize: number
    /** Whether statements are prepared. A transaction pooler may not support that. */
    readonly databasePrepare: boolean
    /** Absent: the key file in the data directory is used (embedded database only). */
    readonly secretKeys: Option.Option<ReadonlyArray<SecretKey>>
    /** Present: this token becomes a platform credential with all scopes, unless it exists. */
    readonly bootstrapPlatformCredential: Option.Option<Redacted.Redacted>
    /**
     * Form in which the Core API accepts stored tokens: `direct` as issued, `gateway` only as the gateway's internal
     * JWT.
     */
    readonly authMode: "direct" | "gateway"
    /** Absent: people cannot sign in, and only tokens are accepted. */
    readonly identityProvider: Option.Option<IdentityProvider>
    /** How long rows are retained that have ended. */
    readonly retention: RetentionSettings
    /** How long before the end of a license it is announced. */
    readonly termNotices: ReadonlyArray<Duration.Duration>
    /** For development: outbound calls may reach any address, also over plain HTTP. */
    readonly webhooksAllowInsecure: boolean
    /** Maximum number of deliveries in flight on this node. */
    readonly webhooksConcurrency: number
    /** Maximum number of streams of changes of this process. */
    readonly changeStreams: number
    /** Present: Svix delivers events instead of this service. */
    readonly svix: Option.Option<SvixServer>
    /** Private networks that outbound calls may reach. */
    readonly webhooksAllowedNetworks: ReadonlyArray<IpNetwork.IpNetwork>
    /** Origins whose scripts may call the core listener. Absent: none. */
    readonly corsOrigins: Option.Option<CorsOrigins>
    /** Absent: requests are not limited. */
    readonly rateLimit: Option.Option<RateLimit>
    /** Redis, in which all processes share request counts. Absent: each process counts separately. */
    readonly redisUrl: Option.Option<Redacted.Redacted>
    /** Where people report a weakness of this installation. Absent: there is no `security.txt`. */
    readonly securityContact: Option.Option<string>
    /** Receiver of traces, metrics and logs. Absent: nothing is exported. */
    readonly otlpEndpoint: Option.Option<string>
    /** The lowest level that is logged. */
    readonly logLevel: LogLevel.LogLevel
    /** Without a setting, `pretty` at a terminal. */
    readonly logFormat: "json" | "pretty"
  }
>()("keyshelf/infra/Settings") {
  /** Reads the environment through Effect's Config. Fails with {@link SettingsError}, which names the setting. */
  static readonly layer = Layer.suspend(() => Layer.effect(Settings, load))
}

const load = Effect.gen(function* () {
  const secretKeys = yield* optionalSetting("SERVICE_SECRET_KEY", Schema.String)
  const databaseUrl = yield* optionalSetting("SERVICE_DATABASE_URL", PostgresUrl)
  const databaseListenUrl = yield* optionalSetting("SERVICE_DATABASE_LISTEN_URL", PostgresUrl)
  const bootstrap = yield* optionalSetting("SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL", BootstrapCredential)
  if (Option.isSome(databaseUrl) && Option.isNone(secretKeys)) {
    return yield* new SettingsError({
      message:
        "SERVICE_SECRET_KEY is missing: SERVICE_DATABASE_URL requires the same 32 bytes in base64 for every process (openssl rand -base64 32).",
    })
  }
  const enabled = yield* setting("SERVICE_ROLES", Roles, roles.join(","))
  const processRoles = new Set(enabled.split(",").map((role) => role.trim() as Role))
  const webhooksPort = yield* optionalSetting("SERVICE_WEBHOOKS_PORT", Port)
  if (processRoles.has("webhooks") && !processRoles.has("core") && Option.isNone(webhooksPort)) {
    return yield* new SettingsError({
      message: "SERVICE_WEBHOOKS_PORT is missing: the role webhooks without the role core requires a dedicated port.",
    })
  }
  const webhooksUrl = yield* optionalSetting("SERVICE_WEBHOOKS_URL", BaseUrl)
  if (Option.isSome(webhooksUrl) && Option.isNone(webhooksPort)) {
    return yield* new SettingsError({
      message:
        "SERVICE_WEBHOOKS_PORT is missing: without it the core listener serves webhook management, at its own URL.",
    })
  }
  return {
    host: yield* setting("SERVICE_HOST", Schema.NonEmptyString, "127.0.0.1"),
    corePort: yield* setting("SERVICE_CORE_PORT", Port, 8080),
    platformPort: yield* setting("SERVICE_PLATFORM_PORT", Port, 8081),
    webhooksPort,
    webhooksUrl: Option.map(webhooksUrl, (url) => url.replace(/\/+$/, "")),
    internalPort: yield* setting("SERVICE_INTERNAL_PORT", Port, 8082),
    roles: processRoles,
    dataDir: yield* setting("SERVICE_DATA_DIR", Schema.NonEmptyString, ".data"),
    databaseUrl: Option.map(databaseUrl, (url) => Redacted.make(url)),
    databaseListenUrl: Option.map(databaseListenUrl, (url) => Redacted.make(url)),
    databasePoolSize: yield* setting("SERVICE_DATABASE_POOL_SIZE", PoolSize, 8),
    databasePrepare: (yield* setting("SERVICE_DATABASE_PREPARE", YesNo, "true")) === "true",
    secretKeys: yield* Effect.transposeOption(Option.map(secretKeys, parseKeys)),
    bootstrapPlatformCredential: Option.map(bootstrap, (text) => Redacted.make(text)),
    authMode: yield* setting("SERVICE_AUTH_MODE", Schema.Literals(["direct", "gateway"]), "direct"),
    identityProvider: yield* identityProvider,
    retention: yield* retention,
    termNotices: yield* setting("SERVICE_TERM_NOTICES", DurationsText, [30, 7, 1].map(Duration.days)),
    webhooksAllowInsecure: (yield* setting("SERVICE_WEBHOOKS_ALLOW_INSECURE", YesNo, "false")) === "true",
    webhooksConcurrency: yield* setting("SERVICE_WEBHOOKS_CONCURRENCY", WebhooksConcurrency, 256),
    changeStreams: yield* setting("SERVICE_CHANGE_STREAMS", ChangeStreamCount, 10_000),
    svix: yield* svix,
    webhooksAllowedNetworks: Option.match(yield* optionalSetting("SERVICE_WEBHOOKS_ALLOWED_CIDRS", Networks), {
      onNone: () => [],
      onSome: (text) => text.split(",").map((part) => IpNetwork.fromStringUnsafe(part.trim())),
    }),
    corsOrigins: Option.map(yield* optionalSetting("SERVICE_CORS_ORIGINS", CorsOriginsText), corsOriginsOf),
    rateLimit: Option.map(yield* optionalSetting("SERVICE_RATE_LIMIT", RateLimitText), rateLimitOf),
    redisUrl: Option.map(yield* optionalSetting("SERVICE_REDIS_URL", RedisUrl), (url) => Redacted.make(url)),
    securityContact: yield* optionalSetting("SERVICE_SECURITY_CONTACT", SecurityContact),
    otlpEndpoint: yield* optionalSetting("SERVICE_OTLP_ENDPOINT", OtlpEndpoint),
    logLevel: yield* setting(
      "SERVICE_LOG_LEVEL",
      Schema.Literals(["Trace", "Debug", "Info", "Warn", "Error", "Fatal", "None"]),
      "Info",
    ),
    logFormat: yield* setting(
      "SERVICE_LOG_FORMAT",
      Schema.Literals(["pretty", "json"]),
      process.stdout.isTTY ? "pretty" : "json",
    ),
  }
})
