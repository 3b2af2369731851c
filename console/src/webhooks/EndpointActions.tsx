/** What can be done with an endpoint: entries of a menu, and the dialogs that they open. */
import { useState } from "react"
import type { WebhookEndpoint } from "../kernel/Contract.ts"
import { announce } from "../kernel/Announcements.ts"
import { useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { ConfirmDialog } from "../widgets/forms/Form.tsx"
import { SecretDialog } from "../widgets/Secret.tsx"
import { CreateEndpoint, EditEndpoint } from "./EndpointForm.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/webhooks"] }

const DeleteEndpoint = ({
  endpoint,
  onClose,
  onDeleted,
}: {
  readonly endpoint: WebhookEndpoint
  readonly onClose: () => void
  readonly onDeleted: (() => void) | undefined
}) => {
  const write = useWrite("DELETE /api/webhooks/:id", {
    ...STALE,
    leavesPage: onDeleted !== undefined,
    done: onDeleted ?? onClose,
  })
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

/** `onDeleted` leaves the page of the endpoint; a list stays. */
export const useEndpointActions = (onDeleted?: () => void) => {
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const shown = (secret: string) => setOpened({ kind: "secret", secret })
  const test = useWrite("POST /api/webhooks/:id/test", { ...STALE, done: () => announce(t.tested) })
  const enable = useWrite("POST /api/webhooks/:id/enable", { ...STALE, done: () => announce(t.enabled) })
  const pause = useWrite("POST /api/webhooks/:id/pause", { ...STALE, done: () => announce(t.pauseDone) })
  const resume = useWrite("POST /api/webhooks/:id/resume", { ...STALE, done: () => announce(t.resumeDone) })
  const rotate = useWrite("POST /api/webhooks/:id/rotate-secret", { ...STALE, done: ({ secret }) => shown(secret) })

  const actionsOf = (endpoint: WebhookEndpoint) => {
    const request = { params: { id: endpoint.id } }
    const { disabledAt, pausedAt } = endpoint
    return [
      { id: "edit", title: common.common.edit, run: () => setOpened({ kind: "edit", endpoint }) },
      { id: "test", title: t.test, run: () => test.mutate(request) },
      ...(disabledAt === null ? [] : [{ id: "enable", title: t.enable, run: () => enable.mutate(request) }]),
      ...(pausedAt !== null
        ? [{ id: "resume", title: t.resume, run: () => resume.mutate(request) }]
        : disabledAt === null
          ? [{ id: "pause", title: t.pause, run: () => pause.mutate(request) }]
          : []),
      { id: "rotate", title: t.rotate, run: () => rotate.mutate(request) },
      {
        id: "delete",
        title: common.common.remove,
        isDangerous: true,
        run: () => setOpened({ kind: "delete", endpoint }),
      },
    ]
  }

  return {
    actionsOf,
    create: () => setOpened({ kind: "create" }),
    error: test.error ?? enable.error ?? pause.error ?? resume.error ?? rotate.error,
    dialogs: (
      <>
        {opened?.kind === "create" && <CreateEndpoint onClose={close} onSecret={shown} />}
        {opened?.kind === "edit" && <EditEndpoint endpoint={opened.endpoint} onClose={close} />}
        {opened?.kind === "delete" && (
          <DeleteEndpoint endpoint={opened.endpoint} onClose={close} onDeleted={onDeleted} />
        )}
        {opened?.kind === "secret" && (
          <SecretDialog secret={{ title: t.secret, hint: t.secretHint, value: opened.secret }} onClose={close} />
        )}
      </>
    ),
  }
}
