/** The layer of signing keys. */
import { Layer } from "effect"
import { SigningKeysRepo } from "./Repo.ts"
import { SigningKeys } from "./Service.ts"
import { Signer } from "./Signer.ts"

/** The services of this domain on their repositories. */
export const layer = SigningKeys.layer.pipe(Layer.provideMerge(Signer.layer), Layer.provideMerge(SigningKeysRepo.layer))
