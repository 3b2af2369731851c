/** Problems that feature flag operations return. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class FeatureFlagNotFound extends Problem<FeatureFlagNotFound>()(
  "FeatureFlag.NotFound",
  404,
  "Feature flag not found",
) {}

export class CreateFeatureFlagKeyTaken extends Problem<CreateFeatureFlagKeyTaken>()(
  "CreateFeatureFlag.KeyTaken",
  409,
  "Another feature flag has this key",
) {}
