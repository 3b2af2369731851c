/** The endpoints of the organization, and whether deliveries to them arrive. */
import { Ellipsis, Plus } from "lucide-react"
import type { WebhookEndpoint } from "../kernel/Contract.ts"
import { eventWords } from "../kernel/Formats.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { Menu } from "../widgets/Menu.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { Empty, Failure, ReadOnly } from "../widgets/States.tsx"
import { useEndpointActions } from "./EndpointActions.tsx"
import { EndpointState, LastSuccess, Waiting } from "./EndpointHealth.tsx"
import { t } from "./texts.en.ts"

// How many deliveries wait changes without an event.
const EVERY_MS = 15_000

const MAX_NAMES = 3

/** The first names of the events; the page of the endpoint has all. */
const subscriptions = (names: ReadonlyArray<string>): string => {
  if (names.includes("*")) return t.all
  const shown = names.slice(0, MAX_NAMES).map(eventWords).join(", ")
  return names.length > MAX_NAMES ? t.andMore(shown, names.length - MAX_NAMES) : shown
}

const columns: ReadonlyArray<Column<WebhookEndpoint>> = [
  {
    id: "url",
    title: t.url,
    width: "2.5fr",
    cell: ({ description, id, url }) => (
      <>
        <RecordLink kind="webhookEndpoint" slug={id}>
          {url}
        </RecordLink>
        <span className="sub">{description}</span>
      </>
    ),
  },
  { id: "events", title: t.events, width: "1.5fr", cell: ({ eventNames }) => subscriptions(eventNames) },
  { id: "state", title: t.health, width: "1.5fr", cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
  { id: "success", title: t.lastSuccess, width: "1fr", cell: (endpoint) => <LastSuccess endpoint={endpoint} /> },
  {
    id: "waiting",
    title: t.waiting,
    width: "80px",
    isNumber: true,
    cell: (endpoint) => <Waiting endpoint={endpoint} />,
  },
]

export const Endpoints = () => {
  const rows = useRows("GET /api/webhooks", { query: { include: "health" } }, { refetchInterval: EVERY_MS })
  const mayWrite = useCan("write:webhooks")
  const { actionsOf, create, dialogs, error } = useEndpointActions()
  const newEndpoint = mayWrite && (
    <Button icon={<Plus aria-hidden size={16} />} onPress={create}>
      {t.create}
    </Button>
  )
  const actions: Column<WebhookEndpoint> = {
    id: "actions",
    title: common.common.actions,
    width: "40px",
    isUntitled: true,
    cell: (endpoint) =>
      mayWrite ? (
        <Menu label={`${common.common.actions}: ${endpoint.url}`} actions={actionsOf(endpoint)}>
          <Ellipsis aria-hidden size={16} />
        </Menu>
      ) : null,
  }
  const isEmpty = rows.rows?.length === 0
  return (
    <>
      {!mayWrite && <ReadOnly />}
      {newEndpoint !== false && !isEmpty && <div className="tab-tools">{newEndpoint}</div>}
      {error !== null && <Failure error={error} />}
      <DataTable
        label={t.endpoints}
        unit="endpoint"
        columns={[...columns, actions]}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <Empty title={t.empty} action={newEndpoint} isGuided>
            {t.emptyDetail}
          </Empty>
        }
      />
      {dialogs}
    </>
  )
}
