/** One component: the versions before and after it, and the releases that have it. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Component } from "../kernel/Contract.ts"
import { useMatching, useRead } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { usePathName } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import { Facts, PageHead } from "../widgets/Page.tsx"
import { createdColumn } from "../widgets/records/Columns.tsx"
import { EventList } from "../widgets/records/EventList.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { ListLink, RecordLink } from "../widgets/records/Links.tsx"
import { Empty, NotAllowed, Read, ReadOnly } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Code, Moment } from "../widgets/Tag.tsx"
import { descriptionColumn, releaseColumn } from "./Columns.tsx"
import { ComponentForm } from "./ComponentForm.tsx"
import { nameOf, useComponents, useReleases } from "./Lists.ts"
import { t } from "./texts.en.ts"

const Releases = ({ component }: { readonly component: Component }) => {
  const isAllowed = useCan("read:releases")
  const rows = useMatching(useReleases(), ({ componentIds }) => componentIds.includes(component.id))
  if (!isAllowed) return <NotAllowed scope="read:releases" />
  return (
    <DataTable
      label={t.inReleases}
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

const Loaded = ({ component }: { readonly component: Component }) => {
  const navigate = useNavigate()
  const [opened, setOpened] = useState<"version" | "delete">()
  const mayWrite = useCan("write:components")
  const close = () => setOpened(undefined)
  return (
    <>
      <PageHead
        title={nameOf(component)}
        crumbs={<ListLink to="/components">{t.components}</ListLink>}
        actions={
          mayWrite ? (
            <>
              <Button onPress={() => setOpened("version")}>{t.newVersion}</Button>
              <Button onPress={() => setOpened("delete")}>{common.common.remove}</Button>
            </>
          ) : undefined
        }
      >
        <Code>{component.slug}</Code>
        {component.description !== null && <span>{component.description}</span>}
        <span>
          {common.common.created} <Moment at={component.createdAt} /> {common.common.by(component.createdBy.name)}
        </span>
      </PageHead>
      {!mayWrite && <ReadOnly />}
      <div className="stack">
        <Neighbours component={component} />
        <Tabs
          label={nameOf(component)}
          items={[
            { id: "releases", title: t.inReleases, content: () => <Releases component={component} /> },
            {
              id: "activity",
              title: t.activity,
              content: () => <EventList label={t.activity} filters={{ resource: component.id }} />,
            },
          ]}
        />
      </div>
      {opened === "version" && (
        <ComponentForm
          previous={component}
          onClose={close}
          onCreated={(slug) => {
            close()
            void navigate({ to: "/components/$slug", params: { slug } })
          }}
        />
      )}
      {opened === "delete" && <DeleteComponent component={component} onClose={close} />}
    </>
  )
}

export const Page = () => {
  const slug = usePathName()
  const component = useRead("GET /api/components/:componentSlug", { params: { componentSlug: slug } })
  return (
    <Read of={component} title={slug}>
      {(found) => <Loaded key={found.id} component={found} />}
    </Read>
  )
}
