/**
 * `/tokens/validate` on the internal listener, for gateways (interface specification, section 5.2; docs/gateways.md). It
 * exchanges a `ksh_` token for an internal JWT, which it answers in the header `Authorization`: 200 with an empty body,
 * 401 or 503 as problems. Gateways ask in the shape of the request that they hold, so every method and every sub-path is
 * the same question, and only `Authorization` is read.
 */
import { Effect, Redacted } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerRespondable, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiSecurity } from "effect/http-api"
import { GatewayTokens } from "../../domains/access/tokens/GatewayTokens.ts"
import { Credentials } from "../../domains/access/tokens/Credentials.ts"

const PATH = "/tokens/validate"

const isAsked = (url: string): boolean => url.startsWith(PATH) && /^([/?#]|$)/.test(url.slice(PATH.length))

// As the listeners read it. A bearer credential is in no query, but the decoder of all schemes asks for one.
const bearerOf = HttpApiBuilder.securityDecode(HttpApiSecurity.bearer).pipe(
  Effect.provideService(HttpServerRequest.ParsedSearchParams, {}),
)

/** The endpoint, in front of the router: paths that no router would read, and methods that it does not know, count too. */
export const layer = HttpRouter.middleware(
  Effect.gen(function* () {
    const credentials = yield* Credentials
    const gatewayTokens = yield* GatewayTokens
    const answer = Effect.gen(function* () {
      const row = yield* credentials.authenticate("organization", yield* bearerOf)
      const token = yield* gatewayTokens.issue(row)
      return HttpServerResponse.empty({
        status: 200,
        headers: {
          authorization: `Bearer ${Redacted.value(token)}`,
          "cache-control": "no-store",
          "content-length": "0",
        },
      })
    }).pipe(Effect.catchTag("Auth.InvalidCredential", HttpServerRespondable.toResponse))
    return (effect) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => (isAsked(request.url) ? answer : effect))
  }),
  { global: true },
)
