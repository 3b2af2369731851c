/**
 * The identity provider of the settings: its keys, from the configured URL or through the discovery document, and the
 * console's client at it.
 */
import { Context, Effect, Layer, Option, Schema } from "effect"
import { CurrentConsoleClient, IdentityProvider } from "../../kernel/ports/IdentityProvider.ts"
import type { ConsoleClient, Provider } from "../../kernel/ports/IdentityProvider.ts"
import { discoveryOf, documents } from "./OpenIdDiscovery.ts"
import { Settings } from "../Settings.ts"

const KeySet = Schema.Struct({ keys: Schema.mutable(Schema.Array(Schema.Record(Schema.String, Schema.Unknown))) })

/** The configured provider. */
interface ProviderSettings extends Omit<Provider, "fetchKeys"> {
  /** URL of the key set. If absent, the discovery document names it. */
  readonly jwksUri: Option.Option<string>
  /** The console's client, if people sign in to the console. */
  readonly client?: Option.Option<Omit<ConsoleClient, "issuer" | "endpoints">>
}

/** Creates the provider for these settings, and the console's client at it. */
export const make = ({ client = Option.none(), jwksUri, ...settings }: ProviderSettings) => {
  const { issuer } = settings
  const fetchDocument = documents()
  const discovery = discoveryOf(issuer, fetchDocument)
  const address = Option.match(jwksUri, { onNone: () => discovery.jwksUri, onSome: Effect.succeed })
  const provider: Provider = { ...settings, fetchKeys: Effect.flatMap(address, (url) => fetchDocument(url, KeySet)) }
  const consoleClient = Option.map(client, (own): ConsoleClient => ({ issuer, ...own, endpoints: discovery.endpoints }))
  return { provider, consoleClient }
}

/** Creates the provider for these settings. */
export const providerOf = (settings: ProviderSettings): Provider => make(settings).provider

/** {@link IdentityProvider} and {@link CurrentConsoleClient} from the `SERVICE_OIDC_*` settings; none if they are absent. */
export const layer = Layer.effectContext(
  Effect.map(Settings, ({ identityProvider }) => {
    const made = Option.map(identityProvider, make)
    return Context.make(
      IdentityProvider,
      Option.map(made, ({ provider }) => provider),
    ).pipe(
      Context.add(
        CurrentConsoleClient,
        Option.flatMap(made, ({ consoleClient }) => consoleClient),
      ),
    )
  }),
)
