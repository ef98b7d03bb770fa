import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openStore } from '../../src/app/open-store.ts'
import { startBank } from './bank.ts'
import { createClient } from './client.ts'
import { createLives } from './lives.ts'

export interface KillLoopOptions {
  readonly folder: string
  readonly kills: number
  readonly runs: number
  readonly chance: () => number
  readonly tell?: (line: string) => void
}

const most_open = 24
const longest_life_ms = 400
/** Some lives end while they open the store, some soon after, while they recover what the life before left behind. */
const [killed_opening, killed_early] = [0.15, 0.5]

/**
 * One `statewright serve` on a SQLite file after the other, each killed while
 * it is busy; a client that submits and answers over HTTP; a bank that
 * witnesses effects. The last life is left alone until every run is over.
 */
export async function playKills({ folder, kills, runs, chance, tell = () => {} }: KillLoopOptions) {
  const store = `sqlite:${join(folder, 'statewright.db')}`
  const bank = await startBank()
  const client = createClient(bank, chance)
  const lives = createLives({ folder, store, bankPort: bank.port, spares: 1 })
  let isOn = true
  let [killed, busy, ended] = [0, 0, 0]
  /** Runs keep pace with the kills, so that both end together. */
  const due = () => Math.min(runs, Math.ceil(((killed + 1) / kills) * runs))
  const submitters = Array.from({ length: 4 }, () =>
    looping(async () => {
      if (client.submitted() < due() && client.open() < most_open) await client.submit()
      else await delay(20)
    }),
  )
  const others = [looping(client.answer, 50), looping(client.look, 200), looping(client.repeat, 300)]

  while (killed < kills) {
    const life = lives.begin()
    const lot = chance()
    if (lot < killed_opening) await Promise.race([life.ready, delay(longest_life_ms * chance())])
    else {
      await life.ready
      client.meet(life)
      while (lot > killed_early && client.jobs.size < due() && !life.isOver()) await delay(10)
      await delay(longest_life_ms * chance())
    }
    if (life.isOver()) ended += 1
    else if (client.open() > 0) busy += 1
    await life.kill()
    client.meet(undefined)
    killed += 1
    if (killed % 20 === 0)
      tell(
        `${killed} of ${kills} kills, ${client.submitted()} runs, ${client.open()} open, ${bank.doubled().length} doubled`,
      )
  }

  const last = lives.begin()
  await last.ready
  client.meet(last)
  const isOver = () => client.submitted() >= runs && client.jobs.size >= runs && client.open() === 0
  const isHopeless = () => last.isOver() || client.report().stuck.length + client.report().surprises.length > 0
  while (!isOver() && !isHopeless()) await delay(50)
  isOn = false
  client.close()
  await Promise.all([...submitters, ...others])
  const end = await last.stop()
  await lives.close()
  await bank.close()

  const output = lives.output()
  return {
    killed,
    /** Kills that met runs under way. */
    busy,
    ...client.report(),
    /** Lives that ended by themselves. */
    ended,
    end,
    bookings: bank.bookings.length,
    doubled: bank.doubled(),
    ...(await compare()),
    store,
    output,
    stacks: output.match(/^.*\n(?:\s+at .+\n)+/gm) ?? [],
  }

  async function looping(work: () => Promise<void>, pause_ms = 0): Promise<void> {
    while (isOn) {
      await work()
      if (pause_ms > 0) await delay(pause_ms)
    }
  }

  /** The acknowledged answers against the record. */
  async function compare() {
    const { runelog } = await openStore(store)
    const recorded = new Set<string>()
    const answered = new Set<string>()
    for (const session_id of await runelog.sessionIds())
      for (const rune of await runelog.read(session_id)) {
        if (rune.kind === 'run.submitted' && rune.run_id) recorded.add(rune.run_id)
        if (rune.interaction_id && rune.to === 'answered') answered.add(rune.interaction_id)
      }
    await runelog.close()
    return {
      /** Acknowledged submissions and answers that the record does not have. */
      lost: [
        ...[...client.jobs.keys()].filter((run_id) => !recorded.has(run_id)),
        ...[...client.answers.keys()].filter((interaction_id) => !answered.has(interaction_id)),
      ],
      /** Runs that the client does not know: a submission took effect twice. */
      unknown: [...recorded].filter((run_id) => !client.jobs.has(run_id)),
    }
  }
}
