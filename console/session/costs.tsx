import { exactSpan } from '../../src/observation/durations.ts'
import type { SessionCard } from '../../src/wire/session.ts'
import { amount } from '../words.ts'
import type { SessionLog } from './log.ts'

/** Used budgets, against their limits. */
export function Costs({ session, log }: { session: SessionCard; log: SessionLog }) {
  const { costs, budget } = session
  const prompts = log.runes.filter((rune) => rune.kind === 'interaction.opened').length
  return (
    <dl className="costs">
      <Cost name="tokens" used={costs.tokens} limit={budget?.tokens} say={amount} />
      <Cost name="tool calls" used={costs.tool_calls} limit={budget?.tool_calls} say={amount} />
      <Cost name="working time" used={costs.wall_time_ms} limit={budget?.wall_time_ms} say={exactSpan} />
      <Cost
        name={log.isWhole() ? 'questions asked' : 'questions asked, in what is loaded'}
        used={prompts}
        limit={undefined}
        say={amount}
      />
    </dl>
  )
}

interface Shown {
  readonly name: string
  readonly used: number
  readonly limit: number | undefined
  readonly say: (n: number) => string
}

function Cost({ name, used, limit, say }: Shown) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="number">
        {say(used)}
        {limit === undefined ? '' : ` of ${say(limit)}`}
        {limit !== undefined && (
          <meter min={0} max={Math.max(limit, 1)} value={used} aria-label={`${name} against the budget`} />
        )}
      </dd>
    </div>
  )
}
