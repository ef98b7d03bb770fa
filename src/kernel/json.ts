/** What JSON can say, and nothing more. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
