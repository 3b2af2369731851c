/** The filters of the history, as they are in the URL. */
import type { WebhookAttempt } from "../kernel/Contract.ts"
import { eventNames } from "../kernel/contract/EventNames.ts"
import { eventWords } from "../kernel/Formats.ts"

type State = WebhookAttempt["state"]

export const states: ReadonlyArray<State> = ["Sending", "Success", "Failure", "Failed"]

export const stateOf = (text: string): State | undefined => states.find((one) => one === text)

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** The filter that a text means: the id of an event, or a name, also written in words. */
export const eventOf = (text: string): string | undefined => {
  if (UUID.test(text.trim())) return text.trim().toLowerCase()
  const name = text
    .trim()
    .toUpperCase()
    .replaceAll(/[\s-]+/g, "_")
  return eventNames.find((one) => one === name || eventWords(one).toUpperCase() === text.trim().toUpperCase())
}
