/** What the service says about itself before anyone signs in: `GET /console/config.json`. */
import { setOrigins } from "./Api.ts"

/** Sign-in with the OpenID provider. */
export interface OpenIdConfig {
  readonly issuer: string
  readonly clientId: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly endSessionEndpoint: string | null
  readonly scope: string
  readonly parameters: Readonly<Record<string, string>>
}

export interface ConsoleConfig {
  /** Which listener serves the page: that of organizations, or that of the operator. */
  readonly surface: "core" | "platform"
  readonly version: string
  /** The origin of the webhook API: empty for this one, `null` if browsers cannot reach it. */
  readonly webhooks: string | null
  readonly oidc: OpenIdConfig | null
}

let current: ConsoleConfig | undefined

/** Asks the service for the configuration. */
export const readConfig = async (): Promise<ConsoleConfig> => {
  const response = await fetch(`${import.meta.env.BASE_URL}config.json`, { credentials: "omit", redirect: "error" })
  if (!response.ok) throw new Error(`The service returned ${response.status} for config.json`)
  return response.json()
}

/** Reads the configuration once, at the start. */
export const loadConfig = async (): Promise<ConsoleConfig> => {
  const config = await readConfig()
  current = config
  const { webhooks } = config
  setOrigins({ service: location.origin, webhooks: webhooks === null || webhooks === "" ? location.origin : webhooks })
  return config
}

/** The configuration, after {@link loadConfig}. */
export const config = (): ConsoleConfig => {
  if (current === undefined) throw new Error("The configuration is not loaded yet")
  return current
}
