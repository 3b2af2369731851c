/** The page of one record: its head with what can be done with it, and its tabs. */
import { Ellipsis } from "lucide-react"
import { lazy, Suspense, useState } from "react"
import type { ReactNode } from "react"
import { Problem } from "../../kernel/Api.ts"
import type { Answer, Customer, Request } from "../../kernel/Contract.ts"
import { useRead } from "../../kernel/Queries.ts"
import type { GetOperation } from "../../kernel/Queries.ts"
import { t as common } from "../../kernel/texts.en.ts"
import { useListPath, usePathName } from "../../kernel/Url.ts"
import { Button } from "../Button.tsx"
import { Menu } from "../Menu.tsx"
import { PageHead } from "../Page.tsx"
import { Empty, Read, ReadOnly } from "../States.tsx"
import { Tabs } from "../Tabs.tsx"
import type { TabItem } from "../Tabs.tsx"
import { Moment } from "../Tag.tsx"
import { EventList } from "../events/EventList.tsx"
import { ListLink, listTitle } from "./Links.tsx"
import { t } from "./texts.en.ts"

/** What can be done with a record: a button, or an entry of the menu beside the buttons, that opens a dialog. */
interface RecordAction {
  readonly id: string
  readonly title: string
  readonly isAllowed: boolean
  readonly isInMenu?: boolean
  readonly isDangerous?: boolean
  readonly dialog: (close: () => void) => ReactNode
}

type Dialog = RecordAction["dialog"]

/** Changes the record by a form. */
export const editAction = (isAllowed: boolean, dialog: Dialog): RecordAction => ({
  id: "edit",
  title: common.common.edit,
  isAllowed,
  dialog,
})

/** Deletes the record. */
export const deleteAction = (isAllowed: boolean, dialog: Dialog): RecordAction => ({
  id: "delete",
  title: common.common.remove,
  isAllowed,
  isDangerous: true,
  dialog,
})

/** For actions that are rare, or that a page has no room for. */
export const inMenu = (action: RecordAction): RecordAction => ({ ...action, isInMenu: true })

/** A tab of events. */
export const eventsTab = (filters: Parameters<typeof EventList>[0]["filters"]): TabItem => ({
  id: "activity",
  title: t.activity,
  content: () => <EventList label={t.activity} filters={filters} />,
})

/** The tab of the events about a record and what belongs to it. */
export const activityTab = ({ id }: { readonly id: string }): TabItem => eventsTab({ resource: [id] })

/** The same, also with what belongs to that: to the instances of a customer. */
export const wholeActivityTab = ({ id }: { readonly id: string }): TabItem =>
  eventsTab({ resource: [id], related: "true" })

const Integrations = lazy(() => import("./Integrations.tsx").then((module) => ({ default: module.Integrations })))

/** The tab of a record's ids in other systems. */
export const integrationsTab = ({ integrations }: Pick<Customer, "integrations">): TabItem => ({
  id: "integrations",
  title: t.integrations.title,
  content: () => (
    <Suspense fallback={null}>
      <Integrations records={integrations} />
    </Suspense>
  ),
})

/** Who created a record, and when. */
export const Creation = ({
  record: { createdAt, createdBy },
  relative = false,
}: {
  readonly record: { readonly createdAt: string; readonly createdBy: { readonly name: string } }
  readonly relative?: boolean
}) => (
  <span>
    {common.common.created} <Moment at={createdAt} relative={relative} /> {common.common.by(createdBy.name)}
  </span>
)

/** Who changed a record last, and when. */
export const LastChange = ({
  record: { updatedAt, updatedBy },
}: {
  readonly record: { readonly updatedAt: string; readonly updatedBy: { readonly name: string } }
}) => (
  <span>
    {common.common.updated} <Moment at={updatedAt} relative /> {common.common.by(updatedBy.name)}
  </span>
)

const isIn =
  (isInMenu: boolean) =>
  (action: RecordAction): boolean =>
    action.isAllowed && (action.isInMenu ?? false) === isInMenu

export const RecordPage = ({
  actions,
  before,
  crumbs,
  facts,
  isReadOnly,
  links,
  list,
  tabs,
  title,
}: {
  readonly title: string
  /** The list that the record is in. */
  readonly list: { readonly to: string; readonly title: string }
  /** More of the way to the record. */
  readonly crumbs?: ReactNode
  readonly facts: ReactNode
  /** Links to other screens, before the buttons. */
  readonly links?: ReactNode
  readonly actions: ReadonlyArray<RecordAction>
  /** Whether the person can read the record and not change it. */
  readonly isReadOnly: boolean
  /** The content above the tabs. */
  readonly before?: ReactNode
  readonly tabs: ReadonlyArray<TabItem>
}) => {
  const [opened, setOpened] = useState<string>()
  const close = () => setOpened(undefined)
  const [buttons, entries] = [actions.filter(isIn(false)), actions.filter(isIn(true))]
  const hasActions = links !== undefined || buttons.length + entries.length > 0
  const open = actions.find(({ id }) => id === opened)
  return (
    <>
      <PageHead
        title={title}
        crumbs={
          <>
            <ListLink to={list.to}>{list.title}</ListLink>
            {crumbs}
          </>
        }
        actions={
          hasActions ? (
            <>
              {links}
              {buttons.map((action) => (
                <Button key={action.id} onPress={() => setOpened(action.id)}>
                  {action.title}
                </Button>
              ))}
              {entries.length > 0 && (
                <Menu
                  label={common.common.moreActions}
                  actions={entries.map((action) => ({
                    id: action.id,
                    title: action.title,
                    isDangerous: action.isDangerous ?? false,
                    run: () => setOpened(action.id),
                  }))}
                >
                  <Ellipsis aria-hidden size={16} />
                </Menu>
              )}
            </>
          ) : undefined
        }
      >
        {facts}
      </PageHead>
      {isReadOnly && <ReadOnly />}
      {before === undefined ? (
        <Tabs label={title} items={tabs} />
      ) : (
        <div className="stack">
          {before}
          <Tabs label={title} items={tabs} />
        </div>
      )}
      {open?.dialog(close)}
    </>
  )
}

/** The page of a record that does not exist: the way back comes first. */
const NotThere = ({ error, name }: { readonly error: Problem; readonly name: string }) => {
  const path = useListPath()
  const list = listTitle(path)
  return (
    <>
      <PageHead title={name} crumbs={<ListLink to={path}>{list}</ListLink>} />
      <Empty
        title={error.title}
        action={
          <ListLink to={path} className="button">
            {common.states.backTo(list)}
          </ListLink>
        }
      >
        {error.detail}
      </Empty>
    </>
  )
}

/** The page of the record that the URL names. Another record is another page: what was typed or opened does not stay. */
export const pageOf = <O extends GetOperation>(
  operation: O,
  requestFor: (name: string) => Request<O>,
  Loaded: (props: { readonly record: Answer<O> & { readonly id: string } }) => ReactNode,
  urlName = "slug",
) => {
  const RecordOfUrl = () => {
    const name = usePathName(urlName)
    const record = useRead(operation, requestFor(name))
    const { data, error } = record
    if (data === undefined && error instanceof Problem && error.status === 404) {
      return <NotThere name={name} error={error} />
    }
    return (
      <Read of={record} title={name}>
        {(found) => {
          const one = found as Answer<O> & { readonly id: string }
          return <Loaded key={one.id} record={one} />
        }}
      </Read>
    )
  }
  return RecordOfUrl
}
