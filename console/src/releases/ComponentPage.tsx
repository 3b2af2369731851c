/** One component: the versions before and after it, and the releases that have it. */
import { useNavigate } from "@tanstack/react-router"
import type { Component } from "../kernel/Contract.ts"
import { useMatching } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { DataTable } from "../widgets/DataTable.tsx"
import { Facts } from "../widgets/Page.tsx"
import { createdColumn } from "../widgets/records/Columns.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { activityTab, Creation, deleteAction, pageOf, RecordPage } from "../widgets/records/RecordPage.tsx"
import { Empty, NotAllowed } from "../widgets/States.tsx"
import { Code } from "../widgets/Tag.tsx"
import { descriptionColumn, releaseColumn } from "./Columns.tsx"
import { ComponentForm } from "./ComponentForm.tsx"
import { ImagesTab } from "./ImagesTab.tsx"
import { nameOf, useComponents, useReleases } from "./Lists.ts"
import { t } from "./texts.en.ts"

const Releases = ({ component }: { readonly component: Component }) => {
  const isAllowed = useCan("read:releases")
  const rows = useMatching(useReleases(), ({ componentIds }) => componentIds.includes(component.id))
  if (!isAllowed) return <NotAllowed scope="read:releases" />
  return (
    <DataTable
      label={t.inReleases}
      unit="release"
      columns={[releaseColumn, descriptionColumn, createdColumn]}
      rows={rows}
      rowKey={({ id }) => id}
      empty={<Empty title={t.noInReleases}>{t.noInReleasesDetail}</Empty>}
    />
  )
}

const DeleteComponent = ({ component, onClose }: { readonly component: Component; readonly onClose: () => void }) => {
  const navigate = useNavigate()
  return (
    <ImpactDialog
      title={t.removeComponent(nameOf(component))}
      submit={common.common.remove}
      operation="DELETE /api/components/:componentSlug"
      request={{ params: { componentSlug: component.slug } }}
      leavesPage
      stale={["/api/components"]}
      done={() => void navigate({ to: "/components" })}
      onClose={onClose}
    />
  )
}

const ComponentLink = ({ component }: { readonly component: Component }) => (
  <RecordLink kind="component" slug={component.slug}>
    {nameOf(component)}
  </RecordLink>
)

/** The versions before and after a component. */
const Neighbours = ({ component }: { readonly component: Component }) => {
  const components = useComponents().rows ?? []
  const previous = components.find(({ id }) => id === component.previousComponentId)
  const next = components.filter(({ previousComponentId }) => previousComponentId === component.id)
  return (
    <Facts
      items={[
        [t.previous, previous === undefined ? null : <ComponentLink key="previous" component={previous} />],
        [
          t.next,
          next.length === 0 ? null : (
            <span key="next" className="tags">
              {next.map((one) => (
                <ComponentLink key={one.id} component={one} />
              ))}
            </span>
          ),
        ],
      ]}
    />
  )
}

const Loaded = ({ record: component }: { readonly record: Component }) => {
  const navigate = useNavigate()
  const mayWrite = useCan("write:components")
  const created = (close: () => void) => (slug: string) => {
    close()
    void navigate({ to: "/components/$slug", params: { slug } })
  }
  return (
    <RecordPage
      title={nameOf(component)}
      list={{ to: "/components", title: t.components }}
      isReadOnly={!mayWrite}
      actions={[
        {
          id: "version",
          title: t.newVersion,
          isAllowed: mayWrite,
          dialog: (close) => <ComponentForm previous={component} onClose={close} onCreated={created(close)} />,
        },
        deleteAction(mayWrite, (close) => <DeleteComponent component={component} onClose={close} />),
      ]}
      facts={
        <>
          <Code>{component.slug}</Code>
          {component.description !== null && <span>{component.description}</span>}
          <Creation record={component} />
        </>
      }
      before={<Neighbours component={component} />}
      tabs={[
        { id: "releases", title: t.inReleases, content: () => <Releases component={component} /> },
        { id: "images", title: t.images.title, content: () => <ImagesTab component={component} /> },
        activityTab(component),
      ]}
    />
  )
}

export const Page = pageOf(
  "GET /api/components/:componentSlug",
  (componentSlug) => ({ params: { componentSlug } }),
  Loaded,
)
