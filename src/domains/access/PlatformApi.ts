/** Platform endpoints of the operator's credentials and the tokens minted with them. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  ReturnsSecret,
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
import { OrganizationNotFound } from "../organizations/Errors.ts"
import { PlatformMe } from "./Api.ts"
import {
  AccessTokenNotFound,
  CreatePlatformCredentialScopeNotHeld,
  CreatePlatformCredentialSlugTaken,
  MintOrganizationTokenScopeNotHeld,
  MintOrganizationTokenSlugTaken,
  PlatformCredentialNotFound,
} from "./Errors.ts"
import { AccessToken, CreatePlatformCredential, IssuedToken, MintToken } from "./Model.ts"

const organization = { orgId: Uuid.annotate({ description: "Id of the organization" }) }

export class OrganizationTokensApi extends HttpApiGroup.make("organizationTokens")
  .add(
    HttpApiEndpoint.get("list", "/platform/organizations/:orgId/tokens", {
      params: organization,
      query: pageQuery,
      success: Page(AccessToken),
      error: [OrganizationNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:tokens")
      .annotateMerge(
        OpenApi.annotations({ summary: "List the tokens minted for an organization", description: "Newest first." }),
      ),
    HttpApiEndpoint.post("mint", "/platform/organizations/:orgId/tokens", {
      params: organization,
      headers: idempotencyHeaders,
      payload: MintToken,
      success: Created(IssuedToken),
      error: [
        OrganizationNotFound,
        MintOrganizationTokenSlugTaken,
        MintOrganizationTokenScopeNotHeld,
        ValidationFailed,
      ],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:tokens")
      .annotateMerge(exampleBody({ name: "Provisioning", scopes: ["write:customers", "write:instances"] }))
      .annotate(ReturnsSecret, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Mint a token for an organization",
          description:
            "Issues an ordinary `ksh_` token owned by `system:platform`, with at most the scopes of this platform credential. Without `scopes`, it gets all scopes of the credential that apply to organizations. Revoking the credential revokes the token.",
        }),
      ),
    HttpApiEndpoint.delete("revoke", "/platform/organizations/:orgId/tokens/:tokenSlug", {
      params: { ...organization, tokenSlug: PathName },
      success: HttpApiSchema.NoContent,
      error: [OrganizationNotFound, AccessTokenNotFound],
    })
      .annotate(RequiredScope, "write:tokens")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke a minted token",
          description: "The token is rejected from its next request on. Revoking a revoked token changes nothing.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Organization tokens",
      description: "Tokens that the operator mints for organizations.",
    }),
  ) {}

export class PlatformCredentialsApi extends HttpApiGroup.make("platformCredentials")
  .add(
    HttpApiEndpoint.get("list", "/platform/credentials", {
      query: pageQuery,
      success: Page(AccessToken),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:tokens")
      .annotateMerge(
        OpenApi.annotations({ summary: "List platform credentials", description: "Newest first, without secrets." }),
      ),
    HttpApiEndpoint.post("create", "/platform/credentials", {
      headers: idempotencyHeaders,
      payload: CreatePlatformCredential,
      success: Created(IssuedToken),
      error: [CreatePlatformCredentialSlugTaken, CreatePlatformCredentialScopeNotHeld, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:tokens")
      .annotateMerge(exampleBody({ name: "Terraform", scopes: ["write:organizations", "write:tokens"] }))
      .annotate(ReturnsSecret, true)
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a platform credential",
          description:
            "The new credential has at most the scopes of the calling one. The secret `token` is returned only in this response.",
        }),
      ),
    HttpApiEndpoint.delete("revoke", "/platform/credentials/:slug", {
      params: { slug: PathName.annotate({ description: "Slug of the credential" }) },
      success: HttpApiSchema.NoContent,
      error: PlatformCredentialNotFound,
    })
      .annotate(RequiredScope, "write:tokens")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revoke a platform credential",
          description: "Also revokes every token minted with it.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Platform credentials", description: "The operator's own credentials." }),
  ) {}

export class PlatformMeApi extends HttpApiGroup.make("platformMe")
  .add(
    HttpApiEndpoint.get("me", "/platform/me", { success: PlatformMe })
      .annotate(RequiredScope, "any-credential")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "getPlatformMe",
          summary: "Read the caller's identity, credential and scopes",
          description: "Every platform credential may call it, whatever its scopes.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Caller", description: "The identity that the credential authenticates." }),
  ) {}
