import { expect, test } from 'vitest'
import { linesOf } from '../support/lines-of.ts'
import { type Call, createStory } from '../support/runes.ts'

function begun() {
  const story = createStory()
  story.begin()
  story.submit()
  return { story, line: (ms = 0) => linesOf(story.runes).runLine('run_1', story.now() + ms) }
}

test('waiting line: each state of a run is described in the words of the declaration', () => {
  const { story, line } = begun()
  expect(line(3_000)).toBe('queued for 3 s. Ready for a worker.')
  story.take()
  expect(line(850)).toBe('running for 850 ms. A worker holds it. The model is answering.')
  const [refund] = story.calls([{ name: 'payments.refund', irreversible: true }]) as [Call]
  story.append({ row: 'started', call: refund })
  expect(line(120_000)).toBe('running for 2 min. A worker holds it. payments.refund has been running for 2 min.')
  story.park({
    row: 'unknown_asked',
    call: refund,
    says: { '+interaction': { prompt: 'Did it\nhappen?', deadline: story.now() + 7_200_010 } },
  })
  expect(line()).toBe(
    'waiting_user for 0 ms. It needs an answer from a person and holds no worker. ' +
      'It asks: Did it happen? (int_1, 2 h left) It is unknown whether payments.refund happened.',
  )
  story.append(
    { row: 'unknown_outlived', call: refund },
    { row: 'canceled', says: { 'run.run.canceled': { message: 'Ann stopped it.' } } },
  )
  expect(line(86_400_000)).toBe(
    'canceled for 1 d. Stopped by request. Ann stopped it. It is unknown whether payments.refund happened.',
  )
})

test('waiting line: a failed run says with which code', () => {
  const { story, line } = begun()
  story.take()
  story.append({
    row: 'failed_in_stream',
    says: { 'run.turn.failed': { error_code: 'MODEL_ERROR', message: 'It broke.' } },
  })
  expect(line()).toBe('failed for 0 ms. Finished without one, and says why. MODEL_ERROR. It broke.')
})

test('waiting line: a queued run of a paused session says that the session is the reason', () => {
  const { story, line } = begun()
  story.append({ row: 'paused' })
  expect(line()).toContain('The session is paused: ')
})

test('waiting line: a session speaks for its only open run, or counts them, or says that there is none', () => {
  const { story } = begun()
  expect(linesOf(story.runes).sessionLine(story.now())).toBe('run_1: queued for 0 ms. Ready for a worker.')
  story.submit()
  expect(linesOf(story.runes).sessionLine(story.now())).toBe(
    '2 runs are open: run_1 queued for 10 ms, run_2 queued for 0 ms.',
  )
  expect(linesOf(story.runes.slice(0, 3)).sessionLine(story.now())).toMatch(/^created for 20 ms\. .* No run is open\.$/)
})

test('waiting line: a missing session or run is reported as missing', () => {
  expect(linesOf([]).sessionLine(0)).toBe('There is no such session.')
  expect(linesOf([]).runLine('run_1', 0)).toBe('There is no such run.')
})
