/**
 * The rules for a service's address and a credential. Every command that sends requests checks them here, so that a
 * wrong setting is named before anything is sent. No message contains the value: logs of pipelines keep what a command
 * prints.
 */
import { Effect, Redacted } from "effect"
import { CommandFailed } from "../../Failure.ts"

/** A text without the white space around it. Unlike `trim`, it keeps a byte order mark, so that the rules reject it. */
export const trimmed = (text: string): string => text.replaceAll(/^[ \t\r\n]+|[ \t\r\n]+$/g, "")

/** The value of an environment variable; an empty one counts as none. */
export const variable = (name: string): string | undefined => {
  const value = trimmed(process.env[name] ?? "")
  return value === "" ? undefined : value
}

const failed = (message: string) => Effect.fail(new CommandFailed({ message }))

const VISIBLE = /^[\x21-\x7e]+$/

/** What a header cannot contain, by its name. */
const nameOf = (character: string): string => {
  if (character === "\uFEFF") return "a byte order mark"
  if (character === "\n" || character === "\r") return "a line break"
  if (/\s/u.test(character)) return "white space"
  return character < " " || character === "\x7f" ? "a control character" : "a character that is not ASCII"
}

/** A credential. White space around it does not count. `setting` says where it was read from. */
export const tokenOf = (setting: string, text: string): Effect.Effect<Redacted.Redacted, CommandFailed> => {
  const token = trimmed(text)
  if (token === "") return failed(`${setting} is empty. It must be a token, such as ksh_... or ksm_....`)
  if (VISIBLE.test(token)) return Effect.succeed(Redacted.make(token))
  const at = token.search(/[^\x21-\x7e]/)
  const found = `${nameOf(String.fromCodePoint(token.codePointAt(at) ?? 0))} as character ${at + 1}`
  return failed(`${setting} is not one token: it has ${found}. It must be a token alone, such as ksh_... or ksm_....`)
}

const EXAMPLES = "https://keyshelf.example.com or http://127.0.0.1:8080"

/** The origin of a URL, which may end with the path of an API. `setting` says where it was read from. */
export const originOf = (setting: string, text: string): Effect.Effect<string, CommandFailed> => {
  const url = trimmed(text)
  const parsed = /^https?:\/\/[^/]/i.test(url) && VISIBLE.test(url) ? URL.parse(url) : null
  const wrong = (why: string) => failed(`${setting} ${why}. It must look like ${EXAMPLES}.`)
  if (url === "") return wrong("is empty")
  if (parsed === null) return wrong("is not an address with http or https")
  if (parsed.username !== "" || parsed.password !== "") return wrong("has a user or a password before the host")
  if (parsed.search !== "" || parsed.hash !== "") return wrong("has a query or a fragment")
  return Effect.succeed(parsed.href.replace(/(\/api(\/platform)?)?\/*$/, ""))
}
