/**
 * Does something again and again, never twice at once, `ms` after the last time
 * it ended. Returns the way to stop, which resolves when nothing is under way.
 */
export function every(ms: number, act: () => Promise<unknown>, failed: (error: unknown) => void): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined
  let under_way: Promise<unknown> = Promise.resolve()
  let isOver = false

  function arm() {
    if (isOver) return
    timer = setTimeout(() => {
      under_way = act().catch(failed).finally(arm)
    }, ms)
  }
  arm()
  return async () => {
    isOver = true
    clearTimeout(timer)
    await under_way
  }
}
