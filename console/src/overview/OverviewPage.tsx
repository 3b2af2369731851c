/** The start page: is anything wrong, and how are we doing? Each part is there for those who may read it. */
import { config } from "../kernel/Config.ts"
import type { Overview } from "../kernel/Contract.ts"
import { startOfToday } from "../kernel/Formats.ts"
import { useRead } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { PageHead, Section } from "../widgets/Page.tsx"
import { EventList } from "../widgets/events/EventList.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Empty, Read } from "../widgets/States.tsx"
import { Counts } from "./Counts.tsx"
import { Failures } from "./Failures.tsx"
import { FirstSteps, isNew } from "./FirstSteps.tsx"
import { NearLimits } from "./NearLimits.tsx"
import { Ending, InGrace } from "./Terms.tsx"
import { t } from "./texts.en.ts"

const MAX_CHANGES = 20
/** A new organization waits for its next step to be ticked. */
const NEXT_STEP_MS = 5_000

const Today = () => (
  <Section
    title={t.today}
    actions={
      <ListLink to="/events" className="button">
        {t.showAll}
      </ListLink>
    }
  >
    <EventList
      label={t.today}
      filters={{ since: startOfToday() }}
      limit={MAX_CHANGES}
      empty={<p className="muted">{t.noChanges}</p>}
    />
  </Section>
)

const Parts = ({ overview }: { readonly overview?: Overview | undefined }) => {
  const readsInstances = useCan("read:instances")
  const readsWebhooks = useCan("read:webhooks") && config().webhooks !== null
  const readsEvents = useCan("read:organizations")
  return (
    <>
      {overview !== undefined && <Counts overview={overview} />}
      {readsWebhooks && <Failures />}
      {readsEvents && <NearLimits />}
      {overview !== undefined && (
        <>
          <InGrace of={overview.inGrace} />
          <Ending of={overview.ending} />
        </>
      )}
      {readsEvents && <Today />}
      {!readsInstances && !readsWebhooks && !readsEvents && <Empty title={t.nothing}>{t.nothingDetail}</Empty>}
    </>
  )
}

/** The page with the counts: those of a new organization are its first steps. */
const Counted = () => {
  const overview = useRead(
    "GET /api/overview",
    {},
    { refetchInterval: (read) => (read !== undefined && isNew(read) ? NEXT_STEP_MS : false) },
  )
  if (overview.data !== undefined && isNew(overview.data)) return <FirstSteps setUp={overview.data.setUp} />
  const isPending = overview.data === undefined && overview.error === null
  return (
    <>
      <Read of={overview}>{() => null}</Read>
      {/* It reads meanwhile: what it shows depends on whether the organization is new. */}
      <div hidden={isPending}>
        <Parts overview={overview.data} />
      </div>
    </>
  )
}

export const Page = () => {
  const readsInstances = useCan("read:instances")
  return (
    <>
      <PageHead title={t.title} />
      {readsInstances ? <Counted /> : <Parts />}
    </>
  )
}
