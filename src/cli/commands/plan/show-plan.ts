import { getPlan, listPlans } from '../../../surface/operations/plans.ts'
import type { Arguments, Command } from '../../command.ts'
import { exits } from '../../exits.ts'
import type { Io } from '../../host.ts'
import { print } from '../../print.ts'
import { columns } from '../../render/columns.ts'
import { ago, clockTime } from '../../render/when.ts'
import { resolveId } from '../../resolve-id.ts'
import { take } from '../../with-store.ts'
import { tellPlan } from './tell-plan.ts'
import { withPlans } from './with-plans.ts'

export async function showPlan(command: Command, args: Arguments, io: Io): Promise<number> {
  const [given] = take(command, args, 0, 1)
  return withPlans(command, args, io, false, async (client) => {
    if (given === undefined) {
      const page = await client.call(listPlans, { query: { limit: 200 } })
      const now = io.host.now()
      print(io, args, page, () =>
        columns(page.items.map((row) => [row.coordination_id, row.state, ago(row.updated_at, now), row.intent_id])),
      )
      return exits.ok
    }
    const { id: coordination_id } = await resolveId(client, given, 'plan')
    const card = await client.call(getPlan, { params: { coordination_id } })
    if (args.values.moves === true && args.values.json !== true)
      for (const { from, to, at, duration_ms, guards } of card.moves) {
        io.out(`${clockTime(at)}  ${from} → ${to}  ${duration_ms} ms`)
        for (const { guard_name, passed, reason } of guards)
          io.out(`          ${passed ? 'holds' : 'does not hold'}: ${guard_name}. ${reason}`)
      }
    return tellPlan(client, card, args, io)
  })
}
