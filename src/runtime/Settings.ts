/** Settings: the environment variables of the service (contract, section 8), read once at the start. */
import { Config, Context, Effect, Layer, Option, Redacted, Result, Schema, SchemaIssue } from "effect"
import { IpNetwork } from "effect/net"

/** A setting that is missing or wrong. The message names it and says what it should be. */
export class SettingsError extends Schema.TaggedError<SettingsError>()("SettingsError", { message: Schema.String }) {}

/** What this process does; several processes on one database may share the work. */
export const roles = ["core", "platform", "internal", "webhooks", "dispatcher", "sweeper"] as const
export type Role = (typeof roles)[number]

/** A key of `SERVICE_SECRET_KEY`: 32 bytes under the id that encrypted or hashed values carry. */
export interface SecretKey {
  readonly id: string
  readonly bytes: Redacted.Redacted<Uint8Array>
}

const Port = Schema.FiniteFromString.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 0, maximum: 65_535 }, { expected: "a port, 0 to 65535" }),
)
const PoolSize = Schema.FiniteFromString.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 1, maximum: 200 }, { expected: "a whole number, 1 to 200" }),
)
const YesNo = Schema.Literals(["true", "false"])
const Roles = Schema.String.check(
  Schema.makeFilter((text) => text.split(",").every((role) => (roles as ReadonlyArray<string>).includes(role.trim())), {
    expected: `a comma list of ${roles.join(", ")}`,
  }),
)
const Networks = Schema.String.check(
  Schema.makeFilter((text) => text.split(",").every((part) => Result.isSuccess(IpNetwork.fromString(part.trim()))), {
    expected: "a comma list of networks such as 10.0.0.0/8,fd00::/8",
  }),
)
const PostgresUrl = Schema.String.check(
  Schema.isPattern(/^postgres(ql)?:\/\/\S+$/, { expected: "a URL that begins with postgres:// or postgresql://" }),
)
const BootstrapCredential = Schema.String.check(
  Schema.isPattern(/^ksm_[A-Za-z0-9_-]{43}$/, { expected: "ksm_ followed by 43 characters of base64url" }),
)

const explain = SchemaIssue.makeFormatterDefault()

const failure = (name: string, expected: string) =>
  new SettingsError({ message: `${name} is not valid: ${expected.charAt(0).toLowerCase()}${expected.slice(1)}.` })

const setting = <A>(name: string, schema: Schema.Codec<A, string>, fallback: A) =>
  optionalSetting(name, schema).pipe(Effect.map(Option.getOrElse(() => fallback)))

const optionalSetting = Effect.fnUntraced(function* <A>(name: string, schema: Schema.Codec<A, string>) {
  // An empty variable is how shells and compose files say "not set".
  const text = yield* Config.option(Config.String(name)).pipe(
    Effect.mapError(() => failure(name, "it cannot be read")),
    Effect.map(Option.filter((value) => value.trim() !== "")),
  )
  if (Option.isNone(text)) return Option.none<A>()
  return yield* Schema.decodeEffect(schema)(text.value).pipe(
    Effect.map(Option.some),
    // The value itself stays out of the message: it may be a secret pasted into the wrong variable.
    Effect.mapError((error) => failure(name, explain(error.issue))),
  )
})

const parseKeys = (text: string): Effect.Effect<ReadonlyArray<SecretKey>, SettingsError> => {
  const keys = text.split(",").map((part, index) => {
    const colon = part.indexOf(":")
    const id = colon === -1 ? (index === 0 ? "default" : "") : part.slice(0, colon).trim()
    return { id, bytes: Buffer.from(part.slice(colon + 1).trim(), "base64") }
  })
  const wrong =
    keys.some((key) => !/^[A-Za-z0-9_-]{1,32}$/.test(key.id) || key.bytes.length !== 32) ||
    new Set(keys.map((key) => key.id)).size !== keys.length
  return wrong
    ? Effect.fail(
        failure(
          "SERVICE_SECRET_KEY",
          "expected 32 bytes in base64 (openssl rand -base64 32), or a comma list of different id:base64 whose first encrypts",
        ),
      )
    : Effect.succeed(keys.map((key) => ({ id: key.id, bytes: Redacted.make(new Uint8Array(key.bytes)) })))
}

const load = Effect.gen(function* () {
  const secretKeys = yield* optionalSetting("SERVICE_SECRET_KEY", Schema.String)
  const databaseUrl = yield* optionalSetting("SERVICE_DATABASE_URL", PostgresUrl)
  const bootstrap = yield* optionalSetting("SERVICE_BOOTSTRAP_PLATFORM_CREDENTIAL", BootstrapCredential)
  if (Option.isSome(databaseUrl) && Option.isNone(secretKeys)) {
    return yield* new SettingsError({
      message:
        "SERVICE_SECRET_KEY is missing: with SERVICE_DATABASE_URL every process needs the same 32 bytes in base64 (openssl rand -base64 32).",
    })
  }
  const enabled = yield* setting("SERVICE_ROLES", Roles, roles.join(","))
  return {
    host: yield* setting("SERVICE_HOST", Schema.NonEmptyString, "127.0.0.1"),
    corePort: yield* setting("SERVICE_CORE_PORT", Port, 8080),
    platformPort: yield* setting("SERVICE_PLATFORM_PORT", Port, 8081),
    internalPort: yield* setting("SERVICE_INTERNAL_PORT", Port, 8082),
    roles: new Set(enabled.split(",").map((role) => role.trim() as Role)),
    dataDir: yield* setting("SERVICE_DATA_DIR", Schema.NonEmptyString, ".data"),
    databaseUrl: Option.map(databaseUrl, (url) => Redacted.make(url)),
    databasePoolSize: yield* setting("SERVICE_DATABASE_POOL_SIZE", PoolSize, 8),
    databasePrepare: (yield* setting("SERVICE_DATABASE_PREPARE", YesNo, "true")) === "true",
    /** Absent: the key file of the data directory is used (embedded database only). */
    secretKeys: yield* Effect.transposeOption(Option.map(secretKeys, parseKeys)),
    bootstrapPlatformCredential: Option.map(bootstrap, (text) => Redacted.make(text)),
    webhooksAllowInsecure: (yield* setting("SERVICE_WEBHOOKS_ALLOW_INSECURE", YesNo, "false")) === "true",
    webhooksAllowedNetworks: Option.match(yield* optionalSetting("SERVICE_WEBHOOKS_ALLOWED_CIDRS", Networks), {
      onNone: () => [],
      onSome: (text) => text.split(",").map((part) => IpNetwork.fromStringUnsafe(part.trim())),
    }),
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
export class Settings extends Context.Service<Settings, Effect.Success<typeof load>>()("keyshelf/runtime/Settings") {
  /** Reads the environment through Effect's Config. Fails with {@link SettingsError}, one sentence that names the setting. */
  static readonly layer = Layer.effect(Settings, load)
}
