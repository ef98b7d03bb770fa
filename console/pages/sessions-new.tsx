import { useState } from 'react'
import { agentEndpoints, runEndpoints } from '../../src/wire/run.ts'
import { ask } from '../api/request.ts'
import { useAct } from '../parts/act.tsx'
import { Trouble } from '../parts/states.tsx'
import { go } from '../route.ts'
import { useAsked } from '../use-asked.ts'

/** Gives an agent its first message; the session comes with it. */
export function NewSession() {
  const [isOpen, setOpen] = useState(false)
  if (!isOpen)
    return (
      <button type="button" className="primary" onClick={() => setOpen(true)}>
        New session
      </button>
    )
  return <Form leave={() => setOpen(false)} />
}

function Form({ leave }: { leave: () => void }) {
  const { value: agents, problem: none } = useAsked('agents', (signal) => ask(agentEndpoints.listAgents, {}, signal))
  const [agent, setAgent] = useState('')
  const [input, setInput] = useState('')
  const { isBusy, problem: refused, run } = useAct()
  const problem = refused ?? none
  const chosen = agent === '' ? (agents?.items[0]?.name ?? '') : agent
  return (
    <form
      className="new-session"
      onSubmit={(event) => {
        event.preventDefault()
        void run(
          () => ask(runEndpoints.submitRun, { body: { agent: chosen, input } }),
          ({ session_id }) => go(`/s/${session_id}`),
        )
      }}
    >
      <label>
        Agent
        <select value={chosen} onChange={({ target }) => setAgent(target.value)}>
          {agents?.items.map(({ name, role }) => (
            <option key={name} value={name}>
              {name === role ? name : `${name} (${role})`}
            </option>
          ))}
        </select>
      </label>
      <label className="grow">
        What should it do?
        <input value={input} onChange={({ target }) => setInput(target.value)} />
      </label>
      <button type="submit" className="primary" disabled={isBusy || chosen === '' || input.trim() === ''}>
        Start
      </button>
      <button type="button" onClick={leave}>
        Leave it
      </button>
      {problem !== undefined && <Trouble problem={problem} />}
    </form>
  )
}
