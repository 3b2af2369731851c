/** The metadata of a zone. */
import type { Zone } from "../kernel/Contract.ts"
import { useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { MetadataTab } from "../widgets/records/MetadataTab.tsx"

export const ZoneMetadata = ({ zone }: { readonly zone: Zone }) => {
  const write = useWrite("PUT /api/deployment-zones/:deploymentZoneSlug", { stale: ["/api/deployment-zones"] })
  return (
    <MetadataTab
      resourceType="DEPLOYMENT_ZONE"
      metadata={zone.metadata}
      mayWrite={useCan("write:deployment_zones")}
      write={write}
      save={(metadata) => write.mutate({ params: { deploymentZoneSlug: zone.slug }, body: { metadata } })}
    />
  )
}
