/** What was typed into the fields of a form, as the body of a request has it. */

/** What was typed, or `null` for nothing. */
export const orNull = (text: string): string | null => text.trim() || null

/** What was typed, or `undefined` for nothing: the property is left out. */
export const orUndefined = (text: string): string | undefined => text.trim() || undefined
