/** One release: its components, and the zones that run it. */
import { useNavigate } from "@tanstack/react-router"
import type { Release, Zone } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { complete, DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { createdColumn, nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { activityTab, Creation, deleteAction, pageOf, RecordPage } from "../widgets/records/RecordPage.tsx"
import { Empty, NotAllowed } from "../widgets/States.tsx"
import { Code, Tag } from "../widgets/Tag.tsx"
import { AccessTab } from "./AccessTab.tsx"
import { componentColumn, descriptionColumn } from "./Columns.tsx"
import { DeleteRelease, DeployRelease } from "./ReleaseDialogs.tsx"
import { t } from "./texts.en.ts"

const zoneColumns: ReadonlyArray<Column<Zone>> = [
  nameColumn("zone", "2fr"),
  { id: "type", title: t.type, width: "1fr", cell: ({ type }) => type },
  updatedColumn,
]

const Zones = ({ release }: { readonly release: Release }) => {
  const isAllowed = useCan("read:deployment_zones")
  const rows = useRows("GET /api/deployment-zones", { query: { release: release.slug } }, { when: isAllowed })
  if (!isAllowed) return <NotAllowed scope="read:deployment_zones" />
  return (
    <DataTable
      label={t.zones}
      unit="zone"
      columns={zoneColumns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={<Empty title={t.noZones}>{t.noZonesDetail}</Empty>}
    />
  )
}

const Loaded = ({ record: release }: { readonly record: Release }) => {
  const navigate = useNavigate()
  const mayWrite = useCan("write:releases")
  const mayDeploy = useCan("write:deployment_zones")
  return (
    <RecordPage
      title={`${t.release} ${release.version}`}
      list={{ to: "/releases", title: t.releases }}
      isReadOnly={!mayWrite}
      actions={[
        {
          id: "deploy",
          title: t.deploy,
          isAllowed: mayDeploy,
          dialog: (close) => <DeployRelease release={release} onClose={close} />,
        },
        deleteAction(mayWrite, (close) => (
          <DeleteRelease release={release} onClose={close} onDone={() => void navigate({ to: "/releases" })} />
        )),
      ]}
      facts={
        <>
          <Code>{release.slug}</Code>
          <Tag tone={release.access.withdrawnAt !== null ? "danger" : release.access.offered ? "ok" : "muted"}>
            {release.access.withdrawnAt !== null
              ? t.access.withdrawn
              : release.access.offered
                ? t.access.offered
                : t.access.notOffered}
          </Tag>
          {release.description !== null && <span>{release.description}</span>}
          <Creation record={release} />
        </>
      }
      tabs={[
        {
          id: "components",
          title: t.components,
          content: () => (
            <DataTable
              label={t.components}
              unit="component"
              columns={[componentColumn, descriptionColumn, createdColumn]}
              rows={complete(release.components)}
              rowKey={({ id }) => id}
              empty={<Empty title={t.emptyRelease}>{t.emptyReleaseDetail}</Empty>}
            />
          ),
        },
        { id: "access", title: t.access.title, content: () => <AccessTab release={release} /> },
        { id: "zones", title: t.zones, content: () => <Zones release={release} /> },
        activityTab(release),
      ]}
    />
  )
}

export const Page = pageOf("GET /api/releases/:releaseSlug", (releaseSlug) => ({ params: { releaseSlug } }), Loaded)
