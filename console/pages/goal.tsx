import { useEffect, useState } from 'react'
import { goalMachine } from '../../src/machines/goal.ts'
import { exactSpan } from '../../src/observation/durations.ts'
import type { Goal } from '../../src/wire/goal.ts'
import { goalEndpoints } from '../../src/wire/goal.ts'
import { ask } from '../api/request.ts'
import { Critiques } from '../goal/critiques.tsx'
import { InteractionCard } from '../inbox/card.tsx'
import { useLive } from '../live.ts'
import { verdictOn } from '../machines/legal.ts'
import { useAct } from '../parts/act.tsx'
import { CopyCommand } from '../parts/copy.tsx'
import { JsonBlock } from '../parts/json.tsx'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { Loading, Trouble } from '../parts/states.tsx'
import { LaneGraph } from '../plan/lane-graph.tsx'
import { looks, toneOf } from '../tones.ts'
import { useAsked } from '../use-asked.ts'
import { amount } from '../words.ts'
import { NotFound } from './not-found.tsx'

/** One goal: its tasks with their states, owners and waits, the findings of its critic, and its budget. */
export function GoalPage({ goal_id }: { goal_id: string }) {
  const { changed } = useLive()
  const {
    value: goal,
    problem,
    again,
  } = useAsked(`goal ${goal_id}`, (signal) => ask(goalEndpoints.getGoal, { params: { goal_id } }, signal))
  const [chosen, setChosen] = useState<string>()
  const version = changed.get(goal?.session_id ?? '')?.updated_event_id
  // A new version loads the goal again.
  useEffect(() => again(), [again, version])
  const act = useAct()
  if (goal === undefined) {
    if (problem?.status === 404) return <NotFound what={goal_id} />
    return problem === undefined ? <Loading what="the goal" /> : <Trouble problem={problem} retry={again} />
  }
  const task = goal.tasks.find(({ task_id }) => task_id === chosen)
  const canStop = verdictOn(goalMachine, goal.state, 'user_cancel')
  return (
    <>
      <div className="head">
        <h1>{goal.goal}</h1>
        <CopyCommand command={`statewright goal show ${goal_id}`} />
      </div>
      <p className="row">
        <Mark machine="goal" state={goal.state} /> {goalMachine.states[goal.state].meaning}
        <Link href={`/s/${goal.session_id}`}>session</Link>
        <button
          type="button"
          disabled={act.isBusy || !canStop.isLegal}
          title={canStop.isLegal ? '' : canStop.reason}
          onClick={() => void act.run(() => ask(goalEndpoints.cancelGoal, { params: { goal_id } }), again)}
        >
          Stop the goal
        </button>
      </p>
      {act.problem !== undefined && <Trouble problem={act.problem} />}
      {goal.reason !== null && <p className="current-line">{goal.reason}</p>}
      {goal.waits_for.map(({ interaction_id }, i) => (
        <InteractionCard key={interaction_id} interaction_id={interaction_id} isSelected={i === 0} onClosed={again} />
      ))}
      <Budgets goal={goal} />
      <h2>Tasks</h2>
      <div className={task === undefined ? '' : 'split'}>
        <TaskGraph goal={goal} chosen={chosen} choose={setChosen} />
        {task !== undefined && <TaskFacts task={task} goal={goal} />}
      </div>
      <h2>Critique</h2>
      {goal.iterations === 0 ? (
        <p>Nothing has been reviewed yet.</p>
      ) : (
        <Critiques goal_id={goal_id} iterations={goal.iterations} />
      )}
      <p className="faint">
        {goal.drafts} drafts of the plan, {goal.iterations} reviews by the critic.
      </p>
    </>
  )
}

function TaskGraph({ goal, chosen, choose }: { goal: Goal; chosen: string | undefined; choose: (id: string) => void }) {
  const waiting = new Set(goal.waits_for.map(({ task_id }) => task_id))
  const idOf = new Map(
    goal.tasks.flatMap(({ task_id, task }) => [[task_id, task_id] as const, [task, task_id] as const]),
  )
  if (goal.tasks.length === 0) return <p>There are no tasks before there is a plan.</p>
  return (
    <LaneGraph
      name="Tasks by owner"
      nodes={goal.tasks.map(({ task_id, title, state, owner, kind }) => ({
        id: task_id,
        lane: owner ?? kind,
        className: `is-${toneOf('task', state)}`,
        title: `${title}: ${state}`,
        label: (
          <>
            <span className="lane-kind">
              {looks[toneOf('task', state)].sign} {state}
              {waiting.has(task_id) && ` · ${looks.waiting.meaning}`}
            </span>
            <span className="lane-label">{title}</span>
          </>
        ),
      }))}
      edges={goal.tasks.flatMap(({ task_id, depends_on }) =>
        depends_on.map((before) => ({ from: idOf.get(before) ?? before, to: task_id })),
      )}
      chosen={chosen}
      choose={choose}
    />
  )
}

function TaskFacts({ task, goal }: { task: Goal['tasks'][number]; goal: Goal }) {
  return (
    <aside className="details" aria-label={task.title}>
      <h2>{task.title}</h2>
      <p>
        <Mark machine="task" state={task.state} /> {task.kind} · {task.priority} · {task.owner ?? 'no owner'}
      </p>
      <p>{task.description}</p>
      {task.condition !== null && (
        <p>
          Only if: {task.condition.text}
          {task.condition.decided_by !== null &&
            ` (${task.condition.holds ?? 'undecided'}, by ${task.condition.decided_by})`}
        </p>
      )}
      {task.reason !== null && <p>{task.reason}</p>}
      {task.retries !== null && <p>It retries {task.retries}.</p>}
      {task.instead_of !== null && <p>It stands in for {task.instead_of}.</p>}
      {task.run_id !== null && <Link href={`/s/${goal.session_id}?tab=timeline`}>run {task.run_id}</Link>}
      {task.result !== null && <JsonBlock value={task.result} name="result" />}
    </aside>
  )
}

function Budgets({ goal }: { goal: Goal }) {
  const used: Readonly<Record<string, number>> = { iterations: goal.iterations, ...goal.used }
  const limits: Readonly<Record<string, number | undefined>> = goal.budget
  const names = [...new Set([...Object.keys(goal.used), ...Object.keys(limits)])]
  return (
    <dl className="costs">
      {names.map((name) => {
        const say = name.endsWith('_ms') ? exactSpan : amount
        const limit = limits[name]
        const spent = used[name] ?? 0
        return (
          <div key={name}>
            <dt>{name.replaceAll('_', ' ').replace(/ ms$/, '')}</dt>
            <dd className="number">
              {say(spent)}
              {limit === undefined ? '' : ` of ${say(limit)}`}
              {limit !== undefined && (
                <meter min={0} max={Math.max(1, limit)} value={spent} aria-label={`${name} against the budget`} />
              )}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}
