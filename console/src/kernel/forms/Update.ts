/** Forms that change a record: the hooks for the fields, for sending what changed, and for the ways on from a conflict. */
import { useState } from "react"
import { announce } from "../Announcements.ts"
import { call } from "../Api.ts"
import type { Answer, Operation, Request } from "../Contract.ts"
import { draftOf } from "./Curl.ts"
import type { Draft } from "./Curl.ts"
import { useChange } from "../Queries.ts"
import { t } from "../texts.en.ts"
import { pick, rebased } from "./Change.ts"
import { bodyOfEdit, Conflict, editOf, isOutdated } from "./Edit.ts"
import type { Edit } from "./Edit.ts"

const MAX_ATTEMPTS = 5

export interface UpdateOptions<O extends Operation, R, B extends object> {
  readonly read: () => Promise<R>
  readonly request: (body: B) => Request<O>
  /** After the write; without an answer if there was nothing to write. */
  readonly done?: (answer: Answer<O> | undefined) => void
  readonly stale?: ReadonlyArray<string>
}

/** Writes edits. An edit that changes nothing sends nothing. */
export const useUpdate = <O extends Operation, R, B extends object>(
  operation: O,
  { done, read, request, stale }: UpdateOptions<O, R, B>,
) => {
  const run = async (edit: Edit<R, B>): Promise<Answer<O>> => {
    for (let attempt = 1; ; attempt += 1) {
      const body = await bodyOfEdit(edit, read)
      try {
        return await call(operation, request(body))
      } catch (error) {
        if (!isOutdated(error) || attempt >= MAX_ATTEMPTS) throw error
      }
    }
  }
  const change = useChange(run, {
    ...(stale === undefined ? {} : { stale }),
    done: (answer) => {
      announce(t.common.saved)
      done?.(answer)
    },
  })
  return {
    ...change,
    save: (edit: Edit<R, B> | undefined) => {
      if (edit !== undefined) change.mutate(edit)
      else if (!change.draft.isOpen()) done?.(undefined)
    },
    isDrafting: change.draft.isOpen,
    /** The request for the record that the person saw. */
    draft: (submit: () => void): Draft | undefined => {
      const edit = change.draft.of(submit)
      return draftOf(operation, edit && request(edit.bodyFor(edit.seen)))
    },
  }
}

/** What a person does about a conflict. */
export interface Resolution {
  /** Shows the stored record in place of what was typed. */
  readonly take: () => void
  /** Keeps what was typed: it replaces what the person has now seen. Fields without typed text show what is stored. */
  readonly keep: () => void
}

/** The ways on from an error, if it is a conflict. */
export const resolutionOf = <R>(
  error: unknown,
  { keep, take }: { readonly take: (stored: R) => void; readonly keep: (stored: R) => void },
  reset: () => void,
): Resolution | undefined => {
  if (!(error instanceof Conflict)) return undefined
  const stored = error.stored as R
  const after = (way: (record: R) => void) => () => {
    way(stored)
    reset()
  }
  return { take: after(take), keep: after(keep) }
}

/**
 * The fields of a form for a record. `valuesOf` fills them, `bodyOf` reads them: what both make of the record is no change.
 * Properties in `merged` are objects that a form changes key by key.
 */
export const useEdit = <R extends object, V extends object, B extends object>(
  record: R,
  valuesOf: (record: R) => V,
  bodyOf: (values: V) => B,
  merged: ReadonlyArray<keyof R & keyof B & string> = [],
) => {
  const start = (seen: R) => {
    const initial = valuesOf(seen)
    return { seen, initial, values: initial }
  }
  const [{ initial, seen, values }, set] = useState(() => start(record))
  const edit = editOf<R, B>({
    seen,
    before: bodyOf(initial),
    after: bodyOf(values),
    storedIn: (stored) => ({ ...bodyOf(valuesOf(stored)), ...pick(stored, merged) }),
    merged,
  })
  return {
    seen,
    values,
    setValues: (next: V) => set({ seen, initial, values: next }),
    edit,
    take: (stored: R) => set(start(stored)),
    keep: (stored: R) => {
      const next = valuesOf(stored)
      set({ seen: stored, initial: next, values: rebased(initial, values, next) })
    },
  }
}

/** For a form that is always open: shows each record that was read since, as long as nothing is typed. */
export const useFollow = <R>(record: R, isUntouched: boolean, show: (record: R) => void): void => {
  const [shown, setShown] = useState(record)
  if (!isUntouched || shown === record) return
  setShown(record)
  show(record)
}

/** A form that changes a record: its fields, and what its dialog takes. */
export const useRecordForm = <O extends Operation, R extends object, V extends object, B extends object>(
  operation: O,
  {
    bodyOf,
    merged,
    record,
    valuesOf,
    ...update
  }: UpdateOptions<O, R, Partial<B>> & {
    readonly record: R
    readonly valuesOf: (record: R) => V
    readonly bodyOf: (values: V) => B
    readonly merged?: ReadonlyArray<keyof R & keyof B & string>
  },
) => {
  const form = useEdit(record, valuesOf, bodyOf, merged)
  const write = useUpdate(operation, update)
  const { edit, setValues, values } = form
  return {
    values,
    setValues,
    error: write.error,
    dialog: {
      write,
      resolution: resolutionOf(write.error, form, write.reset),
      onSubmit: () => write.save(edit),
    },
  }
}
