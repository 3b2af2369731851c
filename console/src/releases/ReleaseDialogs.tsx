/** Deploying a release to a zone, and deleting a release. */
import { useState } from "react"
import { call } from "../kernel/Api.ts"
import type { Release, Zone } from "../kernel/Contract.ts"
import { resolutionOf, useUpdate } from "../kernel/forms/Update.ts"
import { useAllRows, useRows } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { PickField } from "../widgets/forms/Pick.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { t } from "./texts.en.ts"

export const DeployRelease = ({ onClose, release }: { readonly release: Release; readonly onClose: () => void }) => {
  const [zone, setZone] = useState<Zone>()
  const zones = useAllRows(useRows("GET /api/deployment-zones", {}))
  const slug = zone?.slug ?? ""
  const params = { deploymentZoneSlug: slug }
  const update = useUpdate("PUT /api/deployment-zones/:deploymentZoneSlug", {
    read: () => call("GET /api/deployment-zones/:deploymentZoneSlug", { params }),
    request: (body: { readonly releaseId: string }) => ({ params, body }),
    stale: ["/api/deployment-zones"],
    done: onClose,
  })
  return (
    <FormDialog
      title={t.deployTitle(release.version)}
      submit={t.deploy}
      fields={["releaseId"]}
      onClose={onClose}
      write={update}
      resolution={resolutionOf(update.error, { take: onClose, keep: setZone }, update.reset)}
      isDisabled={zone === undefined}
      onSubmit={() => {
        if (zone === undefined) return
        update.save({
          seen: zone,
          replaces: ({ releaseId }) => ({ releaseId }),
          bodyFor: () => ({ releaseId: release.id }),
        })
      }}
    >
      <p>{t.deployText}</p>
      <PickField
        label={t.zone}
        isRequired
        autoFocus
        value={slug}
        onChange={(chosen) => setZone(zones.rows?.find((one) => one.slug === chosen))}
        error={errorAt(update.error, "releaseId")}
        choices={(zones.rows ?? [])
          .filter(({ releaseId }) => releaseId !== release.id)
          .map(({ name, slug: id, type }) => ({ id, title: name, detail: type }))}
      />
    </FormDialog>
  )
}

export const DeleteRelease = ({
  onClose,
  onDone,
  release,
}: {
  readonly release: Release
  readonly onClose: () => void
  readonly onDone: () => void
}) => (
  <ImpactDialog
    title={t.removeRelease(release.version)}
    submit={common.common.remove}
    operation="DELETE /api/releases/:releaseSlug"
    request={{ params: { releaseSlug: release.slug } }}
    leavesPage
    stale={["/api/releases"]}
    done={onDone}
    onClose={onClose}
  >
    <p>{t.removeReleaseText}</p>
  </ImpactDialog>
)
