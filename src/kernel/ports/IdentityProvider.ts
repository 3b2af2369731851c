/** The OpenID provider that people sign in with (`docs/sign-in.md`). */
import { Context, Option, Schema } from "effect"
import type { Effect } from "effect"
import type { JSONWebKeySet } from "jose"

/** The key set is not available. The message is for the operator's log. */
export class KeysUnavailable extends Schema.TaggedError<KeysUnavailable>()("KeysUnavailable", {
  message: Schema.String,
}) {}

/** The operator's settings for the provider, and a function that fetches its keys. */
export interface Provider {
  /** The exact `iss` of its tokens. */
  readonly issuer: string
  /** The `aud` of its tokens, or one of its values. */
  readonly audience: string
  /** The claim that names the organization by its id, slug or external id. */
  readonly organizationClaim: string
  /** Whether the first request of a person creates the person and a membership. */
  readonly provisioning: "off" | "just-in-time"
  /** Fetches the provider's signing keys, with limits for time and size. */
  readonly fetchKeys: Effect.Effect<JSONWebKeySet, KeysUnavailable>
}

/** The installation's identity provider. Without one, JWTs of people are rejected. */
export const IdentityProvider = Context.Reference<Option.Option<Provider>>(
  "keyshelf.reference/kernel/IdentityProvider",
  {
    defaultValue: () => Option.none(),
  },
)

/** What the discovery document says about browser sign-in. All URLs are trusted. */
export interface SignInEndpoints {
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly endSessionEndpoint: string | null
}

/** The console's public client at the provider: authorization code with PKCE, without a secret. */
export interface ConsoleClient {
  readonly issuer: string
  readonly clientId: string
  /** The `scope` of its authorization requests. */
  readonly scope: string
  /** Further parameters of its authorization requests, as some providers need them. */
  readonly parameters: Readonly<Record<string, string>>
  /** None while the provider has not been reached, or has no such endpoints. Never waits longer than one fetch. */
  readonly endpoints: Effect.Effect<Option.Option<SignInEndpoints>>
}

/** The console's client at the identity provider. Without one, people cannot sign in to the console. */
export const CurrentConsoleClient = Context.Reference<Option.Option<ConsoleClient>>(
  "keyshelf.reference/kernel/ConsoleClient",
  { defaultValue: () => Option.none() },
)

/** The claims of a token with verified signature, issuer, audience and times. */
export interface Claims {
  readonly subject: string
  readonly all: Readonly<Record<string, unknown>>
}
