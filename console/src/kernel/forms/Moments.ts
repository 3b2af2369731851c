/** Moments in forms: a form holds the text of the service, and the browser's field shows the same moment in UTC. */

/** The last moment that the service takes. A browser with this limit takes years of four digits only. */
export const LAST_INPUT = "9999-12-31T23:59:59.999"

const INPUT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/

/** The moment of a `datetime-local` field, which is in UTC. Text that is not a time is kept, so that it is not mistaken for an empty field. */
export const momentOfInput = (text: string): string => {
  const date = new Date(`${text}Z`)
  return INPUT.test(text) && !Number.isNaN(date.getTime()) ? date.toISOString() : text
}

/** Whether a field holds a moment that can be sent. */
export const isMoment = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}T.*(Z|[+-]\d{2}:\d{2})$/.test(text) && !Number.isNaN(Date.parse(text))

/** What the `datetime-local` field shows for a moment: all of it, so that a change of the day keeps the seconds. */
export const inputOfMoment = (moment: string): string => {
  if (!isMoment(moment)) return moment
  return new Date(moment)
    .toISOString()
    .slice(0, -1)
    .replace(/\.000$/, "")
    .replace(/(T\d\d:\d\d):00$/, "$1")
}

/** The step of a field that shows a text, in seconds: a browser locks the parts that are smaller than it. */
export const stepOfInput = (text: string): number => (text.includes(".") ? 0.001 : /T\d\d:\d\d:/.test(text) ? 1 : 60)

/** A moment without its seconds, for fields that begin with one. */
export const minuteOf = (ms: number): string => new Date(Math.floor(ms / 60_000) * 60_000).toISOString()
