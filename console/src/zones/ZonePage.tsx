/** One zone: which release runs there, since when, and what ran before. */
import type { Item, Zone } from "../kernel/Contract.ts"
import { useRead, useRows } from "../kernel/Queries.ts"
import { usePathName, useUrl } from "../kernel/Url.ts"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { EventList } from "../widgets/records/EventList.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { t as records } from "../widgets/records/texts.en.ts"
import { Empty, Read } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Code, Moment, Tag } from "../widgets/Tag.tsx"
import { ZoneMetadata } from "./ZoneMetadata.tsx"
import { t } from "./texts.en.ts"

type Deployment = Item<"GET /api/deployment-zones/:deploymentZoneSlug/deployments">

const Timeline = ({ zone }: { readonly zone: Zone }) => {
  const rows = useRows("GET /api/deployment-zones/:deploymentZoneSlug/deployments", {
    params: { deploymentZoneSlug: zone.slug },
  })
  const newest = rows.rows?.[0]?.id
  const columns: ReadonlyArray<Column<Deployment>> = [
    {
      id: "release",
      title: t.release,
      width: "2fr",
      cell: ({ id, releaseId, releaseVersion }) => (
        <span className="inline">
          {releaseVersion}
          {id === newest && releaseId === zone.releaseId && <Tag tone="ok">{t.now}</Tag>}
        </span>
      ),
    },
    { id: "deployed", title: t.deployed, width: "1.5fr", cell: ({ deployedAt }) => <Moment at={deployedAt} /> },
    { id: "by", title: t.by, width: "1.5fr", cell: ({ deployedBy }) => deployedBy.name },
  ]
  return (
    <DataTable
      label={t.deployments}
      columns={columns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={<Empty title={t.noDeployments}>{t.noDeploymentsDetail}</Empty>}
    />
  )
}

const Loaded = ({ zone }: { readonly zone: Zone }) => {
  const [{ tab = "deployments" }, setUrl] = useUrl()
  return (
    <>
      <PageHead title={zone.name} crumbs={<ListLink to="/zones">{t.title}</ListLink>}>
        <Code>{zone.slug}</Code>
        <span>{zone.type}</span>
        {zone.description !== null && <span>{zone.description}</span>}
      </PageHead>
      <Tabs
        label={zone.name}
        selected={tab}
        onSelect={(id) => setUrl({ tab: id })}
        items={[
          { id: "deployments", title: t.deployments, content: () => <Timeline zone={zone} /> },
          { id: "metadata", title: records.metadata.title, content: () => <ZoneMetadata zone={zone} /> },
          {
            id: "activity",
            title: t.activity,
            content: () => <EventList label={t.activity} filters={{ resource: zone.id }} />,
          },
        ]}
      />
    </>
  )
}

export const Page = () => {
  const slug = usePathName()
  const zone = useRead("GET /api/deployment-zones/:deploymentZoneSlug", { params: { deploymentZoneSlug: slug } })
  return (
    <Read of={zone} title={slug}>
      {(found) => <Loaded key={found.id} zone={found} />}
    </Read>
  )
}
