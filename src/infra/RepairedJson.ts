/**
 * Replaces `JSON.parse` of the process where Node.js reads names wrongly ({@link parseJsonText}). Effect reads bodies with it, and the
 * client of the database reads columns, so that it must be the one of the process.
 */
import { Effect, Layer } from "effect"
import { parseJsonText } from "../kernel/values/JsonText.ts"

const isFaulty = (): boolean => {
  JSON.parse(String.raw`{"json":1,"\\":1}`)
  return !Object.keys(JSON.parse(String.raw`{"json":1,"\t":1}`)).includes("\t")
}

export const layer = Layer.effectDiscard(
  Effect.sync(() => {
    if (isFaulty()) JSON.parse = parseJsonText
  }),
)
