/**
 * A form whose change is run dry before it happens: the first press shows below the fields what it would do, the second one does
 * it. Errors that the dry run finds appear at their fields.
 */
import { useMutation } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { callDry, Problem } from "../../kernel/Api.ts"
import type { AnyDryRun, DryRunnable, Request } from "../../kernel/Contract.ts"
import { isOutdated } from "../../kernel/forms/Edit.ts"
import type { Resolution } from "../../kernel/forms/Update.ts"
import { useWrite } from "../../kernel/Queries.ts"
import { FormDialog } from "../forms/Form.tsx"
import { isBlocked, Outcome } from "./ImpactDialog.tsx"
import type { DryRunProps, ImpactTitles } from "./ImpactDialog.tsx"
import { t } from "./texts.en.ts"

interface Reviewed<O extends DryRunnable> {
  /** What was in the fields. */
  readonly text: string | undefined
  /** The request that was run dry, and is sent. */
  readonly request: Request<O>
  readonly found: AnyDryRun
  readonly at: number
}

export const ReviewDialog = <O extends DryRunnable>({
  children,
  done,
  fields,
  onClose,
  operation,
  prepare = async (typed) => typed,
  request,
  resolve,
  stale,
  submit,
  title,
  titles = {},
}: Omit<DryRunProps<O>, "leavesPage" | "request"> & {
  /** What is in the fields, as a request; `undefined` if nothing was changed: the dialog then closes and sends nothing. */
  readonly request: Request<O> | undefined
  /** The request for the record that is stored now. */
  readonly prepare?: (typed: Request<O>) => Promise<Request<O>>
  /** The ways on from a conflict. */
  readonly resolve?: (error: unknown, reset: () => void) => Resolution | undefined
  /** The fields that show errors themselves. */
  readonly fields: ReadonlyArray<string>
  readonly titles?: ImpactTitles
  /** The fields, with what the service found wrong. */
  readonly children: (error: unknown) => ReactNode
}) => {
  const write = useWrite(operation, { done: done ?? onClose, ...(stale === undefined ? {} : { stale }) })
  const text = request === undefined ? undefined : JSON.stringify(request)
  const dry = useMutation<Reviewed<O>, Error, Request<O>>({
    mutationFn: async (typed) => {
      write.reset()
      const prepared = await prepare(typed)
      return { text, request: prepared, found: await callDry(operation, prepared), at: Date.now() }
    },
    retry: false,
  })
  // The record changed between the dry run and the write: what the person saw is no longer what would happen.
  const isStale = isOutdated(write.error)
  const reviewed = dry.data?.text === text && !isStale ? dry.data : undefined
  const error =
    reviewed !== undefined ? write.error : isStale ? new Problem(409, "", t.stale, t.staleDetail) : dry.error
  const review = () => {
    if (request === undefined) onClose()
    else dry.mutate(request)
  }
  return (
    <FormDialog
      title={title}
      fields={fields}
      submit={reviewed === undefined ? t.review : submit}
      isDisabled={isBlocked(reviewed?.found)}
      onClose={onClose}
      write={{
        error,
        isPending: dry.isPending || write.isPending,
        draft: () => (request === undefined ? undefined : { operation, request }),
      }}
      resolution={resolve?.(error, dry.reset)}
      onSubmit={() => (reviewed === undefined ? review() : write.mutate(reviewed.request))}
    >
      {children(error)}
      <div role="status">
        {reviewed !== undefined && <Outcome found={reviewed.found} at={reviewed.at} again={review} titles={titles} />}
      </div>
    </FormDialog>
  )
}
