/** Problems of service accounts, tokens and platform credentials. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class ServiceAccountNotFound extends Problem<ServiceAccountNotFound>()(
  "ServiceAccount.NotFound",
  404,
  "Service account not found",
) {}

export class AccessTokenNotFound extends Problem<AccessTokenNotFound>()(
  "AccessToken.NotFound",
  404,
  "Access token not found",
) {}

export class PlatformCredentialNotFound extends Problem<PlatformCredentialNotFound>()(
  "PlatformCredential.NotFound",
  404,
  "Platform credential not found",
) {}

export class CreateServiceAccountSlugTaken extends Problem<CreateServiceAccountSlugTaken>()(
  "CreateServiceAccount.SlugTaken",
  409,
  "Another service account has this slug",
) {}

export class IssueTokenSlugTaken extends Problem<IssueTokenSlugTaken>()(
  "IssueToken.SlugTaken",
  409,
  "Another token has this slug",
) {}

export class MintOrganizationTokenSlugTaken extends Problem<MintOrganizationTokenSlugTaken>()(
  "MintOrganizationToken.SlugTaken",
  409,
  "Another token of the organization has this slug",
) {}

export class CreatePlatformCredentialSlugTaken extends Problem<CreatePlatformCredentialSlugTaken>()(
  "CreatePlatformCredential.SlugTaken",
  409,
  "Another platform credential has this slug",
) {}

/** Only a live token without a successor can be rotated. */
export class RotateTokenNotLive extends Problem<RotateTokenNotLive>()(
  "RotateToken.NotLive",
  409,
  "The token has ended or was rotated before",
) {}

/** A caller can issue only scopes that it holds. */
export class IssueTokenScopeNotHeld extends Problem<IssueTokenScopeNotHeld>()(
  "IssueToken.ScopeNotHeld",
  403,
  "The caller does not hold a scope that it asks for",
) {}

export class MintOrganizationTokenScopeNotHeld extends Problem<MintOrganizationTokenScopeNotHeld>()(
  "MintOrganizationToken.ScopeNotHeld",
  403,
  "The platform credential does not hold a scope that it asks for",
) {}

export class CreatePlatformCredentialScopeNotHeld extends Problem<CreatePlatformCredentialScopeNotHeld>()(
  "CreatePlatformCredential.ScopeNotHeld",
  403,
  "The platform credential does not hold a scope that it asks for",
) {}
