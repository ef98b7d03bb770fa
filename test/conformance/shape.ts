import { type Machine, stateNames } from '../../src/kernel/machine.ts'

/** A rule every declaration keeps. It returns what is wrong; nothing means the machine keeps it. */
export type Check = (machine: Machine) => readonly string[]

export const checkNames: Check = (machine) => {
  const known = new Set(stateNames(machine))
  const named = [
    machine.initial,
    ...machine.transitions.flatMap((t) => [t.from, t.to]),
    ...machine.forbidden.flatMap((f) => [f.from, f.to]),
  ]
  const unknown = named.filter((name) => !known.has(name)).map((name) => `${name} is not a state`)
  return [...unknown, ...repeated(machine.transitions.map(edgeName)).map((edge) => `${edge} is declared twice`)]
}

export const checkReachable: Check = (machine) => {
  const reached = closure([machine.initial], (state) =>
    machine.transitions.filter((t) => t.from === state).map((t) => t.to),
  )
  return stateNames(machine)
    .filter((state) => !reached.has(state))
    .map((state) => `nothing leads to ${state}`)
}

export const checkTerminal: Check = (machine) =>
  Object.entries(machine.states).flatMap(([name, state]) => {
    const leaves = machine.transitions.some((t) => t.from === name)
    if (state.terminal && leaves) return [`${name} is terminal and something leaves it`]
    if (!state.terminal && !leaves) return [`${name} is not terminal and nothing leaves it`]
    return []
  })

export const checkEnding: Check = (machine) => {
  const terminal = stateNames(machine).filter((name) => machine.states[name]?.terminal)
  const ending = closure(terminal, (state) => machine.transitions.filter((t) => t.to === state).map((t) => t.from))
  const stuck = stateNames(machine).filter((name) => !ending.has(name))
  if (machine.endless === undefined) return stuck.map((name) => `${name} can never come to an end`)
  return stuck.length === 0 ? ['it is declared endless, yet every state can come to an end'] : []
}

export const checkForbidden: Check = (machine) => {
  const pairs = machine.forbidden.map(pairName)
  const edges = new Set(machine.transitions.map(pairName))
  return [
    ...pairs.filter((pair) => edges.has(pair)).map((pair) => `${pair} is forbidden and declared`),
    ...repeated(pairs).map((pair) => `${pair} is forbidden twice`),
    ...machine.forbidden.filter((f) => f.from === f.to).map((f) => `${f.from} is forbidden to stay`),
  ]
}

/** For a machine whose list of forbidden moves claims to be complete. */
export const checkForbiddenComplete: Check = (machine) => {
  const names = stateNames(machine)
  const said = new Set([...machine.transitions, ...machine.forbidden].map(pairName))
  return names
    .flatMap((from) => names.filter((to) => to !== from).map((to) => pairName({ from, to })))
    .filter((pair) => !said.has(pair))
    .map((pair) => `${pair} is neither declared nor forbidden`)
}

/** An edge that an earlier one always beats would be a promise that is never kept. */
export const checkGuards: Check = (machine) =>
  machine.transitions.flatMap((edge, i) => {
    const when = edge.when ?? []
    const earlier = machine.transitions.slice(0, i).filter((t) => t.from === edge.from && t.on === edge.on)
    const beaten = earlier.some((t) => (t.when ?? []).every((guard) => when.includes(guard)))
    return [
      ...(beaten ? [`${edgeName(edge)} can never be chosen`] : []),
      ...(edge.when?.length === 0 ? [`${edgeName(edge)} has an empty list of guards`] : []),
      ...repeated(when).map((guard) => `${edgeName(edge)} names ${guard} twice`),
      ...when
        .filter((guard) => !/^[a-z]+(_[a-z]+)*$/.test(guard))
        .map((guard) => `${guard} is not spelled like a guard`),
    ]
  })

/** The fold applies these by itself, so there must be one way, no condition, and an end. */
export const checkSilent: Check = (machine) => {
  const silent = machine.transitions.filter((t) => t.rune === null)
  return silent.flatMap((edge) => {
    const beyond = closure([edge.to], (state) => silent.filter((t) => t.from === state).map((t) => t.to))
    const rivals = machine.transitions.filter((t) => t.from === edge.from && t !== edge)
    return [
      ...(beyond.has(edge.from) ? [`${edgeName(edge)} leads back to itself without a rune`] : []),
      ...(rivals.length > 0 ? [`${edgeName(edge)} happens by itself, so nothing else can leave ${edge.from}`] : []),
      ...(edge.when === undefined ? [] : [`${edgeName(edge)} happens by itself and cannot be guarded`]),
    ]
  })
}

/** Of a carried rune, `from` alone must say which edge it takes. */
export const checkCarriedUnique: Check = (machine) =>
  repeated(machine.transitions.filter((t) => t.carried).map((t) => `${t.from} by ${t.rune}`)).map(
    (carried) => `two edges are carried from ${carried}`,
  )

export const checkRuneKinds: Check = (machine) => {
  const kinds = [
    ...(machine.opens === null ? [] : [machine.opens]),
    ...machine.transitions.flatMap((t) => t.rune ?? []),
  ]
  return [
    ...new Set(
      kinds
        .filter((kind) => !/^[a-z]+\.[a-z]+(_[a-z]+)*$/.test(kind))
        .map((kind) => `${kind} is not spelled like a kind`),
    ),
    ...machine.transitions
      .filter((t) => t.rune === machine.opens && t.rune !== null)
      .map((t) => `${t.rune} opens and moves`),
  ]
}

export const checkSentences: Check = (machine) => {
  const sentences = [
    machine.meaning,
    machine.endless,
    machine.extension,
    ...Object.values(machine.states).map((state) => state.meaning),
    ...machine.transitions.map((t) => t.extension),
    ...machine.forbidden.map((f) => f.because),
  ]
  return sentences
    .filter((sentence) => sentence !== undefined)
    .filter((sentence) => !/^\S.*[^.\s]\.$/.test(sentence) || sentence.includes('  '))
    .map((sentence) => `not a sentence: "${sentence}"`)
}

export const checkFlags: Check = (machine) =>
  Object.entries(machine.states).flatMap(([name, { terminal, stable, resumable }]) => [
    ...(terminal && (stable || resumable) ? [`${name} is terminal and has other flags`] : []),
    ...(resumable && !stable ? [`${name} is resumable but not stable`] : []),
  ])

/** An end is neither at work nor waiting; a state that an answer brings back is waiting. */
export const checkTones: Check = (machine) =>
  Object.entries(machine.states).flatMap(([name, { tone, terminal, resumable }]) => [
    ...(terminal && (tone === 'active' || tone === 'waiting') ? [`${name} is terminal with the tone ${tone}`] : []),
    ...(resumable && tone !== 'waiting' ? [`${name} is resumable with the tone ${tone}`] : []),
  ])

export const checks = {
  checkNames,
  checkReachable,
  checkTerminal,
  checkEnding,
  checkForbidden,
  checkGuards,
  checkSilent,
  checkCarriedUnique,
  checkRuneKinds,
  checkSentences,
  checkFlags,
  checkTones,
} satisfies Record<string, Check>

/** A carried rune is written by a machine that moves with it on its own account. */
export function checkCarriedOwned(machines: readonly Machine[]): readonly string[] {
  const edges = machines.flatMap((machine) => machine.transitions.map((edge) => ({ machine: machine.name, ...edge })))
  return edges
    .filter((edge) => edge.carried)
    .filter((edge) => !edges.some((o) => o.machine !== edge.machine && o.rune === edge.rune && !o.carried))
    .map((edge) => `${edge.machine}: no other machine writes ${edge.rune}, which is said to carry ${edgeName(edge)}`)
}

/** A kind names the machine that writes it: two machines may not write the same one as their own. */
export function checkKindsOwnedOnce(machines: readonly Machine[]): readonly string[] {
  const owned = machines.flatMap((machine) => [
    ...new Set([
      ...(machine.opens === null ? [] : [machine.opens]),
      ...machine.transitions.flatMap((t) => (t.carried || t.rune === null ? [] : [t.rune])),
    ]),
  ])
  return repeated(owned).map((kind) => `${kind} is written by two machines`)
}

function closure(seed: readonly string[], next: (state: string) => readonly string[]): ReadonlySet<string> {
  const seen = new Set(seed)
  for (const state of seen) for (const onward of next(state)) seen.add(onward)
  return seen
}

function repeated(values: readonly string[]): readonly string[] {
  return [...new Set(values.filter((value, i) => values.indexOf(value) !== i))]
}

function pairName({ from, to }: { readonly from: string; readonly to: string }): string {
  return `${from} → ${to}`
}

function edgeName(edge: { readonly from: string; readonly to: string; readonly on: string }): string {
  return `${pairName(edge)} on ${edge.on}`
}
