/** The page of an endpoint: whether deliveries arrive, and each delivery with its attempts. */
import { useNavigate } from "@tanstack/react-router"
import { Ellipsis } from "lucide-react"
import { useState } from "react"
import { announce } from "../kernel/Announcements.ts"
import { config } from "../kernel/Config.ts"
import type { WebhookEndpoint } from "../kernel/Contract.ts"
import { eventWords } from "../kernel/Formats.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { Copy } from "../widgets/Copy.tsx"
import { Menu } from "../widgets/Menu.tsx"
import { Facts, PageHead } from "../widgets/Page.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Creation, eventsTab, LastChange, pageOf } from "../widgets/records/RecordPage.tsx"
import { Empty, Failure, ReadOnly } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Code } from "../widgets/Tag.tsx"
import { Deliveries } from "./Deliveries.tsx"
import { useEndpointActions } from "./EndpointActions.tsx"
import { EndpointState, LastSuccess, Waiting } from "./EndpointHealth.tsx"
import { RecoverDialog } from "./RecoverDialog.tsx"
import { t } from "./texts.en.ts"

const Loaded = ({ record: endpoint }: { readonly record: WebhookEndpoint }) => {
  const mayWrite = useCan("write:webhooks")
  const navigate = useNavigate()
  const { actionsOf, dialogs, error } = useEndpointActions(() => void navigate({ to: "/webhooks" }))
  const [isRecovering, setRecovering] = useState(false)
  const [recovered, setRecovered] = useState<number>()
  const { description, eventNames, id, url } = endpoint
  return (
    <>
      <PageHead
        title={url}
        crumbs={<ListLink to="/webhooks">{t.title}</ListLink>}
        actions={
          mayWrite ? (
            <>
              <Button onPress={() => setRecovering(true)}>{t.recoverSince}</Button>
              <Menu label={common.common.moreActions} actions={actionsOf(endpoint)}>
                <Ellipsis aria-hidden size={16} />
              </Menu>
            </>
          ) : undefined
        }
      >
        <Creation record={endpoint} />
        <LastChange record={endpoint} />
      </PageHead>
      {!mayWrite && <ReadOnly />}
      {error !== null && <Failure error={error} />}
      {recovered !== undefined && <p className="read-only">{t.recovered(recovered)}</p>}
      <div className="stack">
        <Facts
          items={[
            [t.health, <EndpointState key="state" endpoint={endpoint} />],
            [t.lastSuccess, <LastSuccess key="success" endpoint={endpoint} />],
            [t.waiting, <Waiting key="waiting" endpoint={endpoint} />],
            [t.events, eventNames.includes("*") ? t.all : eventNames.map(eventWords).join(", ")],
            [common.common.description, description],
            [
              t.id,
              <span key="id">
                <Code>{id}</Code> <Copy text={id} label={t.copyId} />
              </span>,
            ],
          ]}
        />
        <Tabs
          label={url}
          items={[
            { id: "deliveries", title: t.deliveries, content: () => <Deliveries endpointId={id} /> },
            eventsTab({ resource: [id] }),
          ]}
        />
      </div>
      {dialogs}
      {isRecovering && (
        <RecoverDialog
          endpoint={id}
          endpoints={[endpoint]}
          onClose={() => setRecovering(false)}
          onRecovered={(count) => {
            setRecovering(false)
            setRecovered(count)
            announce(t.recovered(count))
          }}
        />
      )}
    </>
  )
}

const EndpointOfUrl = pageOf(
  "GET /api/webhooks/:id",
  (id) => ({ params: { id }, query: { include: "health" } }),
  Loaded,
)

export const Page = () =>
  config().webhooks === null ? (
    <>
      <PageHead title={t.title} />
      <Empty title={t.elsewhere} />
    </>
  ) : (
    <EndpointOfUrl />
  )
