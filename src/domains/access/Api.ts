/** Endpoints of service accounts, their tokens, and `GET /me`. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { ActorReference, Role } from "../../kernel/contract/Caller.ts"
import {
  AnswersSecret,
  Created,
  Idempotency,
  idempotencyHeaders,
  RequiredScope,
} from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { PathName } from "../../kernel/values/Text.ts"
import {
  AccessTokenNotFound,
  CreateServiceAccountSlugTaken,
  IssueTokenScopeNotHeld,
  IssueTokenSlugTaken,
  RotateTokenNotLive,
  ServiceAccountNotFound,
} from "./Errors.ts"
import { AccessToken, CreateServiceAccount, IssuedToken, IssueToken, RotateToken, ServiceAccount } from "./Model.ts"

const account = { serviceAccountSlug: PathName }
const token = { ...account, tokenSlug: PathName }

export class ServiceAccountsApi extends HttpApiGroup.make("serviceAccounts")
  .add(
    HttpApiEndpoint.get("list", "/service-accounts", {
      query: pageQuery,
      success: Page(ServiceAccount),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:tokens")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List service accounts",
          description: "Newest first. `tokens` is `null` here: read one service account to see its tokens.",
        }),
      ),
    HttpApiEndpoint.post("create", "/service-accounts", {
      headers: idempotencyHeaders,
      payload: CreateServiceAccount,
      success: Created(ServiceAccount),
      error: CreateServiceAccountSlugTaken,
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:tokens")
      .annotateMerge(exampleBody({ name: "Build server" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a service account",
          description:
            "A machine user of the organization. Without a slug it gets its name, a hyphen and six random characters.",
        }),
      ),
    HttpApiEndpoint.get("get", "/service-accounts/:serviceAccountSlug", {
      params: account,
      success: ServiceAccount,
      error: ServiceAccountNotFound,
    })
      .annotate(RequiredScope, "read:tokens")
      .annotateMerge(OpenApi.annotations({ summary: "Read a service account and its tokens" })),
    HttpApiEndpoint.post("issueToken", "/service-accounts/:serviceAccountSlug/tokens", {
      params: account,
      headers: idempotencyHeaders,
      payload: IssueToken,
      success: Created(IssuedToken),
      error: [ServiceAccountNotFound, IssueTokenSlugTaken, IssueTokenScopeNotHeld, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:tokens")
      .annotateMerge(
        exampleBody({
          name: "Nightly deploys",
          scopes: ["write:releases", "read:customers"],
          expiresAt: "2099-01-01T00:00:00Z",
        }),
      )
      .annotate(AnswersSecret, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Issue an access token",
          description:
            "The answer is the only place that shows `token`. A caller can give only scopes that it holds. Without `expiresAt` the token does not expire.",
        }),
      ),
    HttpApiEndpoint.get("listTokens", "/service-accounts/:serviceAccountSlug/tokens", {
      params: account,
      query: pageQuery,
      success: Page(AccessToken),
      error: [ServiceAccountNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:tokens")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the tokens of a service account",
          description: "Newest first, revoked and expired ones included, secrets never.",
        }),
      ),
    HttpApiEndpoint.post("rotateToken", "/service-accounts/:serviceAccountSlug/tokens/:tokenSlug/rotate", {
      params: token,
      headers: idempotencyHeaders,
      payload: [RotateToken, Schema.Undefined],
      success: Created(IssuedToken),
      error: [ServiceAccountNotFound, AccessTokenNotFound, RotateTokenNotLive, IssueTokenScopeNotHeld],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:tokens")
      .annotateMerge(exampleBody({ gracePeriodSeconds: 3600 }))
      .annotate(AnswersSecret, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Replace an access token",
          description:
            "The answer is a new token of the same name, scopes and lifetime, under a slug of its own. The old one works on for the grace period, never longer than it would have; without one it is revoked at once. A body may be missing.",
        }),
      ),
    HttpApiEndpoint.delete("revokeToken", "/service-accounts/:serviceAccountSlug/tokens/:tokenSlug", {
      params: token,
      success: HttpApiSchema.NoContent,
      error: [ServiceAccountNotFound, AccessTokenNotFound],
    })
      .annotate(RequiredScope, "write:tokens")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke an access token",
          description: "It stops working with the next request, on every node. Revoking it again changes nothing.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Service accounts",
      description: "Machine users of the organization and the tokens they authenticate with.",
    }),
  ) {}

/** The caller as the service sees it. */
export const Me = Schema.Struct({
  identity: ActorReference,
  kind: Schema.Literals(["PERSON", "SERVICE_ACCOUNT", "PLATFORM"]).annotate({ description: "What the identity is" }),
  role: Schema.NullOr(Role).annotate({ description: "A person's role in the organization; `null` for machines" }),
  organizationId: Schema.NullOr(Uuid).annotate({ description: "`null` for the platform identity" }),
  scopes: Schema.Array(Schema.String),
})

export class MeApi extends HttpApiGroup.make("me")
  .add(
    HttpApiEndpoint.get("me", "/me", { success: Me })
      .annotate(RequiredScope, "any-credential")
      .annotateMerge(OpenApi.annotations({ summary: "Who am I, and what may I do" })),
  )
  .annotateMerge(OpenApi.annotations({ title: "Caller", description: "The identity behind the credential." })) {}
