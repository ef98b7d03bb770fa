import { writeSync } from 'node:fs'
import { createTestClock } from '../../src/adapters/system/testing.ts'
import { openStore } from '../../src/app/open-store.ts'
import { createStatewright } from '../../src/app/statewright.ts'
import { drive } from './driver.ts'
import { dyingStore } from './dying-store.ts'
import type { Life } from './life.ts'
import { createAgents, plays } from './plays.ts'
import { quiet } from './quiet.ts'
import { createTools } from './tools.ts'
import { connectOutside } from './witness-client.ts'

/**
 * One life as a process of its own, on a SQLite file. It kills itself, with a
 * signal that cannot be caught, at the point it is told to; untold, it drives
 * everything to the end.
 */
const [folder = '', world = '', diesAt = '0'] = process.argv.slice(2)
const say = (text: string) => writeSync(1, `${text}\n`)

function createLife(): Life {
  const never = new Promise<never>(() => {})
  let passed = 0
  return {
    point(label) {
      passed += 1
      if (passed !== Number(diesAt)) return Promise.resolve()
      say(`dies at ${passed}: ${label}`)
      process.kill(process.pid, 'SIGKILL')
      return never
    },
    alive: () => Promise.resolve(),
    death: never,
    end() {},
    passed: () => passed,
    isOver: () => false,
  }
}

const life = createLife()
const { outside, pending, end } = connectOutside(folder, world)
const hand = createTestClock(Date.now())
const disk = await openStore(`sqlite:${folder}/${world}.db`)
const roles = plays.flatMap((play) => play.roles)
const sw = await createStatewright({
  store: dyingStore(disk, life, outside),
  agents: createAgents(roles, createTools(outside, life)),
  warn: (message, details) => say(`problem: ${message} ${JSON.stringify(details)}`),
  ports: { clock: hand.clock, timers: hand.timers, random: () => 1 },
})
await drive({ sw, outside, quiet: () => quiet(life, pending), letTimePass: () => hand.advance(16 * 60_000) }, roles)
await sw.close()
await disk.runelog.close()
end()
say(`lived through ${life.passed()} points`)
