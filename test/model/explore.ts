import { type Act, isOver } from './act.ts'
import { actsOf } from './acts.ts'
import { append, type Refusal, type System } from './append.ts'
import { violations } from './invariants.ts'
import { copy, newWorld, type Setting, textOf, type World } from './world.ts'

export interface Exploration {
  readonly states: number
  readonly moves: number
  /** Rows and edges that some append used. */
  readonly used: ReadonlySet<string>
  /** Tool state, contract status and reason, wherever they stood next to each other. */
  readonly pairs: ReadonlySet<string>
  /** The problems, each with the shortest way there. Stops at the first few. */
  readonly problems: readonly string[]
}

interface Node {
  readonly world: World
  readonly from: number
  readonly by: string
}

/** Every world that can come about, breadth first, so that the way to a problem is a shortest one. */
export function explore(system: System, setting: Setting): Exploration {
  const nodes: Node[] = [{ world: newWorld(setting), from: -1, by: 'start' }]
  const index = new Map([[textOf(newWorld(setting)), 0]])
  const parents: number[][] = [[]]
  const used = new Set<string>()
  const pairs = new Set<string>()
  const problems: string[] = []
  let moves = 0

  for (let at = 0; at < nodes.length && problems.length < 5; at++) {
    const { world } = nodes[at] as Node
    let ways = 0
    for (const act of actsOf(system, setting, world)) {
      const next = perform(system, setting, world, act, used)
      if ('refused' in next) {
        if (!(next.guarded && act.guarded)) problems.push(`${act.name}: ${next.refused}\n    ${path(nodes, at)}`)
        continue
      }
      ways++
      moves++
      if (world.turn === 'idle' && next.turn === 'streaming' && next.session !== 'active')
        problems.push(`a turn began while the session was ${next.session}: ${path(nodes, at)}`)
      const text = textOf(next)
      const known = index.get(text)
      if (known !== undefined) {
        parents[known]?.push(at)
        continue
      }
      const id = nodes.push({ world: next, from: at, by: act.name }) - 1
      index.set(text, id)
      parents.push([at])
      for (const c of next.calls) if (c.tool !== null) pairs.add(`${c.tool} ${c.contract} ${c.reason}`)
      if (setting.strict && next.calls.some((c) => c.interaction === 'expired'))
        problems.push(`a deadline decided for a strict run: ${path(nodes, id)}`)
      if (setting.mode === 'auto' && next.run === 'waiting_user')
        problems.push(`an auto run waits for a person: ${path(nodes, id)}`)
      for (const violation of violations(next)) problems.push(`${violation}\n    ${path(nodes, id)}`)
    }
    if (ways === 0 && !isOver(world)) problems.push(`dead end: ${textOf(world)}\n    ${path(nodes, at)}`)
  }
  if (problems.length === 0) problems.push(...stuck(nodes, parents))
  return { states: nodes.length, moves, used, pairs, problems }
}

function perform(system: System, setting: Setting, world: World, act: Act, used: Set<string>): World | Refusal {
  let next = copy(world)
  act.before?.(next)
  if (act.rows !== undefined) {
    const result = append(system, setting, next, act.by ?? 'command', act.rows, used)
    if ('refused' in result) return result
    next = result.world
    for (const row of act.rows) used.add(typeof row === 'string' ? `frame ${row}` : `thread ${row[0]}`)
  }
  act.after?.(next)
  return next
}

/** Worlds from which no end of the run can be reached any more. */
function stuck(nodes: readonly Node[], parents: readonly number[][]): string[] {
  const canEnd = new Set(nodes.flatMap(({ world }, id) => (isOver(world) ? [id] : [])))
  const queue = [...canEnd]
  for (let id = queue.pop(); id !== undefined; id = queue.pop())
    for (const parent of parents[id] ?? [])
      if (!canEnd.has(parent)) {
        canEnd.add(parent)
        queue.push(parent)
      }
  return nodes.flatMap((_, id) => (canEnd.has(id) ? [] : [`cannot end any more: ${path(nodes, id)}`])).slice(0, 3)
}

function path(nodes: readonly Node[], id: number): string {
  const steps: string[] = []
  for (let at = id; at > 0; at = (nodes[at] as Node).from) steps.unshift((nodes[at] as Node).by)
  return steps.join(' → ')
}
