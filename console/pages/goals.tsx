import { endNames } from '../../src/kernel/machine.ts'
import { goalMachine } from '../../src/machines/goal.ts'
import { type Goal, goalEndpoints } from '../../src/wire/goal.ts'
import { type Answer, ask } from '../api/request.ts'
import { useLive } from '../live.ts'
import { CopyCommand } from '../parts/copy.tsx'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { Empty, Loading, Trouble } from '../parts/states.tsx'
import { Since } from '../parts/time.tsx'
import { useAsked } from '../use-asked.ts'

/** Those that are under way, then those that are over, each the one that moved last first. */
async function listGoals(signal: AbortSignal): Promise<Answer<readonly Goal[]>> {
  const queries = [{}, ...endNames(goalMachine).map((state) => ({ state }))]
  const answers = await Promise.all(queries.map((query) => ask(goalEndpoints.listGoals, { query }, signal)))
  const refused = answers.find((answer) => !answer.ok)
  if (refused !== undefined) return refused
  return { ok: true, value: answers.flatMap((answer) => (answer.ok ? answer.value.items : [])), server_at: null }
}

/** Every goal, those under way first. */
export function GoalsPage() {
  const { reloads } = useLive()
  const { value, problem, again } = useAsked(`goals ${reloads}`, listGoals)
  return (
    <>
      <div className="head">
        <h1>Goals</h1>
        <CopyCommand command="statewright goal list" />
      </div>
      {problem !== undefined && <Trouble problem={problem} retry={again} />}
      {value === undefined && problem === undefined && <Loading what="the goals" />}
      {value?.length === 0 && (
        <Empty title="No goals yet.">
          <p>A goal is planned, judged, carried out task by task, and reviewed:</p>
          <CopyCommand command='statewright goal "…"' />
        </Empty>
      )}
      <ul className="machine-list">
        {value?.map(({ goal_id, goal, state, since, tasks, reason }) => (
          <li key={goal_id}>
            <h2>
              <Link href={`/g/${goal_id}`}>{goal}</Link>
            </h2>
            <p className="row">
              <Mark machine="goal" state={state} /> <Since at={since} />
              <span className="faint">
                {tasks.filter((task) => task.state === 'completed').length} of {tasks.length} tasks done
              </span>
            </p>
            {reason !== null && <p>{reason}</p>}
          </li>
        ))}
      </ul>
    </>
  )
}
