import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Rune } from '../../../../src/runes/rune.ts'
import { agent } from '../../../../src/runtime/define-agent.ts'
import { call, say, scriptedModel } from '../../../../src/runtime/scripted-model.ts'
import { auditRunes } from '../../../support/audit-runes.ts'
import { childrenWith, referenceServers } from '../../../support/mcp-servers.ts'
import { mcpWorld, scratch } from '../../../support/mcp-world.ts'
import { createWorld } from '../../../support/world.ts'

const odd = new URL('../../../support/odd-mcp-server.mjs', import.meta.url).pathname

type World = Awaited<ReturnType<typeof mcpWorld>>

async function played(world: World, options: { mode?: 'interactive' | 'auto' } = {}) {
  const run = await world.sw.runs.start({ agent: 'worker', input: 'go', ...options })
  const result = await run.result()
  const runes = await world.runes(run.sessionId)
  expect(auditRunes(runes)).toEqual([])
  return { run, result, runes }
}

const resultsIn = (runes: readonly Rune[]) => runes.flatMap((r) => (r.kind === 'tool.result' ? [r.payload] : []))

/** Takes ten minutes and reports all the time. */
const longCall = { duration: 600, steps: 3_000 }

/** Waits until the server has reported: then the call is not only recorded, but with the server. */
async function hasReported(world: World, session_id: string) {
  const kinds = async () => {
    // Reports are gathered for a moment before they are recorded.
    await world.hand.advance(100)
    return (await world.runes(session_id)).map((r) => r.kind)
  }
  await expect.poll(kinds).toContain('tool.progress')
}

/** Its tools run without approval, so that what is tested is the rest. */
const free = { approval: 'never' as const }

describe('MCP: the reference servers', () => {
  test('a call, a structured result and an error of the tool are recorded', async () => {
    const world = await mcpWorld({ everything: referenceServers.everything(free) }, [
      call('everything.get-sum', { a: 2, b: 40 }),
      call('everything.get-structured-content', { location: 'Chicago' }),
      call('everything.get-resource-reference', { resourceType: 'Text', resourceId: -1 }),
    ])
    const { runes } = await played(world)
    const [sum, weather, failed] = resultsIn(runes)
    expect(sum).toMatchObject({ status: 'success', output: 'The sum of 2 and 40 is 42.' })
    expect(weather).toMatchObject({ status: 'success', output: { conditions: expect.any(String) } })
    expect(failed).toMatchObject({ status: 'error', error: expect.stringContaining('resourceId') })
    expect(runes.find((r) => r.kind === 'contract.moved' && r.payload.error_kind === 'tool')).toBeDefined()
  })

  test('models are told the schema of the server word for word, and arguments that do not fit it are not sent', async () => {
    let told: object | undefined
    const model = scriptedModel(({ tools }, answered) => {
      told = tools.find((t) => t.name === 'everything.get-sum')
      return answered === 0 ? call('everything.get-sum', { a: 'two' }) : say('done')
    })
    const mcp = { everything: referenceServers.everything(free) }
    const world = await createWorld({ agents: { worker: agent({ role: 'w', model, mcp: ['everything'] }) }, mcp })
    onTestFinished(() => world.end())
    const { runes } = await played(world)
    expect(told).toMatchObject({
      input_schema: {
        type: 'object',
        properties: { a: { type: 'number', description: 'First number' } },
        required: ['a', 'b'],
      },
    })
    expect(resultsIn(runes)).toEqual([
      expect.objectContaining({ status: 'error', error: expect.stringContaining('/a') }),
    ])
  })

  test('files of a real folder are written and read through the server', async () => {
    const folder = scratch()
    const path = join(folder, 'note.txt')
    const world = await mcpWorld({ files: referenceServers.filesystem(folder, free) }, [
      call('files.write_file', { path, content: 'hello' }),
      call('files.read_text_file', { path }),
      call('files.read_text_file', { path: '/etc/hostname' }),
    ])
    const { runes } = await played(world)
    expect(readFileSync(path, 'utf8')).toBe('hello')
    const [, read, outside] = resultsIn(runes)
    expect(read).toMatchObject({ status: 'success', output: { content: 'hello' } })
    expect(outside).toMatchObject({ status: 'error', error: expect.stringContaining('outside allowed') })
  })

  test('progress is recorded, and a cancel reaches the server', async () => {
    const world = await mcpWorld({ everything: referenceServers.everything({ ...free, trusted: true }) }, [
      call('everything.trigger-long-running-operation', longCall),
    ])
    const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
    await hasReported(world, run.sessionId)
    await run.cancel('enough')
    expect(await run.result()).toMatchObject({ status: 'canceled' })
    const runes = await world.runes(run.sessionId)
    expect(resultsIn(runes)).toEqual([expect.objectContaining({ status: 'cancelled' })])
    expect(auditRunes(runes)).toEqual([])
  })

  test('a question of the server is an interaction, and the server gets its answer', async () => {
    const world = await mcpWorld({ everything: referenceServers.everything(free) }, [
      call('everything.trigger-elicitation-request'),
    ])
    const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
    const opened = await world.until(run.sessionId, (r) => r.kind === 'interaction.opened')
    expect(opened).toMatchObject({ payload: { interaction_kind: 'ecs', request: { type: 'form' } } })
    // Longer than any timeout of the tool: a person may take their time.
    await world.hand.advance(10 * 60_000)
    const wrong = world.sw.inbox.reply(opened.interaction_id ?? '', {
      reply: { action: 'approve', data: { nonsense: 1 } },
    })
    await expect(wrong).rejects.toMatchObject({ code: 'reply_unfit' })
    await world.sw.inbox.reply(opened.interaction_id ?? '', { reply: { action: 'approve', data: { name: 'Ada' } } })
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    const runes = await world.runes(run.sessionId)
    expect(JSON.stringify(resultsIn(runes))).toContain('Ada')
    expect(auditRunes(runes)).toEqual([])
  })

  test('an auto run answers no question: the server is told, and goes on', async () => {
    const world = await mcpWorld({ everything: referenceServers.everything(free) }, [
      call('everything.trigger-elicitation-request'),
    ])
    const { runes, result } = await played(world, { mode: 'auto' })
    expect(result.status).toBe('succeeded')
    expect(runes.some((r) => r.kind === 'interaction.opened')).toBe(false)
    expect(resultsIn(runes)).toHaveLength(1)
  })

  test('cancelled while it asks: the question is withdrawn, and the outcome is not recorded as not happened', async () => {
    const world = await mcpWorld({ everything: referenceServers.everything(free) }, [
      call('everything.trigger-elicitation-request'),
    ])
    const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
    const opened = await world.until(run.sessionId, (r) => r.kind === 'interaction.opened')
    await run.cancel('enough')
    expect(await run.result()).toMatchObject({ status: 'canceled' })
    const runes = await world.runes(run.sessionId)
    const withdrawn = runes.find((r) => r.kind === 'interaction.withdrawn')
    expect(withdrawn?.interaction_id).toBe(opened.interaction_id)
    expect(resultsIn(runes)).toHaveLength(1)
    expect(auditRunes(runes)).toEqual([])
  })

  test('killed in the middle of a call that cannot be repeated: the outcome is unknown, and it is not called again', async () => {
    const file = join(scratch(), 'memory.json')
    const everything = referenceServers.everything(free)
    const world = await mcpWorld({ everything, memory: referenceServers.memory(file, free) }, [
      call('everything.trigger-long-running-operation', longCall),
      call('everything.echo', { message: 'here again' }),
    ])
    const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
    await hasReported(world, run.sessionId)
    const [pid] = await childrenWith('server-everything')
    process.kill(pid ?? 0, 'SIGKILL')

    const opened = await world.until(run.sessionId, (r) => r.kind === 'interaction.opened')
    expect(opened).toMatchObject({ payload: { interaction_kind: 'settlement' } })
    expect(resultsIn(await world.runes(run.sessionId))).toEqual([])
    await world.sw.inbox.reply(opened.interaction_id ?? '', { reply: { outcome: 'did_not', reason: 'it was killed' } })

    // The next call finds a server that was started again.
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    const [next] = await childrenWith('server-everything')
    expect(next).not.toBe(pid)
    const [lost, echoed] = resultsIn(await world.runes(run.sessionId))
    expect(lost).toMatchObject({ status: 'error', error: 'it was killed' })
    expect(echoed).toMatchObject({ status: 'success', output: 'Echo: here again' })
  })

  test('killed in the middle of a call that only reads: it failed, and the model may call again', async () => {
    const world = await mcpWorld({ everything: referenceServers.everything({ trusted: true }) }, [
      call('everything.trigger-long-running-operation', longCall),
      call('everything.echo', { message: 'still here' }),
    ])
    const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
    await hasReported(world, run.sessionId)
    process.kill((await childrenWith('server-everything'))[0] ?? 0, 'SIGKILL')
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    expect(resultsIn(await world.runes(run.sessionId)).map((r) => r.status)).toEqual(['error', 'success'])
  })
})

describe('MCP: an untrusted server', () => {
  function oddServer(more: object = {}) {
    const calls = join(scratch(), 'calls')
    writeFileSync(calls, '')
    const server = { command: process.execPath, args: [odd], env: { ODD_CALLS: calls }, ...more }
    return { server, calls: () => readFileSync(calls, 'utf8').trim().split('\n').filter(Boolean) }
  }

  test('its hints change nothing: approval is asked for a tool that calls itself read-only', async () => {
    const { server, calls } = oddServer()
    const world = await mcpWorld({ odd: server }, [call('odd.charge')])
    const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
    const opened = await world.until(run.sessionId, (r) => r.kind === 'interaction.opened')
    expect(opened).toMatchObject({ payload: { interaction_kind: 'approval', request: { irreversible: true } } })
    expect(calls()).toEqual([])
  })

  test('two calls with the same arguments are two actions, since they are not declared to be one', async () => {
    const { server, calls } = oddServer(free)
    const world = await mcpWorld({ odd: server }, [call('odd.charge'), call('odd.charge')])
    const { runes } = await played(world)
    expect(resultsIn(runes).map((r) => r.status)).toEqual(['success', 'success'])
    expect(calls()).toHaveLength(2)
  })

  test('an error of the protocol is an error with its code', async () => {
    const { server } = oddServer(free)
    const { runes } = await played(await mcpWorld({ odd: server }, [call('odd.refuse')]))
    expect(resultsIn(runes)).toEqual([
      expect.objectContaining({ status: 'error', error: expect.stringMatching(/No such card.*-32602/) }),
    ])
    expect(runes.find((r) => r.kind === 'contract.moved' && r.payload.error_kind === 'protocol')).toBeDefined()
  })

  test('it dies with the call: an auto run fails as unknown, and the server saw one call', async () => {
    const { server, calls } = oddServer(free)
    const { runes, result } = await played(await mcpWorld({ odd: server }, [call('odd.die')]), { mode: 'auto' })
    expect(result).toMatchObject({ status: 'failed', errorCode: 'OUTCOME_UNKNOWN' })
    expect(resultsIn(runes)).toEqual([expect.objectContaining({ status: 'unknown' })])
    expect(calls()).toHaveLength(1)
  })

  test('F-02 MCP: an answer that cannot be read leaves the outcome unknown, and says why', async () => {
    const { server, calls } = oddServer(free)
    const { runes } = await played(await mcpWorld({ odd: server }, [call('odd.garble')]), { mode: 'auto' })
    expect(resultsIn(runes)).toEqual([expect.objectContaining({ status: 'unknown' })])
    const asked = runes.find((r) => r.kind === 'interaction.opened')
    const said = expect.stringContaining('odd answered with what cannot be read')
    expect(asked?.payload).toMatchObject({ evidence: [{}, { source: 'tool', message: said }] })
    expect(calls()).toHaveLength(1)
  })

  test("F-01 MCP: a result with isError is the server's own statement, and the call has failed", async () => {
    const { server } = oddServer(free)
    const { runes } = await played(await mcpWorld({ odd: server }, [call('odd.fail')]))
    expect(resultsIn(runes)).toEqual([expect.objectContaining({ status: 'error', error: 'The card is blocked.' })])
  })

  test('a tool that is described differently while it runs is not called under the old description', async () => {
    const { server, calls } = oddServer(free)
    const world = await mcpWorld({ odd: server }, [call('odd.turn'), call('odd.charge')])
    const { runes } = await played(world)
    expect(resultsIn(runes)).toEqual([
      expect.objectContaining({ status: 'success' }),
      expect.objectContaining({ status: 'error', error: expect.stringContaining('changed its definition') }),
    ])
    expect(calls()).toEqual([expect.stringMatching(/^turn /)])
  })

  test('F-107 MCP: an approval does not cover a definition that changed across a restart; it is asked again', async () => {
    const { server, calls } = oddServer()
    const mcp = { odd: server }
    const world = await mcpWorld(mcp, [call('odd.charge')], { store: 'sqlite' })
    const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
    const opened = await world.until(run.sessionId, (r) => r.kind === 'interaction.opened')
    const env = { ...server.env, ODD_DESCRIPTION: 'Charges a card, and more.' }
    await world.restart({ mcp: { odd: { ...server, env } } })
    await world.sw.inbox.reply(opened.interaction_id ?? '', { reply: { decision: 'approve' } })
    const isOther = (id?: string) => id !== opened.interaction_id
    const again = await world.until(run.sessionId, (r) => r.kind === 'interaction.opened' && isOther(r.interaction_id))
    expect(again.payload).toMatchObject({ prompt: expect.stringContaining('that approval is void') })
    expect(resultsIn(await world.runes(run.sessionId))).toEqual([])
    expect(calls()).toEqual([])
  })

  test('exactly the command line of the config is started, and one that cannot be is named', async () => {
    const { server } = oddServer(free)
    await mcpWorld({ odd: server }, [])
    const [pid] = await childrenWith('odd-mcp-server')
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean)).toEqual([process.execPath, odd])
    const absent = mcpWorld({ odd: { command: 'no-such-program; touch x', args: [] } }, [])
    await expect(absent).rejects.toMatchObject({ code: 'server_unusable', details: { server: 'odd' } })
    // One that ends at once is heard: it knows best what is wrong with its arguments.
    const complaining = ['-e', 'console.error("There is no folder /attic."); process.exitCode = 1']
    const refused = mcpWorld({ odd: { command: process.execPath, args: complaining } }, [])
    await expect(refused).rejects.toThrow(/odd could not be reached: .*It said: There is no folder \/attic\./)
    const nowhere = mcpWorld({ odd: { url: `http://127.0.0.1:${await freePort()}/mcp` } }, [])
    await expect(nowhere).rejects.toThrow('ECONNREFUSED')
  })
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

describe('MCP: over HTTP', () => {
  async function served(port: number) {
    const { args = [] } = referenceServers.everything()
    const child = spawn(process.execPath, [...args, 'streamableHttp'], {
      env: { ...process.env, PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const said = child.stderr.setEncoding('utf8')
    for await (const chunk of said) if (/listening/i.test(String(chunk))) break
    child.stderr.resume()
    const ended = once(child, 'exit')
    return {
      async kill() {
        child.kill('SIGKILL')
        await ended
      },
    }
  }

  test('a call works, fails when the server dies in the middle of it, and works again after a restart of the server', async () => {
    const port = await freePort()
    let server = await served(port)
    const url = `http://127.0.0.1:${port}/mcp`
    const world = await mcpWorld({ remote: { url, ...free } }, [
      call('remote.get-sum', { a: 20, b: 22 }),
      call('remote.trigger-long-running-operation', longCall),
      call('remote.echo', { message: 'here again' }),
    ])
    const run = await world.sw.runs.start({ agent: 'worker', input: 'go' })
    await hasReported(world, run.sessionId)
    await server.kill()
    const opened = await world.until(run.sessionId, (r) => r.kind === 'interaction.opened')
    expect(opened).toMatchObject({ payload: { interaction_kind: 'settlement' } })
    server = await served(port)
    onTestFinished(() => server.kill())
    await world.sw.inbox.reply(opened.interaction_id ?? '', { reply: { outcome: 'did_not' } })
    expect(await run.result()).toMatchObject({ status: 'succeeded' })
    const results = resultsIn(await world.runes(run.sessionId))
    expect(results.map((r) => r.status)).toEqual(['success', 'error', 'success'])
    expect(results[2]).toMatchObject({ output: 'Echo: here again' })
  })
})
