/** Events newest first: when, what, about what, and by whom. Each opens with what it changed. */
import { lazy, Suspense, useState } from "react"
import type { ReactNode } from "react"
import type { EventRecord, Request } from "../../kernel/Contract.ts"
import { connectorTitle, eventWords } from "../../kernel/Formats.ts"
import { useRows } from "../../kernel/Queries.ts"
import { useCan } from "../../kernel/Scopes.ts"
import { Button } from "../Button.tsx"
import { DataTable } from "../DataTable.tsx"
import type { Column } from "../DataTable.tsx"
import { EmptyList, NotAllowed } from "../States.tsx"
import { Code, Moment } from "../Tag.tsx"
import { NamedLink } from "../records/Columns.tsx"
import { ActorLink, RecordLink } from "../records/Links.tsx"
import { t } from "../records/texts.en.ts"

const textAt = (data: Readonly<Record<string, unknown>>, name: string): string | undefined => {
  const value = data[name]
  return typeof value === "string" ? value : undefined
}

/** What an event is about, with a link where there is a page. */
const Subject = ({ event }: { readonly event: EventRecord }) => {
  const { data, type } = event
  const slug = textAt(data, "slug")
  const instance = textAt(data, "instanceSlug") ?? textAt(data, "instance")
  if (instance !== undefined) {
    return (
      <>
        <RecordLink kind="instance" slug={instance} />
        <span className="sub">
          {textAt(data, "entitlement") ?? textAt(data, "entitlementSlug") ?? textAt(data, "name")}
        </span>
      </>
    )
  }
  const license = textAt(data, "licenseSlug")
  if (license !== undefined && type.startsWith("LICENSE_ENTITLEMENT_"))
    return (
      <>
        <RecordLink kind="license" slug={license} />
        <span className="sub">{textAt(data, "entitlementSlug")}</span>
      </>
    )
  const id = textAt(data, "id")
  if (type.startsWith("LICENSE_MIGRATION_"))
    return (
      <RecordLink kind="migration" slug={id ?? ""}>
        {t.migration(textAt(data, "from") ?? "", textAt(data, "to") ?? "")}
      </RecordLink>
    )
  if (type.startsWith("METADATA_FIELD_") && id !== undefined)
    return (
      <RecordLink kind="metadataField" slug={id}>
        {textAt(data, "key") ?? id}
      </RecordLink>
    )
  const connector = textAt(data, "connectorName")
  if (connector !== undefined) return <NamedLink kind="connector" slug={connector} name={connectorTitle(connector)} />
  const key = textAt(data, "key")
  if (type === "FEATURE_FLAG_CREATED" || type === "FEATURE_FLAG_UPDATED")
    return <RecordLink kind="flag" slug={key ?? ""} />
  // An instance has the slug of its zone, too.
  const zone = textAt(data, "deploymentZoneSlug")
  if (zone !== undefined && slug === undefined) {
    return (
      <>
        <RecordLink kind="zone" slug={zone} />
        <span className="sub">{textAt(data, "releaseVersion")}</span>
      </>
    )
  }
  if (type.startsWith("WEBHOOK_ENDPOINT_") && type !== "WEBHOOK_ENDPOINT_DELETED" && id !== undefined)
    return (
      <RecordLink kind="webhookEndpoint" slug={id}>
        {textAt(data, "url") ?? id}
      </RecordLink>
    )
  const name = textAt(data, "name")
  if (slug === undefined) return <>{key ?? textAt(data, "url") ?? name ?? ""}</>
  if (type.endsWith("_DELETED")) return <Code>{slug}</Code>
  if (type.startsWith("CUSTOMER_")) return <NamedLink kind="customer" slug={slug} name={name} />
  if (type.startsWith("INSTANCE_")) return <NamedLink kind="instance" slug={slug} name={name} />
  if (type.startsWith("LICENSE_")) return <NamedLink kind="license" slug={slug} name={name} />
  if (type.startsWith("ENTITLEMENT_GROUP_")) return <NamedLink kind="entitlementGroup" slug={slug} name={name} />
  if (type.startsWith("ENTITLEMENT_")) return <NamedLink kind="entitlement" slug={slug} name={name} />
  if (type.startsWith("DEPLOYMENT_ZONE_")) return <NamedLink kind="zone" slug={slug} name={name} />
  if (type === "RELEASE_CREATED") return <RecordLink kind="release" slug={slug} />
  if (type === "COMPONENT_CREATED") return <RecordLink kind="component" slug={slug} />
  return <Code>{slug}</Code>
}

// Loaded when an event is opened.
const EventDialog = lazy(() => import("./EventDialog.tsx").then((module) => ({ default: module.EventDialog })))

type EventFilters = Request<"GET /api/events">["query"]

const columnsFor = (open: (event: EventRecord) => void): ReadonlyArray<Column<EventRecord>> => [
  { id: "when", title: t.when, width: "190px", cell: ({ timestamp }) => <Moment at={timestamp} /> },
  {
    id: "what",
    title: t.what,
    width: "2fr",
    cell: (event) => (
      <Button look="quiet" onPress={() => open(event)}>
        {eventWords(event.type)}
      </Button>
    ),
  },
  { id: "about", title: t.about, width: "2fr", cell: (event) => <Subject event={event} /> },
  {
    id: "actor",
    title: t.actor,
    width: "1.2fr",
    cell: ({ actor, credential }) => (
      <>
        <ActorLink actor={actor} />
        {credential && <span className="sub">{credential.name}</span>}
      </>
    ),
  },
]

export const EventList = ({
  empty,
  filters,
  isFiltered = false,
  label,
  limit,
}: {
  readonly label: string
  readonly filters: EventFilters
  /** What is shown if there are no events. */
  readonly empty?: ReactNode
  /** Whether a person chose the filters: without events it is then the filter that nothing matches. */
  readonly isFiltered?: boolean
  /** The maximum number of events, newest first. */
  readonly limit?: number
}) => {
  const isAllowed = useCan("read:organizations")
  const rows = useRows(
    "GET /api/events",
    { query: { order: "desc", ...filters } },
    { pageSize: String(limit ?? 100), when: isAllowed },
  )
  const [opened, setOpened] = useState<EventRecord>()
  if (!isAllowed) return <NotAllowed scope="read:organizations" />
  return (
    <>
      <DataTable
        label={label}
        unit="event"
        columns={columnsFor(setOpened)}
        rows={limit === undefined ? rows : { ...rows, rows: rows.rows?.slice(0, limit), hasMore: false }}
        rowKey={({ id }) => id}
        empty={
          empty ?? (
            <EmptyList isFiltered={isFiltered} title={t.noEvents}>
              {t.noEventsDetail}
            </EmptyList>
          )
        }
      />
      <Suspense fallback={null}>
        {opened !== undefined && (
          <EventDialog event={opened} subject={<Subject event={opened} />} onClose={() => setOpened(undefined)} />
        )}
      </Suspense>
    </>
  )
}
