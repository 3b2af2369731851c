/** Asks for a passphrase on the terminal, without showing it. Scripts pass it in a variable. */

const VARIABLE = "KEYSHELF_RELEASE_PASSPHRASE"

const END = new Set(["\r", "\n", "\u0004"])
const INTERRUPT = "\u0003"
const ERASE = new Set(["\u007f", "\b"])

const typed = (question: string): Promise<string> =>
  new Promise((answer, fail) => {
    const { stdin } = process
    let text = ""
    const finish = (done: () => void): void => {
      stdin.setRawMode(false).pause().removeListener("data", read)
      process.stderr.write("\n")
      done()
    }
    const read = (chunk: string): void => {
      for (const character of chunk) {
        if (END.has(character)) return finish(() => answer(text))
        if (character === INTERRUPT) return finish(() => fail(new Error("Interrupted")))
        text = ERASE.has(character) ? text.slice(0, -1) : text + character
      }
    }
    process.stderr.write(question)
    stdin.setRawMode(true).setEncoding("utf8").on("data", read).resume()
  })

/** The passphrase from the variable, else from the terminal. */
export const passphrase = async (question: string): Promise<string> => {
  const given = process.env[VARIABLE]
  if (given !== undefined) return given
  if (!process.stdin.isTTY) throw new Error(`There is no terminal to ask for the passphrase. Set ${VARIABLE}`)
  return typed(question)
}

/** A new passphrase, which must be typed twice. */
export const newPassphrase = async (): Promise<string> => {
  const first = await passphrase("Passphrase of the new key: ")
  if ((await passphrase("The same again: ")) !== first) throw new Error("The two passphrases differ")
  return first
}
