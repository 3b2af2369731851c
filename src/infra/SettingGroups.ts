/** Settings that depend on each other. */
import { Duration, Effect, Option, Redacted, Schema } from "effect"
import type { RetentionPeriods } from "../kernel/ports/RetentionPeriods.ts"
import { DurationText, ParametersText, parametersOf, TrustworthyUrl } from "./SettingFormats.ts"
import { optionalSetting, setting, SettingsError } from "./SettingReader.ts"

/** How long rows are retained. Events and usage events without a period are never deleted. */
export interface RetentionSettings extends RetentionPeriods {
  readonly webhookHistory: Duration.Duration
}

/** The OpenID provider for sign-in. */
export interface IdentityProvider {
  readonly issuer: string
  readonly audience: string
  /** Absent: the discovery document of the issuer names it. */
  readonly jwksUri: Option.Option<string>
  readonly organizationClaim: string
  readonly provisioning: "off" | "just-in-time"
  /** Present: people can sign in to the console. */
  readonly client: Option.Option<{
    readonly clientId: string
    readonly scope: string
    readonly parameters: Readonly<Record<string, string>>
  }>
}

/** The Svix server that delivers events. */
export interface SvixServer {
  readonly url: string
  readonly token: Redacted.Redacted
}

// Reports are up to 35 days late, and ledgers of sites 90 days. Months that longer bundles may bring usage of are kept anyway.
const MIN_USAGE_RETENTION = Duration.days(90)

/** Retention times. Events must outlive the history of their deliveries, which refers to them and retries them. */
export const retention = Effect.gen(function* () {
  const periods: RetentionSettings = {
    retiredTokens: yield* setting("SERVICE_RETENTION_RETIRED_TOKENS", DurationText, Duration.days(90)),
    webhookHistory: yield* setting("SERVICE_RETENTION_WEBHOOK_HISTORY", DurationText, Duration.days(30)),
    events: yield* optionalSetting("SERVICE_RETENTION_EVENTS", DurationText),
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

/** The OpenID provider for sign-in. Without an issuer there is none. */
export const identityProvider = Effect.gen(function* () {
  const issuer = yield* optionalSetting("SERVICE_OIDC_ISSUER", TrustworthyUrl)
  const audience = yield* optionalSetting("SERVICE_OIDC_AUDIENCE", Schema.NonEmptyString)
  const jwksUri = yield* optionalSetting("SERVICE_OIDC_JWKS_URI", TrustworthyUrl)
  const organizationClaim = yield* setting("SERVICE_OIDC_ORGANIZATION_CLAIM", Schema.NonEmptyString, "org_id")
  const provisioning = yield* setting("SERVICE_OIDC_PROVISIONING", Schema.Literals(["off", "just-in-time"]), "off")
  const clientId = yield* optionalSetting("SERVICE_OIDC_CLIENT_ID", Schema.NonEmptyString)
  const scope = yield* setting("SERVICE_OIDC_SCOPE", Schema.NonEmptyString, "openid profile")
  const parameters = yield* optionalSetting("SERVICE_OIDC_PARAMETERS", ParametersText)
  if (Option.isNone(issuer)) {
    if (Option.isNone(audience) && Option.isNone(jwksUri) && Option.isNone(clientId))
      return Option.none<IdentityProvider>()
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
  return Option.some<IdentityProvider>({
    issuer: issuer.value,
    audience: audience.value,
    jwksUri,
    organizationClaim,
    provisioning,
    client: Option.map(clientId, (id) => ({
      clientId: id,
      scope,
      parameters: Option.match(parameters, { onNone: () => ({}), onSome: parametersOf }),
    })),
  })
})

/** The provider that delivers events. The token is a secret and appears in no message. */
export const svix = Effect.gen(function* () {
  const provider = yield* setting("SERVICE_WEBHOOKS_PROVIDER", Schema.Literals(["internal", "svix"]), "internal")
  const url = yield* optionalSetting("SERVICE_SVIX_URL", TrustworthyUrl)
  const token = yield* optionalSetting("SERVICE_SVIX_TOKEN", Schema.NonEmptyString)
  if (provider === "internal") return Option.none<SvixServer>()
  if (Option.isNone(url) || Option.isNone(token)) {
    const missing = Option.isNone(url) ? "SERVICE_SVIX_URL" : "SERVICE_SVIX_TOKEN"
    return yield* new SettingsError({
      message: `${missing} is missing: SERVICE_WEBHOOKS_PROVIDER=svix requires the URL of the Svix server and a token for it.`,
    })
  }
  return Option.some<SvixServer>({ url: url.value, token: Redacted.make(token.value) })
})
