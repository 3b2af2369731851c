/** Amounts that an instance can use once of an entitlement, after its limit: what is left of each, adding one and voiding one. */
import { Plus } from "lucide-react"
import { useState } from "react"
import { formatAmount } from "../../kernel/Amount.ts"
import type { Credit } from "../../kernel/Contract.ts"
import { formatBoundary, words } from "../../kernel/Formats.ts"
import { numberOf, orNull, orUndefined, orUndefinedNumber, proseOrNull } from "../../kernel/Inputs.ts"
import { defined, useRead, useRows } from "../../kernel/Queries.ts"
import { useCan } from "../../kernel/Scopes.ts"
import { t as common } from "../../kernel/texts.en.ts"
import { Button } from "../../widgets/Button.tsx"
import { DataTable } from "../../widgets/DataTable.tsx"
import type { Column } from "../../widgets/DataTable.tsx"
import { CheckField, SelectField, TextField } from "../../widgets/forms/Fields.tsx"
import type { Choice } from "../../widgets/forms/Fields.tsx"
import { fieldsOf } from "../../widgets/forms/Form.tsx"
import { MomentField } from "../../widgets/forms/MomentField.tsx"
import { ImpactDialog } from "../../widgets/records/ImpactDialog.tsx"
import { ReviewDialog } from "../../widgets/records/ReviewDialog.tsx"
import { Empty, NotAllowed } from "../../widgets/States.tsx"
import { Tag } from "../../widgets/Tag.tsx"
import { t } from "../texts.en.ts"

const STALE = { stale: ["/api/instances", "/api/credits"] }

const FIELDS = ["amount", "priority", "startsAt", "expiresAt", "reason", "externalId"] as const
type Values = Readonly<Record<(typeof FIELDS)[number], string>>

const NOTHING: Values = { amount: "", priority: "", startsAt: "", expiresAt: "", reason: "", externalId: "" }

interface MeterProps {
  readonly instanceSlug: string
  readonly entitlementSlug: string
}

const CreditForm = ({ onClose, ...params }: MeterProps & { readonly onClose: () => void }) => {
  const [values, setValues] = useState(NOTHING)
  const request = {
    params,
    body: defined({
      amount: numberOf(values.amount),
      priority: orUndefinedNumber(values.priority),
      startsAt: orUndefined(values.startsAt),
      expiresAt: orNull(values.expiresAt),
      reason: proseOrNull(values.reason),
      externalId: orNull(values.externalId),
    }),
  }
  return (
    <ReviewDialog
      title={t.credits.addTitle(params.entitlementSlug)}
      submit={t.credits.add}
      fields={FIELDS}
      onClose={onClose}
      operation="POST /api/instances/:instanceSlug/entitlements/:entitlementSlug/credits"
      {...STALE}
      request={request}
    >
      {(error) => {
        const field = fieldsOf(values, setValues, error)
        return (
          <>
            <p className="hint">{t.credits.hint}</p>
            <div className="form-row">
              <TextField kind="decimal" label={t.credits.amount} isRequired autoFocus {...field("amount")} />
              <TextField kind="decimal" label={t.credits.priority} {...field("priority")} />
            </div>
            <div className="form-row">
              <MomentField label={t.addOns.from} {...field("startsAt")} />
              <MomentField label={t.credits.expires} {...field("expiresAt")} />
            </div>
            <div className="form-row">
              <TextField label={t.overrides.reason} {...field("reason")} />
              <TextField label={t.credits.externalId} {...field("externalId")} />
            </div>
          </>
        )
      }}
    </ReviewDialog>
  )
}

const TONES = { OPEN: "ok", SCHEDULED: "waiting", USED_UP: "muted", EXPIRED: "muted", VOIDED: "muted" } as const

const columns: ReadonlyArray<Column<Credit>> = [
  {
    id: "left",
    title: t.credits.left,
    width: "1.2fr",
    isNumber: true,
    cell: ({ amount, remaining }) => t.usage.of(formatAmount(remaining), formatAmount(amount)),
  },
  {
    id: "state",
    title: common.common.state,
    width: "1fr",
    cell: ({ state }) => <Tag tone={TONES[state]}>{words(state)}</Tag>,
  },
  { id: "priority", title: t.credits.order, width: "0.7fr", isNumber: true, cell: ({ priority }) => priority },
  { id: "from", title: t.overrides.from, width: "1.5fr", cell: ({ startsAt }) => formatBoundary(startsAt) },
  {
    id: "until",
    title: t.credits.expires,
    width: "1.5fr",
    cell: ({ expiresAt }) => (expiresAt === null ? common.common.never : formatBoundary(expiresAt)),
  },
  {
    id: "reason",
    title: t.overrides.reason,
    width: "2fr",
    cell: ({ externalId, reason }) => (
      <>
        {reason}
        {externalId !== null && <span className="sub">{externalId}</span>}
      </>
    ),
  },
]

const Credits = ({ entitlementSlug, instanceSlug }: MeterProps) => {
  const mayWrite = useCan("write:licenses")
  const [withEnded, setWithEnded] = useState(false)
  const [opened, setOpened] = useState<Credit | "add">()
  const rows = useRows("GET /api/instances/:instanceSlug/entitlements/:entitlementSlug/credits", {
    params: { instanceSlug, entitlementSlug },
    query: { history: withEnded ? "true" : "false" },
  })
  const close = () => setOpened(undefined)
  const actions: Column<Credit> = {
    id: "actions",
    title: t.credits.void,
    width: "80px",
    isUntitled: true,
    cell: (credit) =>
      credit.state === "VOIDED" ? null : (
        <Button look="quiet" onPress={() => setOpened(credit)}>
          {t.credits.void}
        </Button>
      ),
  }
  return (
    <>
      <div className="tab-tools">
        <CheckField label={t.overrides.history} isSelected={withEnded} onChange={setWithEnded} />
        {mayWrite && (
          <Button icon={<Plus aria-hidden size={16} />} onPress={() => setOpened("add")}>
            {t.credits.add}
          </Button>
        )}
      </div>
      <DataTable
        label={t.tabs.credits}
        columns={mayWrite ? [...columns, actions] : columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={<Empty title={t.credits.empty}>{t.credits.emptyDetail}</Empty>}
      />
      {opened === "add" && <CreditForm instanceSlug={instanceSlug} entitlementSlug={entitlementSlug} onClose={close} />}
      {opened !== undefined && opened !== "add" && (
        <ImpactDialog
          title={t.credits.voidTitle(formatAmount(opened.remaining))}
          submit={t.credits.void}
          operation="DELETE /api/credits/:creditId"
          request={{ params: { creditId: opened.id } }}
          {...STALE}
          onClose={close}
        >
          <p>{t.credits.voidText}</p>
        </ImpactDialog>
      )}
    </>
  )
}

/** The entitlements that can have credits: those that are summed or counted. */
const useChoices = (mayRead: boolean): ReadonlyArray<Choice> | undefined => {
  const { data, error } = useRead(
    "GET /api/entitlements",
    { query: { type: "NUMBER", limit: "200" } },
    { when: mayRead },
  )
  if (data === undefined) return error === null && mayRead ? undefined : []
  return data.items
    .filter(({ aggregationMethod }) => ["SUM", "COUNT", null].includes(aggregationMethod))
    .map(({ name, slug }) => ({ id: slug, title: name }))
}

export const CreditsTab = ({ instanceSlug }: { readonly instanceSlug: string }) => {
  const mayRead = useCan("read:licenses")
  const mayChoose = useCan("read:entitlements")
  const choices = useChoices(mayChoose)
  const [shown, setShown] = useState<string>()
  if (!mayRead) return <NotAllowed scope="read:licenses" />
  if (!mayChoose) return <NotAllowed scope="read:entitlements" />
  if (choices === undefined) return null
  const chosen = choices.find(({ id }) => id === shown) ?? choices[0]
  if (chosen === undefined) return <Empty title={t.credits.none}>{t.credits.emptyDetail}</Empty>
  return (
    <>
      {choices.length > 1 && (
        <div className="tab-tools">
          <SelectField isInline label={t.usage.entitlement} choices={choices} value={chosen.id} onChange={setShown} />
        </div>
      )}
      <Credits key={chosen.id} instanceSlug={instanceSlug} entitlementSlug={chosen.id} />
    </>
  )
}
