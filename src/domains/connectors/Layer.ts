/** The layer of connectors. */
import { Layer } from "effect"
import { ConnectorInclusions } from "./ConnectorInclusions.ts"
import { ConnectorRegistry } from "./ConnectorRegistry.ts"
import { ConnectorsRepo } from "./Repo.ts"
import { Connectors } from "./Service.ts"
import { ConnectorSettings } from "./settings/ConnectorSettings.ts"
import { ConnectorVerification } from "./settings/ConnectorVerification.ts"

/** The services of this domain on their repositories. */
export const layer = ConnectorVerification.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Connectors.layer, ConnectorSettings.layer, ConnectorInclusions.layer)),
  Layer.provideMerge(ConnectorRegistry.layer),
  Layer.provideMerge(ConnectorsRepo.layer),
)
