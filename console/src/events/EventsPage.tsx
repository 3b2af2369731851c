/** All events of the organization, newest first, live. */
import { eventNames } from "../kernel/contract/EventNames.ts"
import { inputOfMoment, momentOfInput, words } from "../kernel/Formats.ts"
import { useUrl } from "../kernel/Url.ts"
import type { EventName } from "../kernel/Contract.ts"
import { FilterField, FilterSelect } from "../widgets/forms/FilterField.tsx"
import { TextField } from "../widgets/forms/Fields.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { EventList } from "../widgets/records/EventList.tsx"
import { t } from "./texts.en.ts"

const choices = eventNames.map((name) => ({ id: name, title: words(name) }))

const nameOf = (text: string): EventName | undefined => eventNames.find((name) => name === text)

export const Page = () => {
  const [{ actor = "", resource = "", since = "", type = "", until = "" }, setUrl] = useUrl()
  const chosen = nameOf(type)
  return (
    <>
      <PageHead title={t.title}>{t.live}</PageHead>
      <div className="filters">
        <FilterField label={t.resource} name="resource" />
        <FilterSelect label={t.kind} name="type" all={t.all} choices={choices} />
        <FilterField label={t.actor} name="actor" />
        <TextField
          kind="datetime-local"
          label={t.since}
          value={inputOfMoment(since === "" ? null : since)}
          onChange={(value) => setUrl({ since: momentOfInput(value) })}
        />
        <TextField
          kind="datetime-local"
          label={t.until}
          value={inputOfMoment(until === "" ? null : until)}
          onChange={(value) => setUrl({ until: momentOfInput(value) })}
        />
      </div>
      <EventList
        label={t.title}
        filters={{ resource, actor, since, until, ...(chosen === undefined ? {} : { type: [chosen] }) }}
      />
    </>
  )
}
