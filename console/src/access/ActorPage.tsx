/** Who did something, by the id that events name: a service account with its tokens, or a person. */
import { useEffect } from "react"
import { words } from "../kernel/Formats.ts"
import { useRows } from "../kernel/Queries.ts"
import type { Rows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { usePathName } from "../kernel/Url.ts"
import { PageHead } from "../widgets/Page.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Empty, Failure, Loading } from "../widgets/States.tsx"
import { Code } from "../widgets/Tag.tsx"
import { Account } from "./Account.tsx"
import { t } from "./texts.en.ts"

/** Reads on until a record is found: the lists have no filter by id. */
const useFound = <T,>(rows: Rows<T>, isWanted: (row: T) => boolean, isAllowed: boolean) => {
  const found = rows.rows?.find(isWanted)
  const isSearching =
    isAllowed && rows.error === null && found === undefined && (rows.rows === undefined || rows.hasMore)
  const { hasMore, isLoadingMore, loadMore } = rows
  useEffect(() => {
    if (isSearching && hasMore && !isLoadingMore) loadMore()
  }, [hasMore, isLoadingMore, isSearching, loadMore])
  return { found, isSearching, error: rows.error, retry: rows.retry }
}

const EventsOf = ({ id }: { readonly id: string }) => (
  <ListLink to="/events" search={{ actor: id }} className="button">
    {t.actorEvents}
  </ListLink>
)

export const Page = () => {
  const id = usePathName("id")
  const readsTokens = useCan("read:tokens")
  const readsPeople = useCan("read:organizations")
  const accounts = useFound(
    useRows("GET /api/service-accounts", {}, { when: readsTokens }),
    (account) => account.id === id,
    readsTokens,
  )
  const people = useFound(
    useRows("GET /api/members", {}, { when: readsPeople }),
    (member) => member.user.id === id,
    readsPeople,
  )
  if (accounts.found !== undefined) return <Account key={id} record={accounts.found} />
  const failed = [accounts, people].find(({ error }) => error !== null)
  if (people.found !== undefined) {
    const { role, user } = people.found
    return (
      <>
        <PageHead title={user.name} crumbs={<ListLink to="/members">{t.actorPerson}</ListLink>}>
          <span>{user.email}</span>
          <span>{words(role)}</span>
        </PageHead>
        <EventsOf id={id} />
      </>
    )
  }
  return (
    <>
      <PageHead title={t.actor}>
        <Code>{id}</Code>
      </PageHead>
      {accounts.isSearching || people.isSearching ? (
        <Loading rows={2} />
      ) : failed === undefined ? (
        <Empty title={t.actorOther} action={<EventsOf id={id} />}>
          {t.actorOtherDetail}
        </Empty>
      ) : (
        <Failure error={failed.error} retry={failed.retry} />
      )}
    </>
  )
}
