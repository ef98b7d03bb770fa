import type { CallView } from '../../observation/session-state.ts'
import type { Evidence } from '../../runes/kinds.ts'
import type { Engine } from '../engine.ts'
import { guardListeners } from '../live-signal.ts'
import { wait } from '../ports.ts'
import { type Clean, evidenceOf, readThrown, sayValue, stacksOf } from '../thrown.ts'
import { returned } from '../tools/carry-out.ts'
import type { Probed, Tool } from '../tools/tool.ts'
import { outdated, whyNotRepeat } from './advance.ts'
import { type Obstacle, obstacleToDidNot, patienceOf, sayObstacle } from './closing.ts'
import { begin, inHand } from './effects.ts'
import type { Hold, Outcome } from './hold.ts'

/**
 * Continues a call that a dead worker began. An idempotent or read-only call is repeated. A call whose tool has a probe
 * is probed. The outcome of every other call is unknown. The recorded flags count. A tool that was redefined since is
 * neither repeated nor probed.
 */
export function continueLost(hold: Hold, call: CallView) {
  const abort = new AbortController()
  const problem = call.idempotent ? whyNotRepeat(hold, call) : outdated(hold, call)
  if (call.idempotent && problem === undefined) return begin(hold, call)
  if (call.idempotent && !call.irreversible)
    return inHand(hold, call, abort, async () => ({
      status: 'error',
      error: `The worker was lost. ${problem} It was not repeated; call it again.`,
      error_kind: 'definition_changed',
      duration_ms: 0,
    }))
  const tool = hold.definition.registry.find(call.name)
  inHand(hold, call, abort, async () => {
    if (problem !== undefined) return unclear(call, { source: 'definition', message: problem })
    return tool?.probe === undefined ? unclear(call) : asked(hold.engine, tool, call, abort.signal)
  })
}

/** The outcome is unknown. If there is no evidence yet, the reason is that the worker which began it was lost. */
function unclear(call: CallView, probed?: Evidence): Outcome {
  const lost: Evidence = { source: 'worker', message: 'The worker was lost while the action was under way.' }
  const evidence = probed ?? (call.evidence.length === 0 ? lost : undefined)
  return { status: 'unknown', ...(evidence !== undefined && { evidence }) }
}

const probeSaid = (message: string): Evidence => ({ source: 'probe', message })

async function asked(engine: Engine, tool: Tool, call: CallView, signal: AbortSignal): Promise<Outcome> {
  const { call_id, execution_id } = call
  const { redact } = engine.redactor
  try {
    // Checked before the probe: "it did not happen" counts only if no worker could act after the probe looked.
    let obstacle = await obstacleToDidNot(engine, call)
    let found = await probeOnce(engine, tool, call, signal)
    if (found.outcome === 'did_not' && obstacle !== undefined) {
      obstacle = await obstacleRemains(engine, call, signal)
      found = await probeOnce(engine, tool, call, signal)
    }
    if (found.outcome === 'happened') return { ...(await returned(tool, found.result, engine)), duration_ms: 0 }
    if (found.outcome === 'unusable') engine.warn('a probe failed', { call_id, error: found.problem })
    if (found.outcome !== 'did_not')
      return unclear(call, probeSaid('problem' in found ? found.problem : 'The probe cannot tell.'))
    if (obstacle !== undefined)
      return unclear(call, probeSaid(`The probe found nothing, but: ${sayObstacle(obstacle)}`))
    const why = call.evidence.at(-1)?.message ?? 'The worker was lost.'
    const error = `${why} The probe says that it did not happen.`
    return { status: 'error', error, error_kind: 'did_not_happen', duration_ms: 0 }
  } catch (error) {
    engine.warn('a probe failed', { call_id, error: readThrown(error, redact).message })
    engine.log.info('a probe threw', { tool: tool.name, call_id, execution_id, error: stacksOf(error, redact) })
    return unclear(call, evidenceOf('probe', error, redact))
  }
}

/** Waits until the tool cannot act any more. The wait is limited: then a person is asked. */
async function obstacleRemains(engine: Engine, call: CallView, signal: AbortSignal): Promise<Obstacle | undefined> {
  const patience = patienceOf(engine, call)
  for (;;) {
    const obstacle = await obstacleToDidNot(engine, call)
    const left = patience - engine.clock.now()
    // A tool that reported success stays done.
    if (obstacle === undefined || obstacle.obstacle === 'done' || left <= 0) return obstacle
    await wait(engine.timers, Math.min(left, engine.settings.leaseMs / 4), signal)
    signal.throwIfAborted()
  }
}

type Late = { readonly outcome: 'late'; readonly problem: string }

/** A probe has the time limit of its tool. A probe that does not answer cannot tell. */
async function probeOnce(
  engine: Engine,
  tool: Tool,
  call: CallView,
  signal: AbortSignal,
): Promise<Probed | Late | Unusable> {
  const enough = Promise.withResolvers<Late>()
  const late = new AbortController()
  const cancel = engine.timers.after(tool.timeoutMs, () => {
    enough.resolve({ outcome: 'late', problem: `The probe did not answer within ${tool.timeoutMs} ms.` })
    late.abort()
  })
  try {
    const { call_id, idempotency_key } = call
    const either = guardListeners(AbortSignal.any([signal, late.signal]), engine, { call_id })
    const ask = async () => tool.probe?.(idempotency_key ?? call_id, call.arguments, either)
    const probing = async () => readProbed(await ask(), engine.redactor.redact)
    return await Promise.race([probing(), enough.promise])
  } finally {
    cancel()
  }
}

const outcomes = ['happened', 'did_not', 'cannot_tell'] as const satisfies readonly Probed['outcome'][]

/** A probe's answer that cannot be used. */
type Unusable = { readonly outcome: 'unusable'; readonly problem: string }

/** The answer of a probe. An answer of another form is never read as `did_not`, which would permit the action again. */
function readProbed(answer: unknown, clean: Clean): Probed | Unusable {
  const { outcome: given, result } = Object(answer)
  const outcome = typeof answer === 'object' ? outcomes.find((known) => known === given) : undefined
  if (outcome === 'happened') return { outcome, result }
  if (outcome !== undefined) return { outcome }
  const kind = sayValue(answer, clean)
  const shown = kind === 'an object' ? `an object whose outcome is ${sayValue(given, clean)}` : kind
  const allowed = outcomes.map((known) => `"${known}"`).join(', ')
  return {
    outcome: 'unusable',
    problem: `The probe returned ${shown}. It must return an object whose outcome is one of ${allowed}.`,
  }
}
