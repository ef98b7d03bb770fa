import { expect, test } from 'vitest'
import { payloadName, payloadNames } from '../../src/coordinator/payload-keys.ts'
import { executionPayloads } from '../../src/coordinator/red-lines.ts'
import { coordinatorJsonSchemas } from '../../src/coordinator/schemas/all.ts'
import type { Json } from '../../src/kernel/json.ts'
import { answering, intentOf, openQuestion, plan, planned } from '../support/coordinator.ts'

/** How someone might spell a key who wants it to be overlooked. */
const spellings: Readonly<Record<string, (name: string) => string>> = {
  capitals: (name) => name.toUpperCase(),
  'camel case': (name) => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
  'other separators': (name) => name.replaceAll('_', '.'),
  'blanks around it': (name) => ` ${name}\t`,
  'a letter apart': (name) => [...name].join('-'),
  'full width': (name) =>
    String.fromCodePoint(...[...name].map((c) => (c === '_' ? 0xff3f : c.charCodeAt(0) + 0xfee0))),
  'mathematical letters': (name) => replaced(name, (c) => String.fromCodePoint(c.charCodeAt(0) - 97 + 0x1d4ea)),
  'invisible characters': (name) => [...name].join('\u200b'),
  'Hangul fillers': (name) => `\u3164${[...name].join('\u115f\u1160')}2\uffa0`,
  'every ignorable character': (name) =>
    [...name].join('\u00ad\u034f\u061c\u17b4\u180e\u2065\ufe0f\ufff0\u{e0001}\u2800'),
  'lunate sigma': (name) => from(name, 'c', 'ϲ'),
  'capital lunate sigma': (name) => from(name, 'c', 'Ϲ').toUpperCase(),
  accents: (name) => replaced(name, (c) => `${c}\u0301\u0323`),
  Cyrillic: (name) => from(name, 'aceopsxyihbm', 'асеорѕхуіһвм'),
  Greek: (name) => from(name, 'aoupivnk', 'αουρινηκ'),
  'small capitals': (name) => from(name, 'acelmnoprstuvwz', 'ᴀᴄᴇʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡᴢ'),
  'digits for letters': (name) => from(name, 'olo', '010'),
  'I for l': (name) => name.replaceAll('l', 'I'),
  'rn for m': (name) => name.replaceAll('m', 'rn'),
  'a number behind': (name) => `${name}_2`,
  'a companion behind': (name) => `${name}_command`,
  'a companion before': (name) => `inline_${name}`,
}

function replaced(name: string, change: (letter: string) => string): string {
  return name.replaceAll(/[a-z]/g, change)
}

function from(name: string, letters: string, others: string): string {
  return replaced(name, (letter) => [...others][letters.indexOf(letter)] ?? letter)
}

test.each(Object.keys(spellings))('F-49 payload keys: every name is found in spite of %s', (how) => {
  for (const name of payloadNames) {
    const key = spellings[how]?.(name) ?? ''
    expect(payloadName(key), `${name} as ${JSON.stringify(key)}`).not.toBeNull()
  }
})

test('F-49 payload keys: an intent with such a key is aborted, and the message shows how the key reads', () => {
  for (const key of ['exec', 'cmd', 'commandLine', 'shell_command', 'run ', 'ѕhеll']) {
    const { state, artifacts } = plan({ intent: intentOf((i) => ({ ...i, metadata: { notes: [{ [key]: 'echo' }] } })) })
    expect([key, state]).toEqual([key, 'ABORTED'])
    expect(artifacts.failure_pack?.problems[0]).toMatchObject({
      code: 'execution_payload',
      message: expect.stringMatching(/it reads as "(exec|cmd|command_line|shell|run)"/),
      path: `metadata.notes[0].${key}`,
    })
  }
})

test('F-49 payload keys: an answer with such a key is refused, and a step of that name is not a payload', () => {
  const risk = { value: 'go', answer_text: 'Yes.', rationale: 'So.', effect: { set_risk: { exec: 'low' } } }
  const intent = intentOf((i) => ({
    ...i,
    planned_commands: [planned('cmd_read', { step_id: 'exec' })],
    open_questions: [
      openQuestion('which', {
        suggested_answers: [risk],
        default_strategy: { action: 'use', value: 'go', explanation: 'Go.' },
      }),
    ],
  }))
  const { waits_for } = plan({ intent })
  const round = answering(waits_for, { which: 'go' }) as { answer_pack: { [key: string]: Json } }
  for (const key of ['ϲmd', 'exeϲ', 'ru\u3164n']) {
    const [first] = round.answer_pack.answers as { question_id: string }[]
    const data = { question_id: first?.question_id, provided_by: 'human', answer_type: 'structured' }
    for (const more of [{ metadata: { [key]: 'ls' } }, { answers: [{ ...data, answer_data: { [key]: 'ls' } }] }]) {
      const { refused_answers } = plan({ intent }, [{ answer_pack: { ...round.answer_pack, ...more } as Json }])
      expect([key, refused_answers[0]?.problems[0]?.code]).toEqual([key, 'execution_payload'])
    }
  }
  const carrying = { answer_pack: { ...round.answer_pack, metadata: { shell_command: 'ls' } } }
  expect(plan({ intent }, [carrying]).refused_answers[0]?.problems[0]?.code).toBe('execution_payload')
  expect(plan({ intent }, [round]).state).toBe('DONE')
  // Nothing else hides there.
  expect(executionPayloads({ set_risk: { exec: 'rm -rf /' } })).toHaveLength(1)
})

test('F-49 payload keys: no field of any artifact, and no key that only sounds alike, is taken for a payload', () => {
  const names = new Set<string>()
  const collect = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return
    for (const [key, value] of Object.entries(schema)) {
      if (key === 'properties') for (const name of Object.keys(value)) names.add(name)
      collect(value)
    }
  }
  const { execution_intent, answer_pack, question_pack, review_pack, execution_graph } = coordinatorJsonSchemas()
  collect([execution_intent, answer_pack, question_pack, review_pack, execution_graph])
  expect(names.size).toBeGreaterThan(100)
  const alike = ['runs', 'run_id', 'dry_run', 'runtime', 'executed_by', 'shift', 'shop', '5h', 'rung', 'prune', 'сумма']
  expect([...names, ...alike].filter((name) => payloadName(name) !== null)).toEqual([])
})

test('F-49 payload keys: a key of a million characters costs no time to speak of', () => {
  const begun = performance.now()
  expect(payloadName(`${'\u200b'.repeat(1_000_000)}run`)).toBe('run')
  expect(payloadName(`a${'\u0301'.repeat(1_000_000)}`)).toBeNull()
  expect(payloadName('run'.repeat(300_000))).toBeNull()
  expect(performance.now() - begun).toBeLessThan(10_000)
  const [problem] = executionPayloads({ [`${'\u200b'.repeat(10_000)}run`]: 1 })
  expect(problem?.message.length).toBeLessThan(200)
})
