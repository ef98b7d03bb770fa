import { useState } from 'react'
import type { BundleVerdict } from '../../src/runes/bundle.ts'
import { addressOf, streamPaths } from '../../src/wire/endpoint.ts'
import { readLines } from '../../src/wire/server-sent.ts'
import { authorization, type Problem, problemOf } from '../api/request.ts'
import { Trouble } from '../parts/states.tsx'
import { At } from '../parts/time.tsx'
import { count, plural } from '../words.ts'
import { BadEvent, Redactions } from './on-server.tsx'
import { verifyBundle } from './verify-bundle.ts'

type State =
  | { readonly is: 'idle' }
  | { readonly is: 'busy'; readonly events: number }
  | { readonly is: 'done'; readonly verdict: BundleVerdict; readonly source: string }
  | { readonly is: 'refused'; readonly problem: Problem }

/** Recomputes every hash here, from a bundle of the server or from a file, without trust in the server. */
export function InBrowser({ session_id }: { session_id: string | undefined }) {
  const [state, setState] = useState<State>({ is: 'idle' })

  async function check(body: ReadableStream<Uint8Array>, source: string) {
    setState({ is: 'busy', events: 0 })
    const verdict = await verifyBundle(readLines(body), (events) => setState({ is: 'busy', events }))
    setState({ is: 'done', verdict, source })
  }
  async function fetchBundle(id: string) {
    const response = await fetch(addressOf(streamPaths.bundle, { session_id: id }), { headers: authorization() })
    if (!response.ok || response.body === null) return setState({ is: 'refused', problem: await problemOf(response) })
    await check(response.body, 'the bundle that the server gave')
  }
  async function download(id: string) {
    const response = await fetch(addressOf(streamPaths.bundle, { session_id: id }), { headers: authorization() })
    if (!response.ok) return setState({ is: 'refused', problem: await problemOf(response) })
    const link = document.createElement('a')
    link.href = URL.createObjectURL(await response.blob())
    link.download = `${id}.ndjson`
    link.click()
    URL.revokeObjectURL(link.href)
  }

  return (
    <section aria-labelledby="in-browser">
      <h2 id="in-browser">In this browser</h2>
      <div className="row">
        {session_id !== undefined && (
          <>
            <button
              type="button"
              className="primary"
              disabled={state.is === 'busy'}
              onClick={() => void fetchBundle(session_id)}
            >
              Verify in my browser
            </button>
            <button type="button" onClick={() => void download(session_id)}>
              Download the bundle
            </button>
          </>
        )}
        <label>
          Verify a bundle from a file
          <input
            type="file"
            accept=".ndjson,.jsonl,application/x-ndjson"
            onChange={({ target }) => {
              const file = target.files?.[0]
              if (file !== undefined) void check(file.stream(), file.name)
            }}
          />
        </label>
      </div>
      {state.is === 'busy' && <p role="status">Verifying: {count(state.events)} lines so far.</p>}
      {state.is === 'refused' && <Trouble problem={state.problem} />}
      {state.is === 'done' && <Verdict {...state} />}
    </section>
  )
}

function Verdict({ verdict, source }: { verdict: BundleVerdict; source: string }) {
  const { session_id, events, checkpoint, bad, format, redactions } = verdict
  if (bad !== undefined)
    return <BadEvent session_id={session_id} {...bad} proved={Math.min(events, Math.max(0, bad.event_id - 1))} />
  return (
    <>
      <p className="verdict is-good" role="status">
        ✓ {plural(events, 'event')} of {session_id} verified from {source}: the chain is intact
        {checkpoint !== undefined && (
          <>
            {' '}
            and signed by key <code title={checkpoint.public_key}>{checkpoint.public_key.slice(0, 12)}</code> at{' '}
            <At at={checkpoint.at} />
          </>
        )}
        .
      </p>
      {format === 1 && (
        <p>It was exported by 0.1, which signed neither redactions nor the list of machines. They prove nothing.</p>
      )}
      <Redactions redactions={redactions} />
    </>
  )
}
