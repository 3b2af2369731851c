/** The service's settings: environment variables, read once at startup. */
import { Config, Context, Duration, Effect, Layer, Option, Redacted, Schema, SchemaIssue } from "effect"
import { IpNetwork } from "effect/net"
import {
  roles,
  Port,
  PoolSize,
  WebhooksConcurrency,
  YesNo,
  Roles,
  Networks,
  CorsOriginsText,
  corsOriginsOf,
  PostgresUrl,
  BootstrapCredential,
  TrustworthyUrl,
  BaseUrl,
  ParametersText,
  parametersOf,
  RateLimitText,
  rateLimitOf,
  RedisUrl,
  OtlpEndpoint,
  DurationText,
  DurationsText,
} from "./SettingFormats.ts"
import type { Role } from "./SettingFormats.ts"

/** A missing or invalid setting. The message names it and says what is expected. */
export class SettingsError extends Schema.TaggedError<SettingsError>()("SettingsError", { message: Schema.String }) {}

/** A key of `SERVICE_SECRET_KEY`: 32 bytes, and the id that encrypted and hashed values refer to. */
export interface SecretKey {
  readonly id: string
  readonly bytes: Redacted.Redacted<Uint8Array>
}

const describe = SchemaIssue.makeFormatterDefault()

const failure = (name: string, expected: string) =>
  new SettingsError({ message: `${name} is not valid: ${expected.charAt(0).toLowerCase()}${expected.slice(1)}.` })

const setting = <A>(name: string, schema: Schema.Codec<A, string>, fallback: A) =>
  optionalSetting(name, schema).pipe(Effect.map(Option.getOrElse(() => fallback)))

const optionalSetting = Effect.fnUntraced(function* <A>(name: string, schema: Schema.Codec<A, string>) {
  // Shells and compose files pass an unset variable as an empty string.
  const text = yield* Config.option(Config.String(name)).pipe(
    Effect.mapError(() => failure(name, "it cannot be read")),
    Effect.map(Option.filter((value) => value.trim() !== "")),
  )
  if (Option.isNone(text)) return Option.none<A>()
  return yield* Schema.decodeEffect(schema)(text.value).pipe(
    Effect.map(Option.some),
    // The message omits the value, which may be a secret in the wrong variable.
    Effect.mapError((error) => failure(name, describe(error.issue))),
  )
})

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

// Reports are up to 35 days late, and ledgers of sites 90 days. Months for which longer bundles may still report usage
// are retained anyway.
const MIN_USAGE_RETENTION = Duration.days(90)

// Retention times. Events must outlive the history of their deliveries, which refers to them and retries them.
const retention = Effect.gen(function* () {
  const periods = {
    retiredTokens: yield* setting("SERVICE_RETENTION_RETIRED_TOKENS", DurationText, Duration.days(90)),
    webhookHistory: yield* setting("SERVICE_RETENTION_WEBHOOK_HISTORY", DurationText, Duration.days(30)),
    /** Absent: unlimited. */
    events: yield* optionalSetting("SERVICE_RETENTION_EVENTS", DurationText),
    /** Absent: unlimited. */
    usageEvents: yield* optionalSetting("SERVICE_RETENTION_USAGE_EVENTS", DurationText),
  }
  if (Option.isSome(periods.events) && Duration.isLessThan(periods.events.value, periods.webhookHistory)) {
    return yield* new SettingsError({
      message: `SERVICE_RETENTION_EVENTS is not valid: expected at least SERVICE_RETENTION_WEBHOOK_HISTORY (${Duration.format(periods.webhookHistory)}).`,
    })
  }
  if (Option.isSome(periods.usageEvents) && Duration.isLessThan(periods.usageEvents.value, MIN_USAGE_RETENTION)) {
    return yield* new SettingsError({
      message: `SERVICE_RETENTION_USAGE_EVENTS is not valid: expected at least ${Duration.toDays(MIN_USAGE_RETENTION)} days. Late reports need 35 days, and sites upload usage until 90 days after the end of their bundle.`,
    })
  }
  return periods
})

// The OpenID provider for sign-in. Without an issuer there is none.
const identityProvider = Effect.gen(function* () {
  const issuer = yield* optionalSetting("SERVICE_OIDC_ISSUER", TrustworthyUrl)
  const audience = yield* optionalSetting("SERVICE_OIDC_AUDIENCE", Schema.NonEmptyString)
  const jwksUri = yield* optionalSetting("SERVICE_OIDC_JWKS_URI", TrustworthyUrl)
  const organizationClaim = yield* setting("SERVICE_OIDC_ORGANIZATION_CLAIM", Schema.NonEmptyString, "org_id")
  const provisioning = yield* setting("SERVICE_OIDC_PROVISIONING", Schema.Literals(["off", "just-in-time"]), "off")
  const clientId = yield* optionalSetting("SERVICE_OIDC_CLIENT_ID", Schema.NonEmptyString)
  const scope = yield* setting("SERVICE_OIDC_SCOPE", Schema.NonEmptyString, "openid profile")
  const parameters = yield* optionalSetting("SERVICE_OIDC_PARAMETERS", ParametersText)
  if (Option.isNone(issuer)) {
    if (Option.isNone(audience) && Option.isNone(jwksUri) && Option.isNone(clientId)) return Option.none()
    return yield* new SettingsError({
      message: "SERVICE_OIDC_ISSUER is missing: the other SERVICE_OIDC_ settings require it.",
    })
  }
  if (Option.isNone(audience)) {
    return yield* new SettingsError({
      message:
        "SERVICE_OIDC_AUDIENCE is missing: without it, tokens that the provider issued for other services would be accepted.",
    })
  }
  return Option.some({
    issuer: issuer.value,
    audience: audience.value,
    jwksUri,
    organizationClaim,
    provisioning,
    /** Present: people can sign in to the console. */
    client: Option.map(clientId, (id) => ({
      clientId: id,
      scope,
      parameters: Option.match(parameters, { onNone: () => ({}), onSome: parametersOf }),
    })),
  })
})

// The provider that delivers events. The token is a secret and appears in no message.
const svix = Effect.gen(function* () {
  const provider = yield* setting("SERVICE_WEBHOOKS_PROVIDER", Schema.Literals(["internal", "svix"]), "internal")
  const url = yield* optionalSetting("SERVICE_SVIX_URL", TrustworthyUrl)
  const token = yield* optionalSetting("SERVICE_SVIX_TOKEN", Schema.NonEmptyString)
  if (provider === "internal") return Option.none<{ readonly url: string; readonly token: Redacted.Redacted }>()
  if (Option.isNone(url) || Option.isNone(token)) {
    const missing = Option.isNone(url) ? "SERVICE_SVIX_URL" : "SERVICE_SVIX_TOKEN"
    return yield* new SettingsError({
      message: `${missing} is missing: SERVICE_WEBHOOKS_PROVIDER=svix requires the URL of the Svix server and a token for it.`,
    })
  }
  return Option.some({ url: url.value, token: Redacted.make(token.value) })
})

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
    /** Absent: the core listener serves webhook management. */
    webhooksPort,
    /** Where browsers reach the dedicated listener of webhook management. Without a trailing slash. */
    webhooksUrl: Option.map(webhooksUrl, (url) => url.replace(/\/+$/, "")),
    internalPort: yield* setting("SERVICE_INTERNAL_PORT", Port, 8082),
    roles: processRoles,
    dataDir: yield* setting("SERVICE_DATA_DIR", Schema.NonEmptyString, ".data"),
    databaseUrl: Option.map(databaseUrl, (url) => Redacted.make(url)),
    /** Direct address for LISTEN if `SERVICE_DATABASE_URL` points to a transaction pooler. */
    databaseListenUrl: Option.map(databaseListenUrl, (url) => Redacted.make(url)),
    databasePoolSize: yield* setting("SERVICE_DATABASE_POOL_SIZE", PoolSize, 8),
    databasePrepare: (yield* setting("SERVICE_DATABASE_PREPARE", YesNo, "true")) === "true",
    /** Absent: the key file in the data directory is used (embedded database only). */
    secretKeys: yield* Effect.transposeOption(Option.map(secretKeys, parseKeys)),
    bootstrapPlatformCredential: Option.map(bootstrap, (text) => Redacted.make(text)),
    /**
     * Form in which the Core API accepts stored tokens: `direct` as issued, `gateway` only as the gateway's internal
     * JWT.
     */
    authMode: yield* setting("SERVICE_AUTH_MODE", Schema.Literals(["direct", "gateway"]), "direct"),
    identityProvider: yield* identityProvider,
    retention: yield* retention,
    /** How long before the end of a license it is announced. */
    termNotices: yield* setting("SERVICE_TERM_NOTICES", DurationsText, [30, 7, 1].map(Duration.days)),
    webhooksAllowInsecure: (yield* setting("SERVICE_WEBHOOKS_ALLOW_INSECURE", YesNo, "false")) === "true",
    /** Maximum number of deliveries in flight on this node. */
    webhooksConcurrency: yield* setting("SERVICE_WEBHOOKS_CONCURRENCY", WebhooksConcurrency, 256),
    /** Present: Svix delivers events instead of this service. */
    svix: yield* svix,
    webhooksAllowedNetworks: Option.match(yield* optionalSetting("SERVICE_WEBHOOKS_ALLOWED_CIDRS", Networks), {
      onNone: () => [],
      onSome: (text) => text.split(",").map((part) => IpNetwork.fromStringUnsafe(part.trim())),
    }),
    /** Origins whose scripts may call the core listener. Absent: none. */
    corsOrigins: Option.map(yield* optionalSetting("SERVICE_CORS_ORIGINS", CorsOriginsText), corsOriginsOf),
    /** Absent: requests are not limited. */
    rateLimit: Option.map(yield* optionalSetting("SERVICE_RATE_LIMIT", RateLimitText), rateLimitOf),
    /** Redis, in which all processes share request counts. Absent: each process counts separately. */
    redisUrl: Option.map(yield* optionalSetting("SERVICE_REDIS_URL", RedisUrl), (url) => Redacted.make(url)),
    /** Receiver of traces, metrics and logs. Absent: nothing is exported. */
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

/** The settings of this process. */
export class Settings extends Context.Service<Settings, Effect.Success<typeof load>>()("keyshelf/infra/Settings") {
  /** Reads the environment through Effect's Config. Fails with {@link SettingsError}, which names the setting. */
  static readonly layer = Layer.effect(Settings, load)
}
