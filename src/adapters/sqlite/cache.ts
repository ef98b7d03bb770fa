/**
 * A map that can be cut back to its newest entries. It is never cut by itself:
 * an entry may be ahead of the database until the commit under way has ended.
 */
export function createCache<V>(limit: number) {
  const entries = new Map<string, V>()
  return {
    get: (key: string) => entries.get(key),
    has: (key: string) => entries.has(key),
    set: (key: string, value: V) => void entries.set(key, value),
    clear: () => entries.clear(),
    trim() {
      if (entries.size <= limit) return
      for (const key of entries.keys()) {
        if (entries.size <= limit / 2) return
        entries.delete(key)
      }
    },
  }
}

export type Cache<V> = ReturnType<typeof createCache<V>>
