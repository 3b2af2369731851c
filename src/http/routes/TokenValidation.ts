/**
 * Serves `/tokens/validate` for gateways on the internal listener (docs/gateways.md). It exchanges a `ksh_` token for
 * an internal JWT and returns that in the `Authorization` header of an empty 200 response. Errors are 400, 401 or 503
 * problems. Gateways forward the method and path of the original request, so all methods and sub-paths behave alike,
 * and only `Authorization` is read.
 */
import { Effect, Redacted } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerRespondable, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiSecurity } from "effect/http-api"
import { GatewayTokens } from "../../domains/access/tokens/GatewayTokens.ts"
import { Credentials } from "../../domains/access/tokens/Credentials.ts"

const PATH = "/tokens/validate"

const isValidationPath = (url: string): boolean => url.startsWith(PATH) && /^([/?#]|$)/.test(url.slice(PATH.length))

// Decodes the header as the listeners do. A bearer credential is never in the query, but the decoder requires a query.
const bearerOf = HttpApiBuilder.securityDecode(HttpApiSecurity.bearer).pipe(
  Effect.provideService(HttpServerRequest.ParsedSearchParams, {}),
)

/**
 * Handles the endpoint before the router, because gateways also send paths and methods that the router does not
 * support.
 */
export const layer = HttpRouter.middleware(
  Effect.gen(function* () {
    const credentials = yield* Credentials
    const gatewayTokens = yield* GatewayTokens
    const validate = Effect.gen(function* () {
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
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        isValidationPath(request.url) ? validate : effect,
      )
  }),
  { global: true },
)
