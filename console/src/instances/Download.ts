/** Gives a person a text as a file. */

/** Saves a text under a name, as the browser saves downloads. */
export const downloadText = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  // The browser has taken the address by then.
  setTimeout(() => URL.revokeObjectURL(url))
}
