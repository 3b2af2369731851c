/** One release: its components, and the zones that run it. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Release, Zone } from "../kernel/Contract.ts"
import { useRead, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { usePathName } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { complete, DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { createdColumn, nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { EventList } from "../widgets/records/EventList.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Empty, NotAllowed, Read, ReadOnly } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Code, Moment } from "../widgets/Tag.tsx"
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
      columns={zoneColumns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={<Empty title={t.noZones}>{t.noZonesDetail}</Empty>}
    />
  )
}

const Loaded = ({ release }: { readonly release: Release }) => {
  const navigate = useNavigate()
  const [opened, setOpened] = useState<"deploy" | "delete">()
  const mayWrite = useCan("write:releases")
  const mayDeploy = useCan("write:deployment_zones")
  const close = () => setOpened(undefined)
  return (
    <>
      <PageHead
        title={`${t.release} ${release.version}`}
        crumbs={<ListLink to="/releases">{t.releases}</ListLink>}
        actions={
          <>
            {mayDeploy && <Button onPress={() => setOpened("deploy")}>{t.deploy}</Button>}
            {mayWrite && <Button onPress={() => setOpened("delete")}>{common.common.remove}</Button>}
          </>
        }
      >
        <Code>{release.slug}</Code>
        {release.description !== null && <span>{release.description}</span>}
        <span>
          {common.common.created} <Moment at={release.createdAt} /> {common.common.by(release.createdBy.name)}
        </span>
      </PageHead>
      {!mayWrite && <ReadOnly />}
      <Tabs
        label={release.version}
        items={[
          {
            id: "components",
            title: t.components,
            content: () => (
              <DataTable
                label={t.components}
                columns={[componentColumn, descriptionColumn, createdColumn]}
                rows={complete(release.components)}
                rowKey={({ id }) => id}
                empty={<Empty title={t.emptyRelease}>{t.emptyReleaseDetail}</Empty>}
              />
            ),
          },
          { id: "zones", title: t.zones, content: () => <Zones release={release} /> },
          {
            id: "activity",
            title: t.activity,
            content: () => <EventList label={t.activity} filters={{ resource: release.id }} />,
          },
        ]}
      />
      {opened === "deploy" && <DeployRelease release={release} onClose={close} />}
      {opened === "delete" && (
        <DeleteRelease release={release} onClose={close} onDone={() => void navigate({ to: "/releases" })} />
      )}
    </>
  )
}

export const Page = () => {
  const slug = usePathName()
  const release = useRead("GET /api/releases/:releaseSlug", { params: { releaseSlug: slug } })
  return (
    <Read of={release} title={slug}>
      {(found) => <Loaded key={found.id} release={found} />}
    </Read>
  )
}
