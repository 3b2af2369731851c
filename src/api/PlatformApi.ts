/** The Platform API for the operator. It has a dedicated listener and its own kind of credential. */
import { OpenApi } from "effect/http-api"
import { OrganizationTokensApi, PlatformCredentialsApi, PlatformMeApi } from "../domains/access/PlatformApi.ts"
import { ConnectorInclusionsApi, ConnectorRegistryApi } from "../domains/connectors/PlatformApi.ts"
import { PlatformHealthApi } from "./PlatformHealthApi.ts"
import * as Apis from "../kernel/contract/Apis.ts"
import { OrganizationsApi } from "../domains/organizations/Api.ts"
import { MembershipsApi, UsersApi } from "../domains/people/PlatformApi.ts"

export class PlatformApi extends Apis.platform(
  PlatformMeApi,
  PlatformHealthApi,
  OrganizationsApi,
  UsersApi,
  MembershipsApi,
  OrganizationTokensApi,
  PlatformCredentialsApi,
  ConnectorRegistryApi,
  ConnectorInclusionsApi,
).annotateMerge(
  OpenApi.annotations({
    title: "Keyshelf Platform API",
    description: "Manage organizations, users, connectors and platform credentials as the operator of an installation.",
    servers: [{ url: "/", description: "The listener of this API" }],
  }),
) {}
