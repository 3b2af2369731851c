/** The Platform API: the operator's, on a listener and with credentials of its own. */
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
      description: "Organizations and credentials, for the operator of an installation.",
      servers: [{ url: "http://127.0.0.1:8081", description: "The platform listener on this machine" }],
    }),
  ) {}
