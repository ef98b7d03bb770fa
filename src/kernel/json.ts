/** What JSON can say, and nothing more. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A JSON value that is an object. */
export type JsonObject = { readonly [name: string]: Json }

/** What is plain JSON by its declaration, where an interface without an index signature hides that. */
export function asJson(value: unknown): JsonObject {
  return value as JsonObject
}

/** One place of a value that does not fit, as a JSON pointer, and what is wrong there. */
export interface Problem {
  readonly pointer: string
  readonly problem: string
}

/** So many are told at once. A list of a hundred thousand mistakes helps no one. */
export const mostProblems = 20

/** The JSON pointer of a path. */
export function pointerTo(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
