/** The start page: what needs attention. Each part is there for those who may read it. */
import { config } from "../kernel/Config.ts"
import { useCan } from "../kernel/Scopes.ts"
import { PageHead, Section } from "../widgets/Page.tsx"
import { EventList } from "../widgets/events/EventList.tsx"
import { Empty } from "../widgets/States.tsx"
import { Failures } from "./Failures.tsx"
import { Ending, InGrace } from "./Terms.tsx"
import { t } from "./texts.en.ts"

export const Page = () => {
  const readsInstances = useCan("read:instances")
  const readsWebhooks = useCan("read:webhooks") && config().webhooks !== null
  const readsEvents = useCan("read:organizations")
  return (
    <>
      <PageHead title={t.title} />
      {readsInstances && (
        <>
          <InGrace />
          <Ending />
        </>
      )}
      {readsWebhooks && <Failures />}
      {readsEvents && (
        <Section title={t.newest}>
          <EventList label={t.newest} filters={{}} limit={20} />
        </Section>
      )}
      {!readsInstances && !readsWebhooks && !readsEvents && <Empty title={t.nothing}>{t.nothingDetail}</Empty>}
    </>
  )
}
