/** The keys that sign offline bundles and the event log: announced, activated, revoked. */
import { useState } from "react"
import type { SigningKey } from "../kernel/Contract.ts"
import { useRows, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { Copy } from "../widgets/Copy.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { ConfirmDialog, FormDialog } from "../widgets/forms/Form.tsx"
import { Section } from "../widgets/Page.tsx"
import { Empty, ReadOnly } from "../widgets/States.tsx"
import { Code, Moment, Tag } from "../widgets/Tag.tsx"
import type { Tone } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

type Purpose = SigningKey["purpose"]

const STALE = { stale: ["/api/signing-keys"] }
const purposes = ["offline", "audit"] as const satisfies ReadonlyArray<Purpose>

const tones: Readonly<Record<SigningKey["state"], Tone>> = {
  NEXT: "waiting",
  CURRENT: "ok",
  RETIRED: "muted",
  REVOKED: "danger",
}

const CreateKey = ({ onClose, purpose }: { readonly purpose: Purpose; readonly onClose: () => void }) => {
  const write = useWrite("POST /api/signing-keys", { ...STALE, done: onClose })
  return (
    <FormDialog
      title={t.createAsk}
      submit={t.create(t.purposes[purpose])}
      onClose={onClose}
      write={write}
      onSubmit={() => write.mutate({ body: { purpose } })}
    >
      <p>{t.createText}</p>
    </FormDialog>
  )
}

const ActivateKey = ({ kid, onClose }: { readonly kid: string; readonly onClose: () => void }) => {
  const write = useWrite("POST /api/signing-keys/:kid/activate", { ...STALE, done: onClose })
  return (
    <ConfirmDialog
      title={t.activateAsk}
      submit={t.activate}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { kid } })}
    >
      <p>{t.activateText}</p>
      <Code>{kid}</Code>
    </ConfirmDialog>
  )
}

const RevokeKey = ({ kid, onClose }: { readonly kid: string; readonly onClose: () => void }) => {
  const write = useWrite("DELETE /api/signing-keys/:kid", { ...STALE, done: onClose })
  return (
    <ConfirmDialog
      title={t.revokeAsk}
      submit={common.common.revoke}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { kid } })}
    >
      <p>{t.revokeText}</p>
      <Code>{kid}</Code>
    </ConfirmDialog>
  )
}

const columns: ReadonlyArray<Column<SigningKey>> = [
  {
    id: "key",
    title: t.key,
    width: "2fr",
    cell: ({ kid, verifierKey }) => (
      <span className="inline">
        <Code>{kid}</Code>
        {verifierKey !== null && <Copy text={verifierKey} label={`${t.verifierKey} ${kid}`} />}
      </span>
    ),
  },
  { id: "purpose", title: t.purpose, width: "1fr", cell: ({ purpose }) => t.purposes[purpose] },
  {
    id: "state",
    title: common.common.state,
    width: "1fr",
    cell: ({ state }) => <Tag tone={tones[state]}>{t.state[state]}</Tag>,
  },
  {
    id: "created",
    title: common.common.created,
    width: "1.2fr",
    cell: ({ createdAt, createdBy }) => (
      <>
        <Moment at={createdAt} relative />
        <span className="sub">{common.common.by(createdBy.name)}</span>
      </>
    ),
  },
]

type Opened =
  | { readonly kind: "create"; readonly purpose: Purpose }
  | { readonly kind: "activate" | "revoke"; readonly kid: string }

export const SigningKeys = () => {
  const rows = useRows("GET /api/signing-keys", {})
  const mayWrite = useCan("write:organizations")
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const actions: Column<SigningKey> = {
    id: "actions",
    title: common.common.actions,
    width: "170px",
    isUntitled: true,
    cell: ({ kid, state }) => (
      <span className="inline">
        {state === "NEXT" && (
          <Button look="quiet" onPress={() => setOpened({ kind: "activate", kid })}>
            {t.activate} <span className="visually-hidden">{kid}</span>
          </Button>
        )}
        {(state === "NEXT" || state === "RETIRED") && (
          <Button look="quiet" onPress={() => setOpened({ kind: "revoke", kid })}>
            {common.common.revoke} <span className="visually-hidden">{kid}</span>
          </Button>
        )}
      </span>
    ),
  }
  return (
    <Section
      title={t.keys}
      actions={
        mayWrite
          ? purposes.map((purpose) => (
              <Button key={purpose} onPress={() => setOpened({ kind: "create", purpose })}>
                {t.create(t.purposes[purpose])}
              </Button>
            ))
          : undefined
      }
    >
      <p className="muted">{t.keysHint}</p>
      {!mayWrite && <ReadOnly />}
      <DataTable
        label={t.keys}
        unit="key"
        columns={mayWrite ? [...columns, actions] : columns}
        rows={rows}
        rowKey={({ kid }) => kid}
        empty={<Empty title={t.noKeys}>{t.noKeysDetail}</Empty>}
      />
      {opened?.kind === "create" && <CreateKey purpose={opened.purpose} onClose={close} />}
      {opened?.kind === "activate" && <ActivateKey kid={opened.kid} onClose={close} />}
      {opened?.kind === "revoke" && <RevokeKey kid={opened.kid} onClose={close} />}
    </Section>
  )
}
