/** Who changed what the license grants, why, and until when. */
import { Plus } from "lucide-react"
import { useState } from "react"
import type { Body, Override } from "../kernel/Contract.ts"
import { resolutionOf, useUpdate } from "../kernel/forms/Update.ts"
import { orNull, orUndefinedNumber, proseOrNull } from "../kernel/Inputs.ts"
import { defined, readAll, useRows, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { CheckField, SelectField, TextField } from "../widgets/forms/Fields.tsx"
import { ConfirmDialog, fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { MomentField } from "../widgets/forms/MomentField.tsx"
import { grantOfInput, grantText } from "../widgets/records/GrantValue.tsx"
import { Empty, NotAllowed } from "../widgets/States.tsx"
import { Code, Moment, Tag } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

const OVERRIDES = "GET /api/instances/:instanceSlug/overrides"

const FIELDS = ["entitlement", "mode", "value", "overagePercent", "endsAt", "reason"] as const
type Values = Readonly<Record<(typeof FIELDS)[number], string>>

const valueText = ({ mode, value }: Override): string => {
  if (typeof value !== "number" && typeof value !== "string") return grantText(value)
  return mode === "ADD" ? `+${grantText(value)}` : `= ${grantText(value)}`
}

/** The override that another one for the entitlement would end. */
const inForce = (overrides: ReadonlyArray<Override>, slug: string) => {
  const found = overrides.find(({ endedAt, entitlement }) => entitlement === slug && endedAt === null)
  return found === undefined ? null : valueText(found)
}

const OverrideForm = ({
  entitlements,
  instanceSlug,
  onClose,
  shown,
}: {
  readonly instanceSlug: string
  readonly entitlements: ReadonlyArray<string>
  /** The overrides that the person sees. */
  readonly shown: ReadonlyArray<Override>
  readonly onClose: () => void
}) => {
  const [values, setValues] = useState<Values>({
    entitlement: entitlements[0] ?? "",
    mode: "ADD",
    value: "",
    overagePercent: "",
    endsAt: "",
    reason: "",
  })
  const [seen, setSeen] = useState(shown)
  const slug = values.entitlement.trim()
  const update = useUpdate("PUT /api/instances/:instanceSlug/entitlements/:entitlementSlug/override", {
    read: () => readAll(OVERRIDES, { params: { instanceSlug } }),
    request: (body: Body<"PUT /api/instances/:instanceSlug/entitlements/:entitlementSlug/override">) => ({
      params: { instanceSlug, entitlementSlug: slug },
      body,
    }),
    stale: ["/api/instances"],
    done: onClose,
  })
  const field = fieldsOf(values, setValues, update.error)
  return (
    <FormDialog
      title={t.overrides.add}
      submit={common.common.save}
      fields={FIELDS}
      onClose={onClose}
      write={update}
      resolution={resolutionOf(update.error, { take: onClose, keep: setSeen }, update.reset)}
      onSubmit={() =>
        update.save({
          seen,
          replaces: (overrides) => ({ value: inForce(overrides, slug) }),
          bodyFor: () =>
            defined({
              mode: values.mode === "ADD" ? ("ADD" as const) : ("SET" as const),
              value: grantOfInput(values.value),
              overagePercent: orUndefinedNumber(values.overagePercent),
              endsAt: orNull(values.endsAt),
              reason: proseOrNull(values.reason),
            }),
        })
      }
    >
      <TextField label={t.usage.entitlement} isCode isRequired autoFocus {...field("entitlement")} />
      <div className="form-row">
        <SelectField
          label={t.overrides.mode}
          {...field("mode")}
          choices={[
            { id: "ADD", title: t.overrides.plus },
            { id: "SET", title: t.overrides.set },
          ]}
        />
        <TextField label={t.overrides.value} isRequired {...field("value")} />
      </div>
      <p className="hint">{t.overrides.valueHint}</p>
      <div className="form-row">
        <TextField kind="decimal" label={t.overrides.overage} {...field("overagePercent")} />
        <MomentField label={t.overrides.until} {...field("endsAt")} />
      </div>
      <TextField label={t.overrides.reason} {...field("reason")} />
    </FormDialog>
  )
}

const State = ({ override }: { readonly override: Override }) => {
  const now = Date.now()
  const isEnded = override.endedAt !== null || (override.endsAt !== null && Date.parse(override.endsAt) <= now)
  if (isEnded) return <Tag tone="muted">{t.overrides.ended}</Tag>
  return Date.parse(override.startsAt) > now ? (
    <Tag tone="waiting">{t.overrides.planned}</Tag>
  ) : (
    <Tag tone="ok">{t.overrides.current}</Tag>
  )
}

const EndDialog = ({ onClose, override }: { readonly override: Override; readonly onClose: () => void }) => {
  const write = useWrite("DELETE /api/instances/:instanceSlug/entitlements/:entitlementSlug/override", {
    stale: ["/api/instances"],
    done: onClose,
  })
  return (
    <ConfirmDialog
      title={t.overrides.endTitle(override.entitlement)}
      submit={t.overrides.end}
      onClose={onClose}
      write={write}
      onConfirm={() =>
        write.mutate({ params: { instanceSlug: override.instance, entitlementSlug: override.entitlement } })
      }
    >
      <p>{t.overrides.endText}</p>
    </ConfirmDialog>
  )
}

export const OverridesTab = ({
  entitlements,
  instanceSlug,
}: {
  readonly instanceSlug: string
  readonly entitlements: ReadonlyArray<string>
}) => {
  const mayRead = useCan("read:licenses")
  const mayWrite = useCan("write:licenses")
  const [withEnded, setWithEnded] = useState(false)
  const [isAdding, setAdding] = useState(false)
  const [ending, setEnding] = useState<Override>()
  const rows = useRows(
    OVERRIDES,
    { params: { instanceSlug }, query: { history: withEnded ? "true" : "false" } },
    { when: mayRead },
  )
  if (!mayRead) return <NotAllowed scope="read:licenses" />
  const add = mayWrite && (
    <Button icon={<Plus aria-hidden size={16} />} onPress={() => setAdding(true)}>
      {t.overrides.add}
    </Button>
  )
  const columns: ReadonlyArray<Column<Override>> = [
    {
      id: "entitlement",
      title: t.usage.entitlement,
      width: "1.4fr",
      cell: ({ entitlement }) => <Code>{entitlement}</Code>,
    },
    { id: "value", title: t.overrides.value, width: "1fr", cell: valueText },
    { id: "state", title: common.common.state, width: "1fr", cell: (override) => <State override={override} /> },
    {
      id: "until",
      title: t.seats.until,
      width: "1.3fr",
      cell: ({ endedAt, endsAt }) => {
        const end = endedAt ?? endsAt
        return end === null ? common.common.never : <Moment at={end} />
      },
    },
    {
      id: "by",
      title: t.overrides.by,
      width: "1.5fr",
      cell: ({ createdAt, createdBy }) => (
        <>
          {createdBy.name}
          <span className="sub">
            <Moment at={createdAt} />
          </span>
        </>
      ),
    },
    { id: "reason", title: t.overrides.reason, width: "2fr", cell: ({ reason }) => reason },
    {
      id: "end",
      title: t.overrides.end,
      width: "64px",
      isUntitled: true,
      cell: (override) =>
        mayWrite && override.endedAt === null ? (
          <Button look="quiet" onPress={() => setEnding(override)}>
            {t.overrides.end}
          </Button>
        ) : null,
    },
  ]
  return (
    <>
      <div className="tab-tools">
        <CheckField label={t.overrides.history} isSelected={withEnded} onChange={setWithEnded} />
        {add}
      </div>
      <DataTable
        label={t.tabs.overrides}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={<Empty title={t.overrides.empty}>{t.overrides.emptyDetail}</Empty>}
      />
      {isAdding && (
        <OverrideForm
          instanceSlug={instanceSlug}
          entitlements={entitlements}
          shown={rows.rows ?? []}
          onClose={() => setAdding(false)}
        />
      )}
      {ending !== undefined && <EndDialog override={ending} onClose={() => setEnding(undefined)} />}
    </>
  )
}
