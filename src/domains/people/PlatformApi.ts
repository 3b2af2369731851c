/** Platform endpoints of people and memberships. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Created, Idempotency, idempotencyHeaders, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { rewritable } from "../../kernel/contract/Rewritable.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { OrganizationNotFound } from "../organizations/Errors.ts"
import {
  CreateMembershipAlreadyMember,
  CreateUserIdentityTaken,
  MembershipNotFound,
  RemoveMembershipPlatformIdentity,
  RemoveUserPlatformIdentity,
  UpdateMembershipPlatformIdentity,
  UserNotFound,
} from "./Errors.ts"
import { CreateMembership, CreateUser, Membership, membershipFilters, UpdateMembership, User } from "./Model.ts"

const organization = { orgId: Uuid.annotate({ description: "Id of the organization" }) }

export class UsersApi extends HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("list", "/platform/users", {
      query: pageQuery,
      success: Page(User),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:users")
      .annotateMerge(OpenApi.annotations({ summary: "List users", description: "People, newest first." })),
    HttpApiEndpoint.post("create", "/platform/users", {
      headers: idempotencyHeaders,
      payload: CreateUser,
      success: Created(User),
      error: [CreateUserIdentityTaken, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:users")
      .annotateMerge(
        exampleBody({
          name: "Anna Kowalska",
          email: "anna@example.com",
          issuer: "https://login.example.com",
          subject: "00u1a2b3c4",
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          summary: "Create a user",
          description:
            "`issuer` and `subject` are `iss` and `sub` of the person's tokens. Send both or neither: without them the person cannot sign in.",
        }),
      ),
    HttpApiEndpoint.get("get", "/platform/users/:userId", {
      params: { userId: Uuid },
      success: User,
      error: UserNotFound,
    })
      .annotate(RequiredScope, "read:users")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a user",
          description: "Returns the user with the issuer and subject that the person signs in with, if they are set.",
        }),
      ),
    HttpApiEndpoint.delete("remove", "/platform/users/:userId", {
      params: { userId: Uuid },
      success: HttpApiSchema.NoContent,
      error: [UserNotFound, RemoveUserPlatformIdentity],
    })
      .annotate(RequiredScope, "delete:users")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "deleteUser",
          summary: "Remove a user",
          description:
            "Ends all memberships of the person with their next request. Records and events keep the name. Signing in again does not bring the person back; create a user with the same issuer and subject to do so. `system:platform` cannot be removed.",
        }),
      ),
  )
  .annotateMerge(OpenApi.annotations({ title: "Users", description: "The people of this installation." })) {}

export class MembershipsApi extends HttpApiGroup.make("memberships")
  .add(
    HttpApiEndpoint.get("list", "/platform/organizations/:orgId/memberships", {
      params: organization,
      query: { ...pageQuery, ...membershipFilters },
      success: Page(Membership),
      error: [OrganizationNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:memberships")
      .annotateMerge(
        OpenApi.annotations({
          summary: "List the members of an organization",
          description: "Newest first. Includes removed memberships only with `includeRemoved=true`.",
        }),
      ),
    HttpApiEndpoint.post("create", "/platform/organizations/:orgId/memberships", {
      params: organization,
      headers: idempotencyHeaders,
      payload: CreateMembership,
      success: Created(Membership),
      error: [OrganizationNotFound, CreateMembershipAlreadyMember, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:memberships")
      .annotateMerge(exampleBody({ userId: "01990000-0000-7000-8000-000000000000", role: "MEMBER" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Add a user to an organization",
          description:
            "`ADMIN` has full access. `MEMBER` reads everything and writes customers, instances, deployment zones, releases and components. `VIEWER` reads everything. A removed user can be added again.",
        }),
      ),
    HttpApiEndpoint.patch("update", "/platform/organizations/:orgId/memberships/:userId", {
      params: { ...organization, userId: Uuid },
      payload: rewritable(Membership, UpdateMembership),
      success: Membership,
      error: [OrganizationNotFound, MembershipNotFound, UpdateMembershipPlatformIdentity],
    })
      .annotate(RequiredScope, "write:memberships")
      .annotateMerge(exampleBody({ role: "ADMIN" }))
      .annotateMerge(
        OpenApi.annotations({
          summary: "Change the role of a member",
          description: "Applies to the person's next request. `system:platform` has no role to change.",
        }),
      ),
    HttpApiEndpoint.delete("remove", "/platform/organizations/:orgId/memberships/:userId", {
      params: { ...organization, userId: Uuid },
      success: HttpApiSchema.NoContent,
      error: [OrganizationNotFound, MembershipNotFound, RemoveMembershipPlatformIdentity],
    })
      .annotate(RequiredScope, "delete:memberships")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Remove a user from an organization",
          description:
            "Takes effect with the person's next request. The membership is retained with the time of its removal. `system:platform` cannot be removed.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Memberships",
      description: "The people who belong to organizations, with their roles.",
    }),
  ) {}
