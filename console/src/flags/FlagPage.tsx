/** One flag: its targetings as sentences, its variants, and a place to try it out. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { FeatureFlag } from "../kernel/Contract.ts"
import { useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { complete, DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { ConfirmDialog, FormDialog } from "../widgets/forms/Form.tsx"
import { Facts } from "../widgets/Page.tsx"
import {
  activityTab,
  deleteAction,
  editAction,
  inMenu,
  LastChange,
  pageOf,
  RecordPage,
} from "../widgets/records/RecordPage.tsx"
import { Empty } from "../widgets/States.tsx"
import { Code, Tag } from "../widgets/Tag.tsx"
import { EditFlag } from "./FlagForm.tsx"
import { FlagState } from "./FlagState.tsx"
import { Targetings } from "./Targetings.tsx"
import { t } from "./texts.en.ts"
import { TryOut } from "./TryOut.tsx"
import { STALE, useUpdate } from "./Update.ts"

type Variant = FeatureFlag["variants"][number]

const Variants = ({ flag: { defaultVariant, metadata, variants } }: { readonly flag: FeatureFlag }) => {
  const { fallback_value: fallback, ...others } = metadata
  const columns: ReadonlyArray<Column<Variant>> = [
    {
      id: "name",
      title: t.variant,
      width: "1fr",
      cell: ({ name }) => (
        <span className="inline">
          {name}
          {name === defaultVariant && <Tag tone="ok">{t.defaultVariant}</Tag>}
        </span>
      ),
    },
    { id: "value", title: t.value, width: "2fr", cell: ({ value }) => <Code>{JSON.stringify(value)}</Code> },
  ]
  return (
    <div className="stack">
      <DataTable
        label={t.variants}
        columns={columns}
        rows={complete(variants)}
        rowKey={({ name }) => name}
        empty={<Empty title={t.noVariants}>{t.noVariantsDetail}</Empty>}
      />
      <Facts
        items={[
          [t.fallback, fallback === undefined ? t.noFallback : <Code key="fallback">{JSON.stringify(fallback)}</Code>],
          ...Object.entries(others).map(
            ([name, value]) => [name, <Code key={name}>{JSON.stringify(value)}</Code>] as const,
          ),
        ]}
      />
    </div>
  )
}

const DeleteFlag = ({ flag, onClose }: { readonly flag: FeatureFlag; readonly onClose: () => void }) => {
  const navigate = useNavigate()
  const write = useWrite("DELETE /api/feature-flags/:key", {
    leavesPage: true,
    ...STALE,
    done: () => void navigate({ to: "/flags" }),
  })
  return (
    <ConfirmDialog
      title={t.remove(flag.key)}
      submit={common.common.remove}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { key: flag.key } })}
    >
      <p>{t.removeText}</p>
    </ConfirmDialog>
  )
}

const SwitchFlag = ({ flag: shown, onClose }: { readonly flag: FeatureFlag; readonly onClose: () => void }) => {
  // The dialog keeps its question even if someone else changes the flag in the meantime.
  const [flag] = useState(shown)
  const update = useUpdate(shown, onClose)
  return (
    <FormDialog
      title={flag.enabled ? t.turnOffTitle(flag.key) : t.turnOnTitle(flag.key)}
      submit={flag.enabled ? t.turnOff : t.turnOn}
      isDangerous={flag.enabled}
      onClose={onClose}
      write={update}
      onSubmit={() => update.change({ enabled: !flag.enabled })}
    >
      <p>{flag.enabled ? t.turnOffText : t.turnOnText}</p>
    </FormDialog>
  )
}

const Loaded = ({ record: flag }: { readonly record: FeatureFlag }) => {
  const mayWrite = useCan("write:feature_flags")
  return (
    <RecordPage
      title={flag.name}
      list={{ to: "/flags", title: t.title }}
      isReadOnly={!mayWrite}
      actions={[
        {
          id: "switch",
          title: flag.enabled ? t.turnOff : t.turnOn,
          isAllowed: mayWrite,
          dialog: (close) => <SwitchFlag flag={flag} onClose={close} />,
        },
        editAction(mayWrite, (close) => <EditFlag flag={flag} onClose={close} />),
        inMenu(deleteAction(mayWrite, (close) => <DeleteFlag flag={flag} onClose={close} />)),
      ]}
      facts={
        <>
          <Code>{flag.key}</Code>
          <FlagState isOn={flag.enabled} />
          <span>{t.types[flag.type]}</span>
          {flag.defaultVariant !== null && (
            <span>
              {t.defaultVariant} <Code>{flag.defaultVariant}</Code>
            </span>
          )}
          {flag.description !== null && <span>{flag.description}</span>}
          <LastChange record={flag} />
        </>
      }
      tabs={[
        { id: "targetings", title: t.targetings, content: () => <Targetings flag={flag} /> },
        { id: "variants", title: t.variants, content: () => <Variants flag={flag} /> },
        { id: "try", title: t.tryOut, content: () => <TryOut flag={flag} /> },
        activityTab(flag),
      ]}
    />
  )
}

export const Page = pageOf("GET /api/feature-flags/:key", (key) => ({ params: { key } }), Loaded)
