/** Asks before a change, and shows what it would do: the dry run of the service at this moment. */
import { useQuery } from "@tanstack/react-query"
import { RotateCw } from "lucide-react"
import { useState } from "react"
import type { ReactNode } from "react"
import { callDry, Problem } from "../../kernel/Api.ts"
import type { AnyDryRun, DryRunnable, Request } from "../../kernel/Contract.ts"
import { formatAmount } from "../../kernel/Amount.ts"
import { eventWords, words } from "../../kernel/Formats.ts"
import { useWrite } from "../../kernel/Queries.ts"
import type { WriteOptions } from "../../kernel/Queries.ts"
import { t as common } from "../../kernel/texts.en.ts"
import { Button } from "../Button.tsx"
import { FormDialog } from "../forms/Form.tsx"
import { Read } from "../States.tsx"
import { t } from "./texts.en.ts"

type Impact = AnyDryRun["impact"]

const isImpact = (value: unknown): value is Impact => typeof value === "object" && value !== null

interface Counted {
  readonly count: number
  readonly truncated: boolean
  readonly items: ReadonlyArray<AffectedItem>
}

const isCounted = (value: unknown): value is Counted => typeof value === "object" && value !== null && "items" in value

/** What the items of all dry runs have, each as far as it is there. */
interface AffectedItem {
  readonly slug?: string
  readonly customer?: string
  readonly entitlement?: string
  readonly id?: string
  readonly externalId?: string
  readonly kind?: string
  readonly sequence?: number
  readonly timestamp?: string
  readonly usage?: number | null
  readonly limit?: number | null
  readonly reason?: string | { readonly before: string; readonly after: string }
}

const figuresOf = ({ limit, usage }: AffectedItem): string =>
  typeof usage === "number" && typeof limit === "number" ? ` (${formatAmount(usage)} / ${formatAmount(limit)})` : ""

/** An affected record in a line. */
const lineOf = (item: AffectedItem): string => {
  const { customer, entitlement, externalId, id, kind, reason, sequence, slug, timestamp } = item
  const first = sequence === undefined ? (slug ?? externalId ?? entitlement ?? id) : `#${sequence}`
  const second = slug === undefined ? undefined : entitlement
  const name = [kind === undefined ? undefined : words(kind), first, second, timestamp]
    .filter((part) => part !== undefined)
    .join(", ")
  if (typeof reason === "string") return `${name}: ${words(reason)}`
  if (reason !== undefined) return `${name}: ${words(reason.before)} -> ${words(reason.after)}${figuresOf(item)}`
  return customer === undefined ? name : `${name} (${customer})`
}

const List = ({ list, title }: { readonly title: string; readonly list: Counted }) =>
  list.count === 0 ? null : (
    <div>
      <h3>
        {title}: {common.impact.shown(list.items.length, list.count, list.truncated)}
      </h3>
      <ul className="impact-list" tabIndex={0}>
        {list.items.map((item) => (
          <li key={JSON.stringify(item)}>{lineOf(item)}</li>
        ))}
      </ul>
    </div>
  )

type Names = keyof typeof t.affected
/** Titles of lists in place of the usual ones. */
export type ImpactTitles = Partial<Readonly<Record<Names, string>>>

const titleOf = (name: string, titles: ImpactTitles): string =>
  name in t.affected ? (titles[name as Names] ?? t.affected[name as Names]) : words(name)

const blockingOf = (impact: Impact) => ("blocking" in impact ? impact.blocking.filter(({ count }) => count > 0) : [])

const Effects = ({ impact, titles = {} }: { readonly impact: Impact; readonly titles?: ImpactTitles }) => {
  const blocking = blockingOf(impact)
  const lists = Object.entries(impact).filter(
    (entry): entry is [string, Counted] => isCounted(entry[1]) && entry[1].count > 0,
  )
  const family = "familyResolvesTo" in impact ? impact.familyResolvesTo : undefined
  const loses = "losesDefault" in impact ? impact.losesDefault : null
  const turnsFamily = family !== undefined && family.before !== family.after
  return (
    <>
      {blocking.map((one) => (
        <List key={one.kind} title={`${t.affected.blocking} ${words(one.kind).toLowerCase()}`} list={one} />
      ))}
      {lists.map(([name, list]) => (
        <List key={name} title={titleOf(name, titles)} list={list} />
      ))}
      {turnsFamily && (
        <p>
          {t.affected.familyResolvesTo}: <code>{family.before ?? t.nobody}</code> -&gt;{" "}
          <code>{family.after ?? t.nobody}</code>
        </p>
      )}
      {loses !== null && (
        <p>
          {t.affected.losesDefault}: <code>{loses}</code>
        </p>
      )}
      {blocking.length === 0 && lists.length === 0 && !turnsFamily && loses === null && <p>{common.impact.none}</p>}
    </>
  )
}

const timeOf = (at: number) => new Date(at).toLocaleTimeString()

/** Whether records block the change. */
export const isBlocked = (found: AnyDryRun | undefined): boolean =>
  found !== undefined && blockingOf(found.impact).length > 0

/** What a dry run found, and when. */
export const Outcome = ({
  again,
  at,
  found,
  titles = {},
}: {
  readonly found: AnyDryRun
  readonly at: number
  readonly again: () => void
  readonly titles?: ImpactTitles
}) => (
  <div className="impact">
    <div className="inline">
      <span className="muted">{common.impact.at(timeOf(at))}</span>
      <Button look="quiet" icon={<RotateCw aria-hidden size={12} />} onPress={again}>
        {common.impact.again}
      </Button>
    </div>
    {isBlocked(found) && <p className="danger-text">{t.blocked}</p>}
    <Effects impact={found.impact} titles={titles} />
    {found.events.length > 0 && (
      <p>
        {common.impact.events}: {found.events.map(({ type }) => eventWords(type)).join(", ")}
      </p>
    )}
  </div>
)

/** A change that is run dry first. `done` is called after the change; by default the dialog closes. */
export interface DryRunProps<O extends DryRunnable> extends WriteOptions<O> {
  readonly title: string
  readonly submit: string
  readonly operation: O
  readonly request: Request<O>
  readonly onClose: () => void
}

export const ImpactDialog = <O extends DryRunnable>({
  children,
  isDangerous = true,
  onClose,
  operation,
  request,
  submit,
  title,
  ...options
}: DryRunProps<O> & { readonly isDangerous?: boolean; readonly children?: ReactNode }) => {
  const [opened] = useState(() => crypto.randomUUID())
  const write = useWrite(operation, { done: onClose, ...options })
  const dry = useQuery({
    queryKey: ["dry-run", opened, operation, request],
    queryFn: ({ signal }) => callDry(operation, request, { signal }),
    gcTime: 0,
    staleTime: 0,
    refetchOnWindowFocus: false,
  })
  const refusedFor = dry.error instanceof Problem && isImpact(dry.error.impact) ? dry.error.impact : undefined
  return (
    <FormDialog
      title={title}
      submit={submit}
      isDangerous={isDangerous}
      onClose={onClose}
      onSubmit={() => write.mutate(request)}
      write={write}
      isDisabled={dry.data === undefined || isBlocked(dry.data)}
    >
      {children}
      {refusedFor !== undefined && (
        <div className="impact">
          <Effects impact={refusedFor} />
        </div>
      )}
      <Read of={dry} rows={2}>
        {(found) => <Outcome found={found} at={dry.dataUpdatedAt} again={() => void dry.refetch()} />}
      </Read>
    </FormDialog>
  )
}
