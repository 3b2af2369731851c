/** Problems of metadata fields. */
import { Problem } from "../../kernel/contract/Problem.ts"

export class MetadataFieldNotFound extends Problem<MetadataFieldNotFound>()(
  "MetadataField.NotFound",
  404,
  "Metadata field not found",
) {}

export class CreateMetadataFieldKeyTaken extends Problem<CreateMetadataFieldKeyTaken>()(
  "CreateMetadataField.KeyTaken",
  409,
  "Another active field has this key",
) {}

export class UnarchiveMetadataFieldKeyTaken extends Problem<UnarchiveMetadataFieldKeyTaken>()(
  "UnarchiveMetadataField.KeyTaken",
  409,
  "Another active field has this key",
) {}
