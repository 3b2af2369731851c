/** The Platform API for the operator. It has a dedicated listener and its own kind of credential. */
import { HttpApi, OpenApi } from "effect/http-api"
import { OrganizationTokensApi, PlatformCredentialsApi, PlatformMeApi } from "./access/PlatformApi.ts"
import { ConnectorInclusionsApi, ConnectorRegistryApi } from "./connectors/PlatformApi.ts"
import { strictBodies } from "./CoreApi.ts"
import { PlatformAccess, RateLimits, RequestValidation } from "./kernel/Endpoint.ts"
import { OrganizationsApi } from "./organizations/Api.ts"
import { MembershipsApi, UsersApi } from "./people/PlatformApi.ts"

export class PlatformApi extends HttpApi.make("platform")
  .add(
    PlatformMeApi,
    OrganizationsApi,
    UsersApi,
    MembershipsApi,
    OrganizationTokensApi,
    PlatformCredentialsApi,
    ConnectorRegistryApi,
    ConnectorInclusionsApi,
  )
  .prefix("/api")
  .middleware(RequestValidation)
  .middleware(RateLimits)
  .middleware(PlatformAccess)
  .annotateMerge(strictBodies)
  .annotateMerge(
    OpenApi.annotations({
      title: "Keyshelf Platform API",
      version: "0.1.0",
      description:
        "Manage organizations, users, connectors and platform credentials as the operator of an installation.",
      servers: [{ url: "http://127.0.0.1:8081", description: "Platform listener on this machine" }],
    }),
  ) {}
