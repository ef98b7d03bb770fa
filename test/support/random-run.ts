import fc from 'fast-check'
import { type Call, type CallSpec, createStory, type Row, type Story } from './runes.ts'

/** The dice of `randomRun`: evenly falling dice, since small numbers would choose the same options over and over. */
export const anyDice = fc.noBias(fc.array(fc.nat(1_000_000), { minLength: 5, maxLength: 60 }))

/**
 * Tells a story of one run, step by step as the dice fall, every step one that
 * the couplings allow, until the run is over or the dice are used up. Steps
 * that lead on are more likely than those that end the run. `rowsTaken` counts
 * the rows, so that a test can tell which of them no story took.
 */
export function randomRun(dice: readonly number[], rowsTaken: Map<string, number> = new Map()): Story {
  const story = createStory()
  const round: { calls: readonly Call[] } = { calls: [] }
  story.begin()
  story.submit('Refund order 42')
  for (const die of dice) {
    const options = next(story, round)
    const option = options[die % options.length]
    if (option === undefined) break
    story.later(die % 1_000)
    for (const row of option()) rowsTaken.set(row, (rowsTaken.get(row) ?? 0) + 1)
  }
  return story
}

type Option = () => readonly string[]

const specs: readonly (readonly CallSpec[])[] = [
  [{}],
  [{ name: 'payments.refund', irreversible: true, arguments: { order: 42 } }],
  [{ kind: 'step', name: 'ask_human', arguments: { title: 'Which one?' } }],
  [{ kind: 'duplicate', name: 'payments.refund', irreversible: true }],
  [{ name: 'payments.refund', irreversible: true }, { name: 'mail.draft' }],
  [
    { kind: 'step', name: 'ask_human' },
    { name: 'mail.send', irreversible: true },
  ],
]

function next(story: Story, round: { calls: readonly Call[] }): readonly Option[] {
  const { stateOf, current } = story
  const rows = (...all: readonly Row[]): Option => {
    return () => {
      story.append(...all)
      return all.map(({ row, call }) => `${call === undefined ? 'frame' : 'thread'} ${row}`)
    }
  }
  const run = stateOf(current.run_id)
  const turn = stateOf(current.turn_id) ?? 'idle'
  const calls = round.calls
  const endAll = calls.flatMap((call) => closing(story, call))

  const take: Option = () => taken(story)

  if (run === 'queued' && turn === 'idle')
    return [
      ...often(take),
      rows({ row: 'requested' }),
      rows({ row: 'canceled_at_rest' }),
      rows({ row: 'unrecoverable' }),
    ]
  if (run === 'queued')
    return [...often(take), rows(...endAll, { row: 'canceled' }), rows(...endAll, { row: 'unrecoverable_in_tools' })]
  if (run === 'running' && turn === 'streaming') {
    const said = { 'run.turn.failed': { error_code: 'MODEL_ERROR', message: 'It broke.' } }
    return [
      ...often(
        ...specs.map((spec) => () => {
          round.calls = story.calls(spec, 'Let me see.')
          return ['frame calls_received']
        }),
      ),
      rows({ row: 'succeeded' }),
      rows({ row: 'requested' }),
      rows({ row: 'steered', says: { 'turn.steer': { partial_output: 'I was' } } }),
      rows({ row: 'retried', says: { 'turn.start_turn': { input: null } } }),
      rows({ row: 'failed_in_stream', says: said }),
      rows({ row: 'canceled' }),
      rows({ row: 'lost_in_stream' }),
      rows({ row: 'released' }),
      rows({ row: 'set_back' }),
      rows({ row: 'agent_crashed_in_stream' }),
      rows({ row: 'unrecoverable_in_stream' }),
    ]
  }
  if (run === 'running') {
    const rest = calls.filter((call) => !isOver(story, call))
    if (rest.length === 0)
      return [...often(rows({ row: 'continued' })), rows({ row: 'succeeded_by_tools' }), rows({ row: 'lost' })]
    const steps = rest.flatMap((call) => stepsOf(story, call)).map((row) => rows(row))
    const waiting = rest.flatMap((call) => question(story, call))
    const asked = waiting.filter((row): row is Row => row !== 'open')
    const park = waiting.length === rest.length ? [rows(...asked, { row: 'parked' })] : []
    const ends = [rows(...endAll, { row: 'canceled' }), rows(...endAll, { row: 'failed_in_tools' })]
    return [...often(...steps, ...park, ...park), rows({ row: 'lost' }), ...ends]
  }
  if (run === 'waiting_user') {
    const open = calls.filter((call) => stateOf(call.interaction_id ?? '') === 'open')
    const lapsing = open.filter((call) => stateOf(call.call_id) !== 'executing')
    return [
      ...often(
        ...open.map((call) => rows({ row: 'answered', call }, { row: 'replied' })),
        ...lapsing.map((call) => rows({ row: 'expired', call }, { row: 'lapsed' })),
      ),
      rows({ row: 'kept_waiting' }),
      rows({ row: 'requested' }),
      rows(...endAll, { row: 'canceled' }),
      rows(...endAll, { row: 'unrecoverable_in_tools' }),
    ]
  }
  return calls.flatMap((call) => {
    const unknown = stateOf(call.execution_id) === 'waiting' && stateOf(call.interaction_id ?? '') === 'open'
    if (!unknown) return []
    const noOne: Option = () => []
    return [
      rows({ row: 'settled_happened_late', call }),
      rows({ row: 'settled_did_not_late', call }),
      ...Array(12).fill(noOne),
    ]
  })
}

/** Four times as likely as what stands next to it. */
function often(...options: readonly Option[]): readonly Option[] {
  return [...options, ...options, ...options, ...options]
}

function taken(story: Story): readonly string[] {
  const again = story.stateOf(story.current.turn_id) === 'tool_executing'
  story.take('Refund order 42')
  return [again ? 'frame retaken' : 'frame taken']
}

function isOver(story: Story, call: Call): boolean {
  if (call.kind === 'duplicate') return true
  return ['completed', 'failed', 'rejected', 'cancelled'].includes(story.stateOf(call.execution_id) ?? '')
}

/** The next moves of the holder for a call, without asking a person. */
function stepsOf(story: Story, call: Call): readonly Row[] {
  const contract = story.stateOf(call.execution_id)
  const tool = story.stateOf(call.call_id)
  const interaction = story.stateOf(call.interaction_id ?? '')
  const row = (name: Row['row']): Row => ({ row: name, call })
  if (isOver(story, call)) return []
  if (call.kind === 'step') {
    if (contract === 'pending') return [row('step_defaulted'), row('step_declined')]
    if (interaction === 'answered') return [row('step_taken'), row('step_refused')]
    return interaction === 'expired' ? [row('step_lapsed')] : []
  }
  if (contract === 'pending') return [row('started'), row('started_by_policy'), row('denied_by_policy')]
  if (contract === 'running')
    return [row('progressed'), row('succeeded'), row('failed'), ...(call.irreversible ? [] : [row('timed_out')])]
  if (tool === 'executing') return interaction === 'answered' ? [row('settled_happened'), row('settled_did_not')] : []
  if (interaction === 'answered') return [row('approved'), row('denied')]
  return interaction === 'expired' ? [row('approval_lapsed')] : []
}

/** How a call that needs an answer comes to wait for it; `open` if it does already. */
function question(story: Story, call: Call): readonly (Row | 'open')[] {
  const contract = story.stateOf(call.execution_id)
  if (contract === 'pending') return [{ row: call.kind === 'step' ? 'step_asked' : 'approval_asked', call }]
  if (contract === 'running' && call.irreversible) return [{ row: 'unknown_asked', call }]
  return contract === 'waiting' && story.stateOf(call.interaction_id ?? '') === 'open' ? ['open'] : []
}

/** How a call ends with its run. */
function closing(story: Story, call: Call): readonly Row[] {
  const contract = story.stateOf(call.execution_id)
  const is_open = story.stateOf(call.interaction_id ?? '') === 'open'
  const row = (name: Row['row']): readonly Row[] => [{ row: name, call }]
  if (isOver(story, call)) return []
  if (call.kind === 'step') {
    if (contract === 'pending') return row('step_cancelled_unbegun')
    return row(is_open ? 'step_cancelled' : 'step_cancelled_answered')
  }
  if (contract === 'pending') return row('cancelled_unbegun')
  if (contract === 'running') return row(call.irreversible ? 'unknown_left' : 'cancelled_running')
  if (story.stateOf(call.call_id) === 'executing') return row(is_open ? 'unknown_outlived' : 'unknown_left_again')
  return row(is_open ? 'cancelled_waiting' : 'cancelled_running')
}
