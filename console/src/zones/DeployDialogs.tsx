/** What a zone runs: deploying a release, an earlier one too, or none. */
import { useState } from "react"
import type { Zone } from "../kernel/Contract.ts"
import { resolutionOf, useUpdate } from "../kernel/forms/Update.ts"
import { errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { PickField } from "../widgets/forms/Pick.tsx"
import { candidateOf, useReleases } from "./Releases.ts"
import { t } from "./texts.en.ts"
import { updateOf } from "./ZoneForm.tsx"

/** Deploys to the zone as it was when the dialog opened: another deployment in the meantime is a conflict. */
const useDeploy = (zone: Zone, onClose: () => void) => {
  const [seen, setSeen] = useState(zone)
  const write = useUpdate("PUT /api/deployment-zones/:deploymentZoneSlug", { ...updateOf(zone), done: onClose })
  return {
    seen,
    error: write.error,
    dialog: { write, resolution: resolutionOf(write.error, { take: onClose, keep: setSeen }, write.reset) },
    deploy: (releaseId: string | null) =>
      write.save({ seen, replaces: (stored) => ({ releaseId: stored.releaseId }), bodyFor: () => ({ releaseId }) }),
  }
}

export const DeployDialog = ({
  chosen = "",
  onClose,
  zone,
}: {
  readonly zone: Zone
  /** The release that is chosen at first, as for a rollback. */
  readonly chosen?: string
  readonly onClose: () => void
}) => {
  const [releaseId, setReleaseId] = useState(chosen)
  const releases = useReleases()
  const { deploy, dialog, error, seen } = useDeploy(zone, onClose)
  const now = releases.find(({ id }) => id === seen.releaseId)
  return (
    <FormDialog
      title={t.deployTo(zone.name)}
      submit={t.deployButton}
      fields={["releaseId"]}
      onClose={onClose}
      {...dialog}
      isDisabled={releaseId === "" || releaseId === seen.releaseId}
      onSubmit={() => deploy(releaseId)}
    >
      <p>{now === undefined ? t.deployFirst : t.deployText(now.version)}</p>
      <PickField
        label={t.release}
        isRequired
        autoFocus
        value={releaseId}
        onChange={setReleaseId}
        choices={releases.map(candidateOf)}
        error={errorAt(error, "releaseId")}
      />
    </FormDialog>
  )
}

export const WithdrawDialog = ({
  onClose,
  version,
  zone,
}: {
  readonly zone: Zone
  readonly version: string
  readonly onClose: () => void
}) => {
  const { deploy, dialog } = useDeploy(zone, onClose)
  return (
    <FormDialog
      title={t.withdrawTitle(zone.name)}
      submit={t.withdraw}
      isDangerous
      onClose={onClose}
      {...dialog}
      onSubmit={() => deploy(null)}
    >
      <p>{t.withdrawText(version)}</p>
    </FormDialog>
  )
}
