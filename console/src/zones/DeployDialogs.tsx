/** What a zone runs: deploying a release, an earlier one too, or none. */
import { useState } from "react"
import type { Zone } from "../kernel/Contract.ts"
import { useWrite } from "../kernel/Queries.ts"
import { errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { PickField } from "../widgets/forms/Pick.tsx"
import { candidateOf, useReleases } from "./Releases.ts"
import { t } from "./texts.en.ts"

const useDeploy = (zone: Zone, onClose: () => void) => {
  const write = useWrite("PUT /api/deployment-zones/:deploymentZoneSlug", {
    stale: ["/api/deployment-zones"],
    done: onClose,
  })
  return {
    ...write,
    deploy: (releaseId: string | null) =>
      write.mutate({ params: { deploymentZoneSlug: zone.slug }, body: { releaseId } }),
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
  const write = useDeploy(zone, onClose)
  const now = releases.find(({ id }) => id === zone.releaseId)
  return (
    <FormDialog
      title={t.deployTo(zone.name)}
      submit={t.deployButton}
      fields={["releaseId"]}
      onClose={onClose}
      write={write}
      isDisabled={releaseId === "" || releaseId === zone.releaseId}
      onSubmit={() => write.deploy(releaseId)}
    >
      <p>{now === undefined ? t.deployFirst : t.deployText(now.version)}</p>
      <PickField
        label={t.release}
        isRequired
        autoFocus
        value={releaseId}
        onChange={setReleaseId}
        choices={releases.map(candidateOf)}
        error={errorAt(write.error, "releaseId")}
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
  const write = useDeploy(zone, onClose)
  return (
    <FormDialog
      title={t.withdrawTitle(zone.name)}
      submit={t.withdraw}
      isDangerous
      onClose={onClose}
      write={write}
      onSubmit={() => write.deploy(null)}
    >
      <p>{t.withdrawText(version)}</p>
    </FormDialog>
  )
}
