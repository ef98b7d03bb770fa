import { planEndpoints } from '../../src/wire/plan.ts'
import { ask } from '../api/request.ts'
import { useLive } from '../live.ts'
import { CopyCommand } from '../parts/copy.tsx'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { Empty, Loading, Trouble } from '../parts/states.tsx'
import { Since } from '../parts/time.tsx'
import { useAsked } from '../use-asked.ts'

/** Every coordination: from an intent to a frozen plan, or to the reason why there is none. */
export function PlansPage() {
  const { reloads } = useLive()
  const { value, problem, again } = useAsked(`plans ${reloads}`, (signal) => ask(planEndpoints.listPlans, {}, signal))
  return (
    <>
      <div className="head">
        <h1>Plans</h1>
        <CopyCommand command="statewright plan show" />
      </div>
      {problem !== undefined && <Trouble problem={problem} retry={again} />}
      {value === undefined && problem === undefined && <Loading what="the plans" />}
      {value?.items.length === 0 && (
        <Empty title="No plans yet.">
          <p>A plan is judged before anything of it runs. Write an intent and hand it in:</p>
          <CopyCommand command="statewright plan init" />
        </Empty>
      )}
      {value !== undefined && value.items.length > 0 && (
        <div className="scroll">
          <table className="plain">
            <thead>
              <tr>
                <th scope="col">State</th>
                <th scope="col">Intent</th>
                <th scope="col">Plan</th>
                <th scope="col">Since</th>
              </tr>
            </thead>
            <tbody>
              {value.items.map(({ coordination_id, intent_id, state, updated_at }) => (
                <tr key={coordination_id}>
                  <td>
                    <Mark machine="coordination" state={state} />
                  </td>
                  <td>{intent_id}</td>
                  <td>
                    <Link href={`/p/${coordination_id}`}>{coordination_id}</Link>
                  </td>
                  <td>
                    <Since at={updated_at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}
