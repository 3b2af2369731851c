/** Problems of signing keys. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class SigningKeyNotFound extends Problem<SigningKeyNotFound>()(
  "SigningKey.NotFound",
  404,
  "Signing key not found",
) {}

export class CreateSigningKeyNextExists extends Problem<CreateSigningKeyNextExists>()(
  "CreateSigningKey.NextExists",
  409,
  "The next key exists already",
) {}

export class ActivateSigningKeyNotNext extends Problem<ActivateSigningKeyNotNext>()(
  "ActivateSigningKey.NotNext",
  409,
  "Only the next key can be activated",
) {}

export class RevokeSigningKeyCurrent extends Problem<RevokeSigningKeyCurrent>()(
  "RevokeSigningKey.Current",
  409,
  "The current key cannot be revoked",
) {}
