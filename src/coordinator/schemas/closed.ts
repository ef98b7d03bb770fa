import { z } from 'zod'

/** An object that refuses unknown fields by name and says which fields there are; `gone` says where to look for some of them. */
export function closed<S extends z.core.$ZodLooseShape>(shape: S, gone: Readonly<Record<string, string>> = {}) {
  const known = `Known fields: ${Object.keys(shape).join(', ')}.`
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return undefined
      const keys = issue.keys as readonly string[]
      const hints = keys.flatMap((key) => (Object.hasOwn(gone, key) ? [`${key}: ${gone[key]}`] : []))
      return [`Unknown field ${keys.map((key) => `"${key}"`).join(', ')}.`, known, ...hints].join(' ')
    },
  })
}
