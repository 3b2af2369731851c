/** All events of the organization, newest first, live. */
import { eventNames } from "../kernel/contract/EventNames.ts"
import { eventWords } from "../kernel/Formats.ts"
import { useUrl } from "../kernel/Url.ts"
import type { EventName } from "../kernel/Contract.ts"
import { FilterField, FilterMoment, FilterSelect } from "../widgets/forms/FilterField.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { EventList } from "../widgets/events/EventList.tsx"
import { t } from "./texts.en.ts"

const choices = eventNames.map((name) => ({ id: name, title: eventWords(name) }))

const nameOf = (text: string): EventName | undefined => eventNames.find((name) => name === text)

export const Page = () => {
  const [{ actor = "", resource = "", since = "", type = "", until = "" }] = useUrl()
  const chosen = nameOf(type)
  const about = resource.trim()
  return (
    <>
      <PageHead title={t.title}>{t.live}</PageHead>
      <div className="filters">
        <FilterField label={t.resource} name="resource" />
        <FilterSelect label={t.kind} name="type" all={t.all} choices={choices} />
        <FilterField label={t.actor} name="actor" />
        <FilterMoment label={t.since} name="since" />
        <FilterMoment label={t.until} name="until" />
      </div>
      <EventList
        label={t.title}
        isFiltered={[actor, resource, since, until, type].some((text) => text !== "")}
        filters={{
          resource: about === "" ? [] : [about],
          actor,
          since,
          until,
          ...(chosen === undefined ? {} : { type: [chosen] }),
        }}
      />
    </>
  )
}
