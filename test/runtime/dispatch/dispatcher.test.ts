import { expect, test } from 'vitest'
import { drained } from '../../../src/adapters/system/testing.ts'
import { createDispatcher } from '../../../src/runtime/dispatch/dispatcher.ts'

/** A dispatcher whose runs end when the test says. */
function setUp(limit: number) {
  const begun: string[] = []
  const ends = new Map<string, PromiseWithResolvers<void>>()
  const dispatcher = createDispatcher(limit, (_, run_id) => {
    begun.push(run_id)
    const end = Promise.withResolvers<void>()
    ends.set(run_id, end)
    return end.promise
  })
  const wake = (run_id: string) => {
    const told = { state: 'waits' as 'waits' | 'seen' | 'refused' }
    dispatcher.wake('ses_1', run_id).then(
      () => {
        told.state = 'seen'
      },
      () => {
        told.state = 'refused'
      },
    )
    return told
  }
  return { dispatcher, begun, wake, end: (run_id: string) => ends.get(run_id)?.resolve() }
}

test('dispatcher: the caller of wake hears when the run is over, and when it failed', async () => {
  const failing = createDispatcher(1, () => Promise.reject(new Error('no such agent here')))
  await expect(failing.wake('ses_1', 'run_1')).rejects.toThrow('no such agent here')
  const { wake, end } = setUp(1)
  const [first, second] = [wake('run_1'), wake('run_2')]
  await drained()
  expect([first.state, second.state]).toEqual(['waits', 'waits'])
  end('run_1')
  await drained()
  expect([first.state, second.state]).toEqual(['seen', 'waits'])
})

test('dispatcher: a run that is woken again while it is worked on is looked at once more, and no caller waits for that', async () => {
  const { wake, end, begun } = setUp(2)
  const first = wake('run_1')
  const again = [wake('run_1'), wake('run_1')]
  await drained()
  expect([first, ...again].map(({ state }) => state)).toEqual(['waits', 'seen', 'seen'])
  expect(begun).toEqual(['run_1'])
  end('run_1')
  await drained()
  expect(begun).toEqual(['run_1', 'run_1'])
})

test('dispatcher: a run that only waits frees its slot, and its wake resolves', async () => {
  const { dispatcher, wake, begun } = setUp(1)
  const parent = wake('run_1')
  wake('run_2')
  expect(begun).toEqual(['run_1'])
  const takeBack = dispatcher.lend('run_1')
  await drained()
  expect([parent.state, begun]).toEqual(['seen', ['run_1', 'run_2']])
  takeBack()
})

test('dispatcher: stop refuses queued runs, and waits for those under way', async () => {
  const { dispatcher, wake, end } = setUp(1)
  const [begun, waiting] = [wake('run_1'), wake('run_2')]
  let isStopped = false
  const stopping = dispatcher.stop().then(() => {
    isStopped = true
  })
  await drained()
  expect([begun.state, waiting.state, wake('run_3').state, isStopped]).toEqual(['waits', 'refused', 'waits', false])
  end('run_1')
  await stopping
  expect(begun.state).toBe('seen')
  await expect(dispatcher.wake('ses_1', 'run_4')).rejects.toThrow('takes no more')
})
