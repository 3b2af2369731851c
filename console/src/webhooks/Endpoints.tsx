/** The endpoints of the organization. */
import { Ellipsis, Plus } from "lucide-react"
import { useState } from "react"
import type { WebhookEndpoint } from "../kernel/Contract.ts"
import { useRows, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { announce } from "../kernel/Announcements.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { ConfirmDialog } from "../widgets/forms/Form.tsx"
import { Menu } from "../widgets/Menu.tsx"
import { SecretDialog } from "../widgets/Secret.tsx"
import { Empty, Failure, ReadOnly } from "../widgets/States.tsx"
import { Moment, Tag } from "../widgets/Tag.tsx"
import { CreateEndpoint, EditEndpoint } from "./EndpointForm.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/webhooks"] }

/** Whether deliveries arrive. */
const Health = ({ endpoint: { disabledAt, disabledReason, failingSince } }: { readonly endpoint: WebhookEndpoint }) => {
  if (disabledAt !== null)
    return (
      <>
        <Tag tone="danger">{t.disabled}</Tag>
        <span className="sub">{disabledReason}</span>
      </>
    )
  if (failingSince === null) return <Tag tone="ok">{t.enabled}</Tag>
  return (
    <>
      <Tag tone="danger">{t.failing}</Tag>
      <span className="sub">
        {t.since.toLowerCase()} <Moment at={failingSince} />
      </span>
    </>
  )
}

const DeleteEndpoint = ({
  endpoint,
  onClose,
}: {
  readonly endpoint: WebhookEndpoint
  readonly onClose: () => void
}) => {
  const write = useWrite("DELETE /api/webhooks/:id", { ...STALE, done: onClose })
  return (
    <ConfirmDialog
      title={t.remove(endpoint.url)}
      submit={common.common.remove}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { id: endpoint.id } })}
    >
      <p>{t.removeText}</p>
    </ConfirmDialog>
  )
}

type Opened =
  | { readonly kind: "create" }
  | { readonly kind: "edit" | "delete"; readonly endpoint: WebhookEndpoint }
  | { readonly kind: "secret"; readonly secret: string }

export const Endpoints = () => {
  const rows = useRows("GET /api/webhooks", {})
  const mayWrite = useCan("write:webhooks")
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const shown = (secret: string) => setOpened({ kind: "secret", secret })
  const test = useWrite("POST /api/webhooks/:id/test", { ...STALE, done: () => announce(t.tested) })
  const enable = useWrite("POST /api/webhooks/:id/enable", STALE)
  const rotate = useWrite("POST /api/webhooks/:id/rotate-secret", { ...STALE, done: ({ secret }) => shown(secret) })
  const error = test.error ?? enable.error ?? rotate.error
  const create = mayWrite && (
    <Button icon={<Plus aria-hidden size={16} />} onPress={() => setOpened({ kind: "create" })}>
      {t.create}
    </Button>
  )
  const columns: ReadonlyArray<Column<WebhookEndpoint>> = [
    {
      id: "url",
      title: t.url,
      width: "2.5fr",
      cell: ({ description, url }) => (
        <>
          {url}
          <span className="sub">{description}</span>
        </>
      ),
    },
    { id: "events", title: t.events, width: "2fr", cell: ({ eventNames: names }) => names.join(", ") },
    { id: "state", title: t.health, width: "1.5fr", cell: (endpoint) => <Health endpoint={endpoint} /> },
    {
      id: "actions",
      title: common.common.actions,
      width: "40px",
      isUntitled: true,
      cell: (endpoint) => {
        const request = { params: { id: endpoint.id } }
        return mayWrite ? (
          <Menu
            label={`${common.common.actions}: ${endpoint.url}`}
            actions={[
              { id: "edit", title: common.common.edit, run: () => setOpened({ kind: "edit", endpoint }) },
              { id: "test", title: t.test, run: () => test.mutate(request) },
              ...(endpoint.disabledAt === null
                ? []
                : [{ id: "enable", title: t.enable, run: () => enable.mutate(request) }]),
              { id: "rotate", title: t.rotate, run: () => rotate.mutate(request) },
              {
                id: "delete",
                title: common.common.remove,
                isDangerous: true,
                run: () => setOpened({ kind: "delete", endpoint }),
              },
            ]}
          >
            <Ellipsis aria-hidden size={16} />
          </Menu>
        ) : null
      },
    },
  ]
  return (
    <>
      {!mayWrite && <ReadOnly />}
      {create !== false && <div className="tab-tools">{create}</div>}
      {error !== null && <Failure error={error} />}
      <DataTable
        label={t.endpoints}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={<Empty title={t.empty}>{t.emptyDetail}</Empty>}
      />
      {opened?.kind === "create" && <CreateEndpoint onClose={close} onSecret={shown} />}
      {opened?.kind === "edit" && <EditEndpoint endpoint={opened.endpoint} onClose={close} />}
      {opened?.kind === "delete" && <DeleteEndpoint endpoint={opened.endpoint} onClose={close} />}
      {opened?.kind === "secret" && (
        <SecretDialog secret={{ title: t.secret, hint: t.secretHint, value: opened.secret }} onClose={close} />
      )}
    </>
  )
}
