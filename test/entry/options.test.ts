import { expect, test } from 'vitest'
import { openPostgres } from '../../src/entry/postgres.ts'
import { serve } from '../../src/entry/server.ts'
import { agent } from '../../src/runtime/define-agent.ts'
import { say, scriptedModel } from '../../src/runtime/scripted-model.ts'

const agents = { main: agent({ role: 'main', model: scriptedModel([say('Done.')]) }) }

test('openPostgres: an address or an option of another kind is refused before anything is opened', async () => {
  for (const url of [5, null, 'sqlite:./x.db'])
    await expect(openPostgres(url as never)).rejects.toMatchObject({ code: 'store_unusable' })
  for (const options of [null, 7, { lease_ms: 3 }, { leaseMs: 0 }, { warn: 'x' }, { secrets: ['x'] }])
    await expect(openPostgres('postgres://localhost/none', options as never)).rejects.toMatchObject({
      code: 'bad_definition',
      message: expect.stringContaining('openPostgres'),
    })
})

test('serve: an option of another kind is refused before anything is opened', async () => {
  for (const options of [null, { prot: 3 }, { port: -1 }, { port: 'x' }, { allow_plain_http: true }, { log: 5 }])
    await expect(serve({ store: 'memory:', agents }, options as never)).rejects.toMatchObject({
      code: 'bad_definition',
      message: expect.stringContaining('serve'),
    })
  await expect(serve({ store: {} as never, agents })).rejects.toMatchObject({ code: 'bad_definition' })
})
