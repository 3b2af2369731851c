/** The metadata of a zone. */
import type { Zone } from "../kernel/Contract.ts"
import { useUpdate } from "../kernel/forms/Update.ts"
import { useCan } from "../kernel/Scopes.ts"
import { MetadataTab } from "../widgets/records/MetadataTab.tsx"
import { updateOf } from "./ZoneForm.tsx"

export const ZoneMetadata = ({ zone }: { readonly zone: Zone }) => {
  const update = useUpdate("PUT /api/deployment-zones/:deploymentZoneSlug", updateOf(zone))
  return (
    <MetadataTab
      resourceType="DEPLOYMENT_ZONE"
      record={zone}
      mayWrite={useCan("write:deployment_zones")}
      update={update}
    />
  )
}
