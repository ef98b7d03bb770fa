/** What JSON can say, and nothing more. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A JSON value that is an object. */
export type JsonObject = { readonly [name: string]: Json }

/** What is plain JSON by its declaration, where an interface without an index signature hides that. */
export function asJson(value: unknown): JsonObject {
  return value as JsonObject
}
