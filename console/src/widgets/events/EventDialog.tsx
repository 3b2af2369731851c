/** An event with what it changed, by whom and with what. */
import type { ReactNode } from "react"
import type { EventRecord } from "../../kernel/Contract.ts"
import { eventWords } from "../../kernel/Formats.ts"
import { useCan } from "../../kernel/Scopes.ts"
import { Dialog } from "../Dialog.tsx"
import { Facts } from "../Page.tsx"
import { Code, Moment } from "../Tag.tsx"
import { Credential } from "../tokens/Credential.tsx"
import { Difference } from "../records/Difference.tsx"
import { ActorLink, ListLink } from "../records/Links.tsx"
import { t } from "../records/texts.en.ts"

export const EventDialog = ({
  event,
  onClose,
  subject,
}: {
  readonly event: EventRecord
  /** What the event is about. */
  readonly subject: ReactNode
  readonly onClose: () => void
}) => {
  const readsWebhooks = useCan("read:webhooks")
  return (
    <Dialog title={eventWords(event.type)} isOpen onClose={onClose} wide>
      <Facts
        items={[
          [t.when, <Moment key="when" at={event.timestamp} />],
          [t.about, subject],
          [t.actor, <ActorLink key="actor" actor={event.actor} />],
          [t.credential, event.credential && <Credential key="credential" credential={event.credential} />],
          ["id", <Code key="id">{event.id}</Code>],
        ]}
      />
      <Difference event={event} />
      <div className="actions">
        {readsWebhooks && (
          <ListLink to="/webhooks" search={{ tab: "history", event: event.id }} className="button">
            {t.deliveries}
          </ListLink>
        )}
        <ListLink to="/events" search={{ actor: event.actor.id }} className="button">
          {t.byActor(event.actor.name)}
        </ListLink>
      </div>
    </Dialog>
  )
}
