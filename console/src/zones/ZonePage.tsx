/** One zone: which release runs there, since when, what ran before, and who uses it. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Instance, Item, Release, Zone } from "../kernel/Contract.ts"
import { formatMinute } from "../kernel/Formats.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { customerColumn, licenseColumn, nameColumn } from "../widgets/records/Columns.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { ActorLink, RecordLink } from "../widgets/records/Links.tsx"
import { t as records } from "../widgets/records/texts.en.ts"
import { activityTab, deleteAction, editAction, inMenu, pageOf, RecordPage } from "../widgets/records/RecordPage.tsx"
import { Empty, NotAllowed } from "../widgets/States.tsx"
import { Code, Moment, Tag } from "../widgets/Tag.tsx"
import { DeployDialog, WithdrawDialog } from "./DeployDialogs.tsx"
import { useReleases } from "./Releases.ts"
import { ZoneMetadata } from "./ZoneMetadata.tsx"
import { t } from "./texts.en.ts"
import { EditZone } from "./ZoneForm.tsx"

type Deployment = Item<"GET /api/deployment-zones/:deploymentZoneSlug/deployments">

const Timeline = ({
  onAgain,
  releases,
  zone,
}: {
  readonly zone: Zone
  readonly releases: ReadonlyArray<Release>
  readonly onAgain: (releaseId: string) => void
}) => {
  const rows = useRows("GET /api/deployment-zones/:deploymentZoneSlug/deployments", {
    params: { deploymentZoneSlug: zone.slug },
  })
  const mayDeploy = useCan("write:deployment_zones")
  // The history names releases that were deleted; only those that are left have a page, and can be deployed.
  const left = new Set(releases.map(({ id }) => id))
  const newest = rows.rows?.[0]?.id
  const columns: ReadonlyArray<Column<Deployment>> = [
    {
      id: "release",
      title: t.release,
      width: "2fr",
      cell: ({ id, releaseId, releaseSlug, releaseVersion }) => (
        <span className="inline">
          {left.has(releaseId) ? (
            <RecordLink kind="release" slug={releaseSlug}>
              {releaseVersion}
            </RecordLink>
          ) : (
            releaseVersion
          )}
          {id === newest && releaseId === zone.releaseId && <Tag tone="ok">{t.now}</Tag>}
        </span>
      ),
    },
    { id: "deployed", title: t.deployed, width: "1.5fr", cell: ({ deployedAt }) => <Moment at={deployedAt} /> },
    { id: "by", title: t.by, width: "1.5fr", cell: ({ deployedBy }) => <ActorLink actor={deployedBy} /> },
    {
      id: "actions",
      title: common.common.actions,
      width: "130px",
      isUntitled: true,
      cell: ({ deployedAt, releaseId, releaseVersion }) =>
        mayDeploy && left.has(releaseId) && releaseId !== zone.releaseId ? (
          <Button
            look="quiet"
            label={t.againNamed(releaseVersion, formatMinute(deployedAt))}
            onPress={() => onAgain(releaseId)}
          >
            {t.again}
          </Button>
        ) : null,
    },
  ]
  return (
    <DataTable
      label={t.deployments}
      unit="deployment"
      columns={columns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={<Empty title={t.noDeployments}>{t.noDeploymentsDetail}</Empty>}
    />
  )
}

const instanceColumns: ReadonlyArray<Column<Instance>> = [
  nameColumn("instance", "2.5fr"),
  customerColumn("1.5fr"),
  licenseColumn("1.5fr"),
]

const Users = ({ zone }: { readonly zone: Zone }) => {
  const isAllowed = useCan("read:instances")
  const rows = useRows("GET /api/instances", { query: { zone: zone.slug } }, { when: isAllowed })
  if (!isAllowed) return <NotAllowed scope="read:instances" />
  return (
    <DataTable
      label={t.instances}
      unit="instance"
      columns={instanceColumns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={<Empty title={t.noInstances} />}
    />
  )
}

const DeleteZone = ({ onClose, zone }: { readonly zone: Zone; readonly onClose: () => void }) => {
  const navigate = useNavigate()
  return (
    <ImpactDialog
      title={t.remove(zone.name)}
      submit={common.common.remove}
      operation="DELETE /api/deployment-zones/:deploymentZoneSlug"
      request={{ params: { deploymentZoneSlug: zone.slug } }}
      leavesPage
      stale={["/api/deployment-zones"]}
      done={() => void navigate({ to: "/zones" })}
      onClose={onClose}
    >
      <p>{t.removeText}</p>
    </ImpactDialog>
  )
}

const Loaded = ({ record: zone }: { readonly record: Zone }) => {
  const [again, setAgain] = useState<string>()
  const mayWrite = useCan("write:deployment_zones")
  const mayChoose = useCan("read:releases")
  const releases = useReleases()
  const current = releases.find(({ id }) => id === zone.releaseId)
  return (
    <>
      <RecordPage
        title={zone.name}
        list={{ to: "/zones", title: t.title }}
        isReadOnly={!mayWrite}
        actions={[
          {
            id: "deploy",
            title: t.deploy,
            isAllowed: mayWrite && mayChoose,
            dialog: (close) => <DeployDialog zone={zone} chosen="" onClose={close} />,
          },
          editAction(mayWrite, (close) => <EditZone record={zone} onClose={close} />),
          inMenu({
            id: "withdraw",
            title: t.withdraw,
            isAllowed: mayWrite && zone.releaseId !== null,
            dialog: (close) => <WithdrawDialog zone={zone} version={current?.version ?? ""} onClose={close} />,
          }),
          inMenu(deleteAction(mayWrite, (close) => <DeleteZone zone={zone} onClose={close} />)),
        ]}
        facts={
          <>
            <Code>{zone.slug}</Code>
            <span>{zone.type}</span>
            {zone.releaseId === null && <span>{t.runsNothing}</span>}
            {current !== undefined && (
              <span>
                {t.runs}{" "}
                <RecordLink kind="release" slug={current.slug}>
                  {current.version}
                </RecordLink>
              </span>
            )}
            {zone.description !== null && <span>{zone.description}</span>}
          </>
        }
        tabs={[
          {
            id: "deployments",
            title: t.deployments,
            content: () => <Timeline zone={zone} releases={releases} onAgain={setAgain} />,
          },
          { id: "instances", title: t.instances, content: () => <Users zone={zone} /> },
          { id: "metadata", title: records.metadata.title, content: () => <ZoneMetadata zone={zone} /> },
          activityTab(zone),
        ]}
      />
      {again !== undefined && <DeployDialog zone={zone} chosen={again} onClose={() => setAgain(undefined)} />}
    </>
  )
}

export const Page = pageOf(
  "GET /api/deployment-zones/:deploymentZoneSlug",
  (deploymentZoneSlug) => ({ params: { deploymentZoneSlug } }),
  Loaded,
)
