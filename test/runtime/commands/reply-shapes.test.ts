import { expect, test } from 'vitest'
import type { Json } from '../../../src/kernel/json.ts'
import { checkReply } from '../../../src/runtime/commands/reply.ts'
import type { ReplyKind } from '../../../src/wire/interaction.ts'

const form = {
  title: 'How many?',
  fields: [
    { name: 'n', type: 'number', required: true },
    { name: 'note', default: '-' },
  ],
}

const accepted: readonly [ReplyKind, Json, unknown, Json][] = [
  ['approval', {}, { decision: 'approve' }, { decision: 'approve' }],
  ['approval', {}, { decision: 'approve', digest: 'd' }, { decision: 'approve', digest: 'd' }],
  ['approval', {}, { decision: 'deny', reason: 'too much' }, { decision: 'deny', reason: 'too much' }],
  ['approval', {}, { decision: 'deny', reason: undefined }, { decision: 'deny' }],
  ['ecs', form, { action: 'approve', data: { n: 3 } }, { action: 'approve', data: { n: 3, note: '-' } }],
  ['ecs', form, { action: 'edit', data: { n: 4, note: 'x' } }, { action: 'edit', data: { n: 4, note: 'x' } }],
  ['ecs', form, { action: 'reject', reason: 'no' }, { action: 'reject', reason: 'no' }],
  ['question', {}, { answer: 'Tomorrow' }, { answer: 'Tomorrow' }],
  ['settlement', {}, { outcome: 'happened', result: { id: 7 } }, { outcome: 'happened', result: { id: 7 } }],
  ['settlement', {}, { outcome: 'did_not', reason: 'I looked' }, { outcome: 'did_not', reason: 'I looked' }],
  ['settlement', {}, { outcome: 'leave' }, { outcome: 'leave' }],
]
test.each(accepted)('reply shapes: %s for %j accepts %j', (kind, request, reply, recorded) => {
  expect(checkReply(kind, request, reply)).toEqual({ reply: recorded })
})

const refused: readonly [ReplyKind, Json, unknown, string][] = [
  ['approval', {}, { decision: 'yes' }, '/decision'],
  ['approval', {}, {}, '/decision'],
  ['approval', {}, { decision: 'approve', extra: 1 }, ''],
  ['approval', {}, 'approve', ''],
  ['approval', {}, null, ''],
  ['approval', {}, { decision: 'approve', reason: '\ud800' }, ''],
  ['ecs', form, { action: 'approve' }, '/data/n'],
  ['ecs', form, { action: 'approve', data: { n: 'three' } }, '/data/n'],
  ['ecs', form, { action: 'maybe' }, '/action'],
  ['ecs', form, { action: 'approve', data: [] }, '/data'],
  ['ecs', { title: 'no fields' }, { action: 'approve' }, ''],
  ['question', {}, { answer: '  ' }, '/answer'],
  ['question', {}, { answer: 5 }, '/answer'],
  ['settlement', {}, { outcome: 'maybe' }, '/outcome'],
  ['settlement', {}, { outcome: 'did_not', result: 1 }, '/result'],
  ['settlement', {}, { outcome: 'happened', result: () => 1 }, ''],
]
test.each(refused)('reply shapes: %s for %j refuses %o and says where', (kind, request, reply, pointer) => {
  expect(checkReply(kind, request, reply)).toEqual({ problems: [{ pointer, problem: expect.stringMatching(/./) }] })
})
