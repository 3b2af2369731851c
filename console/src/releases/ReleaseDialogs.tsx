/** Deploying a release to a zone, and deleting a release. */
import { useState } from "react"
import type { Release } from "../kernel/Contract.ts"
import { useAllRows, useRows, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { PickField } from "../widgets/forms/Pick.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { t } from "./texts.en.ts"

export const DeployRelease = ({ onClose, release }: { readonly release: Release; readonly onClose: () => void }) => {
  const [slug, setSlug] = useState("")
  const zones = useAllRows(useRows("GET /api/deployment-zones", {}))
  const write = useWrite("PUT /api/deployment-zones/:deploymentZoneSlug", {
    stale: ["/api/deployment-zones"],
    done: onClose,
  })
  return (
    <FormDialog
      title={t.deployTitle(release.version)}
      submit={t.deploy}
      fields={["releaseId"]}
      onClose={onClose}
      write={write}
      isDisabled={slug === ""}
      onSubmit={() => write.mutate({ params: { deploymentZoneSlug: slug }, body: { releaseId: release.id } })}
    >
      <p>{t.deployText}</p>
      <PickField
        label={t.zone}
        isRequired
        autoFocus
        value={slug}
        onChange={setSlug}
        error={errorAt(write.error, "releaseId")}
        choices={(zones.rows ?? [])
          .filter(({ releaseId }) => releaseId !== release.id)
          .map((zone) => ({ id: zone.slug, title: zone.name, detail: zone.type }))}
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
