/** What was typed into the fields of a form, as the body of a request has it. */
import { exactNumber } from "./Amount.ts"

/** The name or id that was typed, without the blanks around it, or `null` for nothing. */
export const orNull = (text: string): string | null => text.trim() || null

/** The prose that was typed, with its blanks and lines, or `null` for nothing. */
export const proseOrNull = (text: string): string | null => (text.trim() === "" ? null : text)

/** What was typed, or `undefined` for nothing: the property is left out. */
export const orUndefined = (text: string): string | undefined => text.trim() || undefined

/** The number that was typed. Other text is sent as it is, so that the service says at the field what is wrong. */
export const numberOf = (text: string): number => {
  const trimmed = text.trim()
  const isNumber = trimmed !== "" && Number.isFinite(Number(trimmed))
  return isNumber ? exactNumber(trimmed) : (trimmed as unknown as number)
}

/** The number that was typed, or `undefined` for nothing: the property is left out. */
export const orUndefinedNumber = (text: string): number | undefined => (text.trim() === "" ? undefined : numberOf(text))

/** The number that was typed, or `null` for nothing. */
export const orNullNumber = (text: string): number | null => (text.trim() === "" ? null : numberOf(text))
