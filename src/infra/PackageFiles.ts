/**
 * Finds files of the package, from the sources and from the bundle alike: this file and `dist/server/*.mjs` are both two folders
 * below the package's root. Moving this file deeper breaks one of the two.
 */

/** The URL of a file by its path in the package, such as `openapi/core.json`. */
export const packageFile = (path: string): URL => new URL(`../../${path}`, import.meta.url)
