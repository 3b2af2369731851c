/** One migration: how far it is, what became of each instance, and the way back. */
import { formatAmount } from "../kernel/Amount.ts"
import { useEffect, useRef, useState } from "react"
import type { Migration, MigrationItem } from "../kernel/Contract.ts"
import { plusDays } from "../kernel/Formats.ts"
import { useRead, useRows, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { usePathName } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { ConfirmDialog } from "../widgets/forms/Form.tsx"
import { Facts, PageHead } from "../widgets/Page.tsx"
import { EventList } from "../widgets/events/EventList.tsx"
import { ListLink, RecordLink } from "../widgets/records/Links.tsx"
import { Empty, Read, ReadOnly } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Code, Moment, Tag } from "../widgets/Tag.tsx"
import type { Tone } from "../widgets/Tag.tsx"
import { intervalOf, MigrationProgress, StateTag } from "./MigrationState.tsx"
import { reasons, t } from "./texts.en.ts"

const REVERTIBLE_DAYS = 35

const isRevertible = ({ finishedAt, state }: Migration): boolean =>
  state === "DONE" && finishedAt !== null && Date.parse(plusDays(finishedAt, REVERTIBLE_DAYS)) > Date.now()

const itemTones: Readonly<Record<MigrationItem["state"], Tone>> = {
  MOVED: "ok",
  SKIPPED: "warn",
  FAILED: "danger",
  REVERTED: "muted",
  KEPT: "warn",
}

const itemColumns: ReadonlyArray<Column<MigrationItem>> = [
  {
    id: "instance",
    title: t.instance,
    width: "2fr",
    cell: ({ code, instance }) =>
      code === "Instance.NotFound" ? <Code>{instance}</Code> : <RecordLink kind="instance" slug={instance} />,
  },
  {
    id: "state",
    title: common.common.state,
    width: "1fr",
    cell: ({ state }) => <Tag tone={itemTones[state]}>{t.itemStates[state]}</Tag>,
  },
  {
    id: "why",
    title: t.why,
    width: "3fr",
    cell: ({ code }) =>
      code === null ? null : (
        <>
          {reasons[code]}
          <span className="sub">
            <Code>{code}</Code>
          </span>
        </>
      ),
  },
]

const Items = ({ migration }: { readonly migration: Migration }) => {
  const every = intervalOf(migration)
  const rows = useRows(
    "GET /api/license-migrations/:migrationId/items",
    { params: { migrationId: migration.id } },
    every === false ? {} : { refetchInterval: every },
  )
  const { retry } = rows
  const seen = useRef(migration.state)
  useEffect(() => {
    // The last instances were moved after the last reading.
    if (seen.current !== migration.state) retry()
    seen.current = migration.state
  }, [migration.state, retry])
  return (
    <DataTable
      label={t.tabs.items}
      unit="instance"
      columns={itemColumns}
      rows={rows}
      rowKey={({ instance }) => instance}
      empty={<Empty title={t.noItems}>{t.noItemsDetail}</Empty>}
    />
  )
}

interface DialogProps {
  readonly migration: Migration
  readonly onClose: () => void
}

const STALE = { stale: ["/api/license", "/api/instances"] }

const Cancel = ({ migration, onClose }: DialogProps) => {
  const write = useWrite("POST /api/license-migrations/:migrationId/cancel", { ...STALE, done: onClose })
  return (
    <ConfirmDialog
      title={t.titleOf(migration.from, migration.to)}
      submit={t.cancel}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { migrationId: migration.id } })}
    >
      <p>{t.cancelText}</p>
    </ConfirmDialog>
  )
}

const Revert = ({ migration, onClose }: DialogProps) => {
  const write = useWrite("POST /api/license-migrations/:migrationId/revert", { ...STALE, done: onClose })
  return (
    <ConfirmDialog
      title={t.revertTitle}
      submit={t.revert}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { migrationId: migration.id } })}
    >
      <p>{t.revertText(migration.from, migration.to)}</p>
    </ConfirmDialog>
  )
}

const Loaded = ({ migration }: { readonly migration: Migration }) => {
  const [opened, setOpened] = useState<"cancel" | "revert">()
  const mayWrite = useCan("write:licenses")
  const close = () => setOpened(undefined)
  const { counts, finishedAt, from, state, to } = migration
  return (
    <>
      <PageHead
        title={t.titleOf(from, to)}
        crumbs={<ListLink to="/license-migrations">{t.title}</ListLink>}
        actions={
          mayWrite ? (
            <>
              {state === "SCHEDULED" && <Button onPress={() => setOpened("cancel")}>{t.cancel}</Button>}
              {isRevertible(migration) && <Button onPress={() => setOpened("revert")}>{t.revert}</Button>}
            </>
          ) : undefined
        }
      >
        <StateTag state={state} />
        <span>
          {t.at} <Moment at={migration.at} />
        </span>
        {state === "DONE" && <span>{t.revertible}</span>}
      </PageHead>
      {!mayWrite && <ReadOnly />}
      <div className="stack">
        <Facts
          items={[
            [t.from, <RecordLink key="from" kind="license" slug={from} />],
            [t.to, <RecordLink key="to" kind="license" slug={to} />],
            [t.progress, <MigrationProgress key="counts" counts={counts} />],
            [t.counts.moved, formatAmount(counts.moved)],
            [t.by, migration.createdBy.name],
            [t.finished, finishedAt === null ? null : <Moment key="finished" at={finishedAt} />],
          ]}
        />
        <Tabs
          label={t.titleOf(from, to)}
          items={[
            { id: "items", title: t.tabs.items, content: () => <Items migration={migration} /> },
            {
              id: "activity",
              title: t.tabs.activity,
              content: () => <EventList label={t.tabs.activity} filters={{ resource: [migration.id] }} />,
            },
          ]}
        />
      </div>
      {opened === "cancel" && <Cancel migration={migration} onClose={close} />}
      {opened === "revert" && <Revert migration={migration} onClose={close} />}
    </>
  )
}

export const Page = () => {
  const id = usePathName()
  const migration = useRead(
    "GET /api/license-migrations/:migrationId",
    { params: { migrationId: id } },
    { refetchInterval: (read) => (read === undefined ? false : intervalOf(read)) },
  )
  return (
    <Read of={migration} title={t.title}>
      {(found) => <Loaded key={found.id} migration={found} />}
    </Read>
  )
}
