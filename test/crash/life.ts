/** One life of a process, from its start to its death at a given point, or to its end. */
export interface Life {
  /**
   * A moment at which the process may die. If it does, this never resolves,
   * and neither does any later point of the same life.
   */
  point(label: string): Promise<void>
  /** Never resolves once it has died: the dead await nothing after this. */
  alive(): Promise<void>
  /** Resolves with the label of the point at which it died. */
  readonly death: Promise<string>
  /** It comes to its end in good order: work under way ends with it. */
  end(): void
  /** How many points it has passed, the deadly one included. */
  passed(): number
  isOver(): boolean
}

/** One each: waiters are dropped when its life is forgotten. */
const never = () => new Promise<never>(() => {})

/** A life inside this process. Its unfinished work stays unfinished; its memory is not read any more. */
export function createLife(diesAt?: number): Life {
  const death = Promise.withResolvers<string>()
  let passed = 0
  let isOver = false
  return {
    point(label) {
      if (isOver) return never()
      passed += 1
      if (passed !== diesAt) return Promise.resolve()
      isOver = true
      death.resolve(label)
      return never()
    },
    alive: () => (isOver ? never() : Promise.resolve()),
    death: death.promise,
    end() {
      isOver = true
    },
    passed: () => passed,
    isOver: () => isOver,
  }
}
