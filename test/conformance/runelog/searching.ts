import { describe, expect, test } from 'vitest'
import { accepted } from '../../../src/faults/catalogue.ts'
import type { Runelog } from '../../../src/runelog/port.ts'
import { createRedactor } from '../../../src/runelog/redactor.ts'
import { wordsOf } from '../../../src/runelog/words.ts'
import type { Draft } from '../../../src/runes/rune.ts'
import { search } from '../../../src/runtime/models/summaries.ts'
import { closed, move, opening } from '../../support/drafts.ts'
import { fresh, type OpenStore } from './store.ts'

const models = [search]

async function found(runelog: Runelog, q: string): Promise<readonly string[]> {
  const sessions = await runelog.search({ words: wordsOf(q), limit: 100 })
  return sessions.map(({ session_id }) => session_id)
}

/** Queries that mean something to a search engine, or to a careless program. */
const hostile = [
  '"',
  '""',
  "'",
  "it's",
  '*',
  'a*b',
  '(',
  ')(',
  'NEAR(a b)',
  'value:x',
  '-x',
  '^x',
  'a AND',
  'OR',
  'NOT',
]
const moreHostile = [
  "' OR 1=1 --",
  ':*',
  '!',
  '&',
  '|',
  '<->',
  '\\',
  "\\'",
  '\0',
  'a\0b',
  '\ud800',
  '%',
  '_',
  '😀',
  '{',
]

export function describeSearching(open: OpenStore): void {
  describe('F-109 runelog: searching', () => {
    const begin = (runelog: Runelog, session_id: string, title: string, ...runes: Draft[]) =>
      runelog.append({ session_id, runes: [opening('session', session_id, { config: { title } }), ...runes] })
    let turns = 0
    const asked = (input: string) => opening('run', `run_${++turns}`, { input })
    /** A turn that ends with these words. */
    const said = (final_output: string): readonly [Draft, Draft] => {
      const turn_id = `trn_${++turns}`
      return [
        move('turn', turn_id, ['idle', 'start_turn']),
        move('turn', turn_id, ['streaming', 'response_done', 'completed'], { final_output }),
      ]
    }

    const inside = (runes: readonly Draft[]) => runes.map((rune): Draft => ({ ...rune, visibility: 'internal' }))

    test('words of titles, messages and ids are found, the last one by its beginning, the newest session first', async () => {
      const { runelog } = await fresh(open, { models })
      await begin(runelog, 'ses_a1', 'Refund for Zoë', asked('Please pay 4711 back.'), ...said('It is paid back.'))
      await begin(runelog, 'ses_b2', 'Greeting', asked('Say hello to Zoe'), ...said('Hello, Zoe!'))
      await begin(runelog, 'ses_b3', '東京の天気', ...inside(said('An inside word: hidden.')))

      expect(await found(runelog, 'zoe')).toEqual(['ses_b2', 'ses_a1'])
      expect(await found(runelog, 'ZOË ref')).toEqual(['ses_a1'])
      expect(await found(runelog, 'refund zo')).toEqual(['ses_a1'])
      expect(await found(runelog, 'refu zoe')).toEqual([])
      expect(await found(runelog, 'paid')).toEqual(['ses_a1'])
      expect(await found(runelog, '471')).toEqual(['ses_a1'])
      expect(await found(runelog, 'ses_b')).toEqual(['ses_b3', 'ses_b2'])
      expect(await found(runelog, 'SES_A1')).toEqual(['ses_a1'])
      expect(await found(runelog, '京')).toEqual(['ses_b3'])
      expect(await found(runelog, 'hidden')).toEqual([])
      expect(await found(runelog, 'absent')).toEqual([])
      // Later runes are found at once.
      accepted(
        await runelog.append({ session_id: 'ses_a1', runes: [...said('Now absent is here, and absent again.')] }),
      )
      expect(await found(runelog, 'absent')).toEqual(['ses_a1'])
    })

    test('a list of hits goes on where it ended, and names each session once', async () => {
      const { runelog } = await fresh(open, { models })
      for (let i = 10; i < 35; i++)
        await begin(runelog, `ses_${i}`, 'common', asked('common one'), ...said('common two'))
      const all: string[] = []
      for (let before: number | undefined; ; ) {
        const words = ['common']
        const page = await runelog.search({ words, limit: 10, ...(before !== undefined && { before }) })
        if (page.length === 0) break
        all.push(...page.map(({ session_id }) => session_id))
        before = page.at(-1)?.number
      }
      expect(all).toEqual(Array.from({ length: 25 }, (_, i) => `ses_${34 - i}`))
    })

    test('a query is data, also where it has a meaning to a search engine', async () => {
      const { runelog } = await fresh(open, { models })
      await begin(runelog, 'ses_1', 'x')
      for (const q of [...hostile, ...moreHostile])
        expect(await found(runelog, q), q).toEqual(['-x', '^x'].includes(q) ? ['ses_1'] : [])
    })

    test('search: redacted text is not found, in any order of redacting, archiving and rebuilding', async () => {
      const { runelog } = await fresh(open, { models })
      await begin(runelog, 'ses_1', 'title', asked('The code is XY4711.'), ...said('Thanks for XY4711.'))
      await runelog.redact('ses_1', 2, 'a code')
      expect(await found(runelog, 'xy4711')).toEqual(['ses_1'])
      await runelog.redact('ses_1', 4, 'a code')
      expect(await found(runelog, 'xy')).toEqual([])
      expect(await found(runelog, 'title')).toEqual(['ses_1'])
      accepted(await runelog.append({ session_id: 'ses_1', runes: [...said('Kept.'), ...closed('ses_1')] }))
      await runelog.archive('ses_1')
      expect(await found(runelog, 'kept')).toEqual(['ses_1'])
      await runelog.redact('ses_1', 1, 'the title')
      expect(await found(runelog, 'title')).toEqual([])
      for (let i = 0; i < 2; i++) {
        await runelog.rebuild()
        expect(await found(runelog, 'xy')).toEqual([])
        expect(await found(runelog, 'kept')).toEqual(['ses_1'])
        expect(await found(runelog, 'ses_1')).toEqual(['ses_1'])
      }
    })

    test('a registered secret never enters the index', async () => {
      const redactor = createRedactor({ secrets: new Map([['TOKEN', 'hunter2hunter2']]) })
      const { runelog } = await fresh(open, { models, redactor })
      await begin(runelog, 'ses_1', 'title', ...said('It is hunter2hunter2, yes.'))
      expect(await found(runelog, 'hunter')).toEqual([])
      expect(await found(runelog, 'yes')).toEqual(['ses_1'])
    })

    test('a long text and a long word are found by their beginnings', async () => {
      const { runelog } = await fresh(open, { models })
      const long = 'é'.repeat(5_000)
      const many = Array.from({ length: 30_000 }, (_, i) => `n${i}`).join(' ')
      await begin(runelog, 'ses_1', 'title', ...said(`${long} ${many}`))
      expect(await found(runelog, 'eeee')).toEqual(['ses_1'])
      expect(await found(runelog, 'é'.repeat(200))).toEqual(['ses_1'])
      expect(await found(runelog, 'n9999')).toEqual(['ses_1'])
    })
  })
}
