import { useEffect } from 'react'
import { coordinationMachine } from '../../src/machines/coordination.ts'
import { planEndpoints } from '../../src/wire/plan.ts'
import { ask } from '../api/request.ts'
import { InteractionCard } from '../inbox/card.tsx'
import { useLive } from '../live.ts'
import { CopyCommand } from '../parts/copy.tsx'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { Loading, Trouble } from '../parts/states.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { Failure } from '../plan/failure.tsx'
import { GraphTab } from '../plan/graph-tab.tsx'
import { Progress } from '../plan/progress.tsx'
import { QuestionsTab } from '../plan/questions-tab.tsx'
import { ReviewTab } from '../plan/review-tab.tsx'
import { RulesTab } from '../plan/rules-tab.tsx'
import { TapeTab } from '../plan/tape-tab.tsx'
import { usePlace } from '../route.ts'
import { useAsked } from '../use-asked.ts'
import { NotFound } from './not-found.tsx'

const tabs = [
  ['graph', 'Graph'],
  ['rules', 'Rules'],
  ['questions', 'Questions'],
  ['review', 'Review pack'],
  ['tape', 'Tape'],
] as const

/** One plan: its graph, its verdicts with reasons, the cause of a block, and whether it is frozen. */
export function PlanPage({ coordination_id }: { coordination_id: string }) {
  const { changed } = useLive()
  const { query } = usePlace()
  const {
    value: plan,
    problem,
    again,
  } = useAsked(`plan ${coordination_id}`, (signal) =>
    ask(planEndpoints.getPlan, { params: { coordination_id } }, signal),
  )
  const version = String(plan?.moves.length)
  const event_id = changed.get(plan?.session_id ?? '')?.updated_event_id
  // A new event loads the plan again.
  useEffect(() => {
    if (event_id !== undefined) again()
  }, [again, event_id])
  if (plan === undefined) {
    if (problem?.status === 404) return <NotFound what={coordination_id} />
    return problem === undefined ? <Loading what="the plan" /> : <Trouble problem={problem} retry={again} />
  }
  const tab = query.get('tab') ?? 'graph'
  const shown = { coordination_id, version }
  const state = plan.state as keyof typeof coordinationMachine.states
  return (
    <>
      <div className="head">
        <h1>Plan {plan.intent_id}</h1>
        <CopyCommand command={`statewright plan show ${coordination_id}`} />
      </div>
      <p className="row">
        <Mark machine="coordination" state={plan.state} /> {coordinationMachine.states[state]?.meaning}
        <Link href={`/s/${plan.session_id}`}>session</Link>
        {plan.goal_id !== null && <Link href={`/g/${plan.goal_id}`}>goal</Link>}
      </p>
      <Progress plan={plan} />
      {plan.failure !== null && <Failure failure={plan.failure} />}
      {plan.waits_for !== null && (
        <InteractionCard interaction_id={plan.waits_for.interaction_id} version={version} isSelected onClosed={again} />
      )}
      <Tabs name="Parts of the plan" tabs={tabs} open={tab} />
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`} className="panel">
        {tab === 'graph' && <GraphTab {...shown} />}
        {tab === 'rules' && <RulesTab {...shown} />}
        {tab === 'questions' && <QuestionsTab {...shown} />}
        {tab === 'review' && <ReviewTab {...shown} />}
        {tab === 'tape' && <TapeTab {...shown} plan={plan} />}
      </div>
    </>
  )
}
