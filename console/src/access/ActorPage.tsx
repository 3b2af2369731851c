/**
 * Who did something, by the id that events name: a service account with its tokens, a person, an instance with a license key, or the
 * operator. Of those that are gone, what events say.
 */
import { useEffect } from "react"
import type { EventRecord } from "../kernel/Contract.ts"
import { words } from "../kernel/Formats.ts"
import { useRead, useRows } from "../kernel/Queries.ts"
import type { Rows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { usePathName } from "../kernel/Url.ts"
import { Facts, PageHead, Section } from "../widgets/Page.tsx"
import { Credential } from "../widgets/tokens/Credential.tsx"
import type { UsedCredential } from "../widgets/tokens/Credential.tsx"
import { ActorLink, ListLink, RecordLink } from "../widgets/records/Links.tsx"
import { Failure, Loading } from "../widgets/States.tsx"
import { Code, Moment } from "../widgets/Tag.tsx"
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

const EventsOf = ({ id, name = id }: { readonly id: string; readonly name?: string | undefined }) => (
  <ListLink to="/events" search={{ actor: id }} className="button">
    {t.actorEvents(name)}
  </ListLink>
)

/** The platform identity: it is the same in every installation. */
const PLATFORM = "00000000-0000-7000-8000-000000000001"

const NEWEST = "50"
/** How many credentials are shown. Each is looked up by a request. */
const MAX_CREDENTIALS = 4

/** The credentials of events, the last used first. */
const usedIn = (events: ReadonlyArray<EventRecord>): ReadonlyArray<UsedCredential> =>
  [
    ...new Map(events.flatMap(({ credential }) => (credential ? [[credential.id, credential] as const] : []))).values(),
  ].slice(0, MAX_CREDENTIALS)

/** What the event about an actor says that it is. */
const Kind = ({ event, id }: { readonly id: string; readonly event: EventRecord | undefined }) => {
  if (id === PLATFORM) return <>{t.actorPlatform}</>
  if (event?.type === "INSTANCE_CREATION")
    return (
      <>
        {t.actorKey} <RecordLink kind="instance" slug={String(event.data.slug)} />
      </>
    )
  if (event?.type === "SERVICE_ACCOUNT_DELETED")
    return (
      <>
        {t.actorDeleted} <Moment at={event.timestamp} /> <ActorLink actor={event.actor} />
      </>
    )
  return <>{t.actorGone}</>
}

/** An actor that is neither a service account nor a person of the organization. */
const Other = ({ id }: { readonly id: string }) => {
  const newest = useRead("GET /api/events", { query: { actor: id, order: "desc", limit: NEWEST } })
  const about = useRead("GET /api/events", {
    query: { resource: [id], type: ["INSTANCE_CREATION", "SERVICE_ACCOUNT_DELETED"], order: "desc", limit: "1" },
  })
  if (newest.data === undefined || about.data === undefined) return <Loading rows={2} />
  const [last] = newest.data.items
  const used = usedIn(newest.data.items)
  return (
    <>
      <Facts
        items={[
          [t.actorIs, <Kind key="kind" id={id} event={about.data.items[0]} />],
          [t.actorLast, last && <Moment key="last" at={last.timestamp} />],
        ]}
      />
      {used.length > 0 && (
        <Section title={t.actorUsed}>
          <div className="stack">
            {used.map((credential) => (
              <Credential key={credential.id} credential={credential} />
            ))}
          </div>
        </Section>
      )}
      <EventsOf id={id} name={last?.actor.name} />
    </>
  )
}

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
  // Events name an actor also after it was deleted, and those that are no records of the organization.
  const named = useRead("GET /api/events", { query: { actor: id, order: "desc", limit: "1" } }, { when: readsPeople })
    .data?.items[0]?.actor.name
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
        <EventsOf id={id} name={user.name} />
      </>
    )
  }
  return (
    <>
      <PageHead title={named ?? t.actor}>
        <Code>{id}</Code>
      </PageHead>
      {accounts.isSearching || people.isSearching ? (
        <Loading rows={2} />
      ) : failed === undefined ? (
        <Other id={id} />
      ) : (
        <Failure error={failed.error} retry={failed.retry} />
      )}
    </>
  )
}
