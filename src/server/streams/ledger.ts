/** Which bytes wait for readers. Bytes that several readers wait for are counted once, because they are kept once. */
export interface Ledger {
  hold(bytes: Uint8Array): void
  release(bytes: Uint8Array): void
  /** How many bytes are kept for readers. */
  readonly total: () => number
}

/** `overflow` is called whenever more than `limit` bytes are kept; it cuts off readers until that is not so. */
export function createLedger(limit: number, overflow: () => void): Ledger {
  const holders = new Map<Uint8Array, number>()
  let total = 0
  return {
    hold(bytes) {
      const count = holders.get(bytes) ?? 0
      holders.set(bytes, count + 1)
      if (count > 0) return
      total += bytes.length
      if (total > limit) overflow()
    },
    release(bytes) {
      const count = holders.get(bytes) ?? 0
      if (count > 1) {
        holders.set(bytes, count - 1)
        return
      }
      if (holders.delete(bytes)) total -= bytes.length
    },
    total: () => total,
  }
}
