import { listGoals } from '../api/goals.ts'
import { useLive } from '../live.ts'
import { CopyCommand } from '../parts/copy.tsx'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { Empty, Loading, Trouble } from '../parts/states.tsx'
import { Since } from '../parts/time.tsx'
import { useAsked } from '../use-asked.ts'

/** Every goal, those under way first. */
export function GoalsPage() {
  const { reloads } = useLive()
  const { value, problem, again } = useAsked(`goals ${reloads}`, (signal) => listGoals(signal))
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
