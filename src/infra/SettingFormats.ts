/** The formats of settings: what the text of an environment variable may be. Pure. */
import { Array as Arr, Duration, Effect, Option, Result, Schema, SchemaGetter, SchemaIssue } from "effect"
import { IpNetwork } from "effect/net"
import type { RateLimit } from "../kernel/ports/RateBudgets.ts"

/** Roles that a process can have. Several processes on one database may share the work. */
export const roles = ["core", "platform", "internal", "webhooks", "dispatcher", "sweeper"] as const

export type Role = (typeof roles)[number]

export const Port = Schema.FiniteFromString.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 0, maximum: 65_535 }, { expected: "a port, 0 to 65535" }),
)

export const PoolSize = Schema.FiniteFromString.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 1, maximum: 200 }, { expected: "a whole number, 1 to 200" }),
)

export const WebhooksConcurrency = Schema.FiniteFromString.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 1, maximum: 10_000 }, { expected: "a whole number, 1 to 10000" }),
)

export const ChangeStreamCount = Schema.FiniteFromString.check(
  Schema.isInt(),
  Schema.isBetween({ minimum: 1, maximum: 100_000 }, { expected: "a whole number, 1 to 100000" }),
)

export const YesNo = Schema.Literals(["true", "false"])

export const Roles = Schema.String.check(
  Schema.makeFilter((text) => text.split(",").every((role) => (roles as ReadonlyArray<string>).includes(role.trim())), {
    expected: `a comma-separated list of ${roles.join(", ")}`,
  }),
)

export const Networks = Schema.String.check(
  Schema.makeFilter((text) => text.split(",").every((part) => Result.isSuccess(IpNetwork.fromString(part.trim()))), {
    expected: "a comma-separated list of networks such as 10.0.0.0/8,fd00::/8",
  }),
)

export const PostgresUrl = Schema.String.check(
  Schema.isPattern(/^postgres(ql)?:\/\/\S+$/, { expected: "a URL that begins with postgres:// or postgresql://" }),
)

export const BootstrapCredential = Schema.String.check(
  Schema.isPattern(/^ksm_[A-Za-z0-9_-]{43}$/, { expected: "ksm_ followed by 43 characters of base64url" }),
)

/** The origins that may call from browsers: `*`, or a set of them. */
export type CorsOrigins = "*" | ReadonlySet<string>

// As browsers send it: without a path, a default port, capital letters or wildcards.
const isOrigin = (text: string): boolean => {
  const url = text.includes("*") ? null : URL.parse(text)
  return url !== null && (url.protocol === "https:" || url.protocol === "http:") && url.origin === text
}

const originsIn = (text: string): ReadonlyArray<string> => text.split(",").map((part) => part.trim())

export const CorsOriginsText = Schema.String.check(
  Schema.makeFilter((text) => text.trim() === "*" || originsIn(text).every(isOrigin), {
    expected: "* or a comma-separated list of origins without path, such as https://app.example.com",
  }),
)

export const corsOriginsOf = (text: string): CorsOrigins => (text.trim() === "*" ? "*" : new Set(originsIn(text)))

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** Whether content from a URL can be trusted: an https URL, or an http URL on this machine. */
export const isTrustedUrl = (text: string): boolean => {
  const url = URL.parse(text)
  if (url === null || url.username !== "" || url.password !== "") return false
  return url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.test(url.hostname))
}

export const TrustworthyUrl = Schema.String.check(
  Schema.makeFilter(isTrustedUrl, {
    expected: "an https URL (http only on this machine, such as http://localhost:8180)",
  }),
)

/** Where people report a weakness: a URI that a person can use (RFC 9116, section 2.5.3). */
export const SecurityContact = Schema.String.check(
  Schema.isPattern(/^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/[^\s/]\S*|tel:\+?[\d-]+)$/, {
    expected: "an address such as mailto:security@example.com or https://example.com/security",
  }),
)

/** The base URL of an API of this service, without the `/api` that follows. */
export const BaseUrl = TrustworthyUrl.check(
  Schema.makeFilter((text) => !/[?#]/.test(text) && !/\/api\/*$/.test(text), {
    expected: "an address without query, fragment and /api, such as https://webhooks.example.com",
  }),
)

/** The parameters of an authorization request that the console sets itself (RFC 6749, RFC 7636, OpenID Connect Core). */
const RESERVED_PARAMETERS = new Set([
  "client_id",
  "code_challenge",
  "code_challenge_method",
  "nonce",
  "redirect_uri",
  "request",
  "request_uri",
  "response_mode",
  "response_type",
  "scope",
  "state",
])

const areParameters = (text: string): boolean => {
  const names = [...new URLSearchParams(text).keys()]
  return (
    names.length > 0 &&
    new Set(names).size === names.length &&
    names.every((name) => name !== "" && !RESERVED_PARAMETERS.has(name))
  )
}

export const ParametersText = Schema.String.check(
  Schema.makeFilter(areParameters, {
    expected:
      "parameters in the form of a query, each once, such as audience=https://keyshelf.example.com&prompt=select_account; none that the console sets itself",
  }),
)

export const parametersOf = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(new URLSearchParams(text))

export const RateLimitText = Schema.String.check(
  Schema.isPattern(/^[1-9]\d{0,6}\/(second|minute|hour)$/, {
    expected: "a number of requests and a unit, such as 600/minute or 20/second",
  }),
)

export const rateLimitOf = (text: string): RateLimit => {
  const [requests, unit] = text.split("/")
  return { requests: Number(requests), unit: unit === "second" || unit === "hour" ? unit : "minute" }
}

export const RedisUrl = Schema.String.check(
  Schema.isPattern(/^rediss?:\/\/\S+$/, { expected: "a URL that begins with redis:// or rediss://" }),
)

export const OtlpEndpoint = Schema.String.check(
  Schema.isPattern(/^https?:\/\/[^\s/]\S*$/, {
    expected: "the base URL of an OTLP/HTTP receiver, such as http://127.0.0.1:4318",
  }),
)

const MAX_DURATION = Duration.days(36_500)

/** A duration in a setting: a number and a unit, such as `90 days`, `12 hours` or `30d`. Positive, and at most 36,500 days. */
export const DurationText = Schema.String.pipe(
  Schema.decodeTo(Schema.Duration, {
    decode: SchemaGetter.transformEffect((text: string) =>
      parseDuration(text).pipe(
        Option.filter((duration) => Duration.toMillis(duration) >= 1),
        Option.filter(Duration.isLessThanOrEqualTo(MAX_DURATION)),
        Option.match({
          onNone: () =>
            Effect.fail(
              new SchemaIssue.InvalidValue({
                message: "Expected a number and a unit, such as 90 days or 12 hours, of at most 36500 days",
              }),
            ),
          onSome: Effect.succeed,
        }),
      ),
    ),
    encode: SchemaGetter.transform((duration: Duration.Duration) => `${Duration.toMillis(duration)} millis`),
  }),
)

/** Durations, separated by commas, such as `30d,7d,1d`. Without repetitions. */
export const DurationsText = Schema.String.pipe(
  Schema.decodeTo(Schema.Array(Schema.Duration), {
    decode: SchemaGetter.transformEffect((text: string) =>
      Effect.map(
        Effect.forEach(text.split(","), (part) => Schema.decodeEffect(DurationText)(part)),
        Arr.dedupe,
      ).pipe(Effect.mapError((error) => error.issue)),
    ),
    encode: SchemaGetter.transform((durations: ReadonlyArray<Duration.Duration>) =>
      durations.map((duration) => `${Duration.toMillis(duration)} millis`).join(),
    ),
  }),
)

const units = { s: "seconds", m: "minutes", h: "hours", d: "days", w: "weeks" } as const

const parseDuration = (text: string): Option.Option<Duration.Duration> => {
  const words = /^(\d{1,9}(?:\.\d{1,3})?)\s*(?:(s|m|h|d|w)|(?:second|minute|hour|day|week)s?)$/i.exec(text.trim())
  if (words === null) return Option.none()
  const [, amount, short] = words
  const unit = (
    short ??
    text
      .trim()
      .replace(/^[\d.\s]+/, "")
      .charAt(0)
  ).toLowerCase()
  return Duration.fromInput(`${Number(amount)} ${units[unit as keyof typeof units]}`)
}
