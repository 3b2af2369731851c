/** Endpoints of service accounts and their tokens, and `GET /me`. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { component } from "../../kernel/contract/Component.ts"
import { ActorReference, Role } from "../../kernel/contract/Caller.ts"
import {
  ReturnsSecret,
  Created,
  Idempotency,
  idempotencyHeaders,
  OpenToLicenseKeys,
  RequiredScope,
} from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { PathName } from "../../kernel/values/Text.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"
import {
  AccessTokenNotFound,
  CreateServiceAccountSlugTaken,
  IssueTokenScopeNotHeld,
  IssueTokenSlugTaken,
  RotateTokenNotLive,
  ServiceAccountNotFound,
} from "./Errors.ts"
import {
  AccessToken,
  CreateServiceAccount,
  IssuedToken,
  IssueToken,
  RotateToken,
  ServiceAccount,
  UpdateServiceAccount,
} from "./Model.ts"

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
          description: "Newest first. `tokens` is `null` in lists: read a single service account to get its tokens.",
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
            "Creates a machine user of the organization. The default slug is the name, a hyphen and six random characters.",
        }),
      ),
    HttpApiEndpoint.get("get", "/service-accounts/:serviceAccountSlug", {
      params: account,
      success: ServiceAccount,
      error: ServiceAccountNotFound,
    })
      .annotate(RequiredScope, "read:tokens")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a service account and its tokens",
          description:
            "Only this operation returns `tokens`; lists leave it `null`. No operation returns the secret of a token again.",
        }),
      ),
    HttpApiEndpoint.patch("update", "/service-accounts/:serviceAccountSlug", {
      params: account,
      payload: rewritable(ServiceAccount, UpdateServiceAccount),
      success: ServiceAccount,
      error: ServiceAccountNotFound,
    })
      .annotate(RequiredScope, "write:tokens")
      .annotateMerge(exampleBody({ name: "Build server", externalId: "ci-7" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Update a service account",
          description:
            "Omitted properties stay unchanged; `externalId: null` clears it. The slug is immutable. Requests with the account's tokens act under the new name; what they did before keeps the old one.",
        }),
      ),
    HttpApiEndpoint.delete("delete", "/service-accounts/:serviceAccountSlug", {
      params: account,
      success: HttpApiSchema.NoContent,
      error: ServiceAccountNotFound,
    })
      .annotate(RequiredScope, "write:tokens")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Delete a service account",
          description:
            "Revokes all its tokens: the next request with one of them fails, on every node. Records and events keep the account's name.",
        }),
      ),
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
      .annotate(ReturnsSecret, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Issue an access token",
          description:
            "The secret `token` is returned only in this response. The caller can grant only scopes that it holds. Without `expiresAt` the token does not expire.",
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
          description: "Newest first, including revoked and expired tokens. Secrets are never returned.",
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
      .annotate(ReturnsSecret, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Rotate an access token",
          description:
            "Issues a new token with the same name, scopes and lifetime, under a new slug. The old token works until the grace period or its own expiry ends, whichever is first. Without a grace period it is revoked immediately. The body is optional.",
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
          description: "The next request with the token fails, on every node. Revoking a revoked token has no effect.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Service accounts",
      description: "Machine users of the organization and the tokens they authenticate with.",
    }),
  ) {}

const caller = {
  identity: ActorReference,
  kind: Schema.Literals(["PERSON", "SERVICE_ACCOUNT", "INSTANCE", "PLATFORM"]).annotate({
    ...component("CallerKind", "SERVICE_ACCOUNT"),
    description: "Kind of identity; `INSTANCE` for a license key",
  }),
  role: Schema.NullOr(Role).annotate({ description: "A person's role in the organization; `null` for machines" }),
  organizationId: Schema.NullOr(Uuid).annotate({ description: "`null` for the platform identity" }),
  scopes: Schema.Array(Schema.String),
}

/** The credential of a request on the core listener, and what it resolves to. */
const Me = Schema.Struct({
  ...caller,
  organization: Schema.Struct({ id: Uuid, name: Schema.String, slug: Schema.String }).annotate(
    component("OrganizationReference", { name: "Acme", slug: "acme" }),
  ),
  instance: Schema.optionalKey(
    Schema.Struct({ id: Uuid, slug: Schema.String }).annotate({
      ...component("InstanceReference", { slug: "globex-production" }),
      description: "The instance that a license key is confined to; only for license keys",
    }),
  ),
  credential: Schema.Struct({
    id: Uuid,
    name: Schema.String,
    expiresAt: Schema.NullOr(Timestamp),
  }).annotate({
    ...component("CredentialReference", { name: "Nightly deploys", expiresAt: "2027-01-31T00:00:00.000Z" }),
    description: "The token. For a person, the membership, the person's name and the end of the JWT",
  }),
}).annotate(component("Me", { role: null, scopes: ["read:customers"] }))
export type CallerRecord = typeof Me.Type

/** The credential of a request on the platform listener, and what it resolves to. */
export const PlatformMe = Schema.Struct({
  ...caller,
  credential: Schema.Struct({
    id: Uuid,
    slug: Schema.String,
    name: Schema.String,
    scopes: Schema.Array(Schema.String),
    expiresAt: Schema.NullOr(Timestamp),
  }).annotate(
    component("PlatformCredentialReference", {
      name: "Terraform",
      slug: "terraform",
      scopes: ["write:*"],
      expiresAt: null,
    }),
  ),
}).annotate(component("PlatformMe", { role: null, organizationId: null, scopes: ["write:*"] }))
export type OperatorRecord = typeof PlatformMe.Type

export class MeApi extends HttpApiGroup.make("me")
  .add(
    HttpApiEndpoint.get("me", "/me", { success: Me })
      .annotate(RequiredScope, "any-credential")
      .annotate(OpenToLicenseKeys, "by-service")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getMe",
          summary: "Read the caller's identity, organization, credential and scopes",
          description:
            "Every credential may call it, whatever its scopes. The credential of a person is the membership in the organization.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Caller", description: "The identity that the credential authenticates." }),
  ) {}
