/** The layer of credentials: service accounts, tokens, platform credentials. */
import { Layer } from "effect"
import { Me } from "./Me.ts"
import { OrganizationTokens } from "./OrganizationTokens.ts"
import { PlatformCredentials } from "./PlatformCredentials.ts"
import { AccessRepo } from "./Repo.ts"
import { ServiceAccounts } from "./ServiceAccounts.ts"
import { ServiceAccountsRepo } from "./ServiceAccountsRepo.ts"
import { Credentials } from "./tokens/Credentials.ts"
import { OwnedTokens } from "./tokens/OwnedTokens.ts"
import { GatewayTokens } from "./tokens/GatewayTokens.ts"
import { TokenRetention } from "./tokens/Retention.ts"
import { TokenRetentionRepo } from "./tokens/RetentionRepo.ts"
import { TokenHasher } from "./tokens/TokenHasher.ts"
import { TokenIssuer } from "./tokens/TokenIssuer.ts"

/** The services of this domain on their repositories. */
export const layer = Layer.mergeAll(Me.layer, OrganizationTokens.layer, TokenRetention.layer).pipe(
  Layer.provideMerge(ServiceAccounts.layer),
  Layer.provideMerge(OwnedTokens.layer),
  Layer.provideMerge(Layer.merge(PlatformCredentials.layer, GatewayTokens.layer)),
  Layer.provideMerge(Layer.merge(Credentials.layer, TokenIssuer.layer)),
  Layer.provideMerge(
    Layer.mergeAll(AccessRepo.layer, ServiceAccountsRepo.layer, TokenRetentionRepo.layer, TokenHasher.layer),
  ),
)
