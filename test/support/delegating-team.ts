import { z } from 'zod'
import { agent } from '../../src/runtime/define-agent.ts'
import { call, say, scriptedModel, together } from '../../src/runtime/scripted-model.ts'
import { tool } from '../../src/runtime/tools/define-tool.ts'
import { createWorld, type WorldOptions } from './world.ts'

const write = tool({
  name: 'notes.write',
  input: z.object({ text: z.string() }),
  approval: 'always',
  run: () => 'written',
})

/** A lead that hands on two tasks at once, to scribes that each ask a person before they write. */
export function team(limit = 64, more: Partial<WorldOptions> = {}) {
  const lead = agent({
    role: 'lead',
    model: scriptedModel([
      together(call('delegate.scribe', { task: 'one' }), call('delegate.scribe', { task: 'two' })),
      say('Both are done.'),
    ]),
    delegates: ['scribe'],
  })
  const scribe = agent({
    role: 'scribe',
    model: scriptedModel([call('notes.write', { text: 'a' }), say('I wrote it.')]),
    tools: [write],
  })
  return createWorld({ agents: { lead, scribe }, maxConcurrentRuns: limit, ...more })
}
