import { type FormEvent, useState } from 'react'
import { InBrowser } from '../audit/in-browser.tsx'
import { OnServer } from '../audit/on-server.tsx'
import { CopyCommand } from '../parts/copy.tsx'
import { go } from '../route.ts'

/** Whether the record is complete and unaltered, up to which event, and by whose check. */
export function AuditPage({ session_id }: { session_id?: string }) {
  const [id, setId] = useState('')
  const open = (event: FormEvent) => {
    event.preventDefault()
    if (id.trim() !== '') go(`/audit/${id.trim()}`)
  }
  return (
    <>
      <div className="head">
        <h1>Audit{session_id === undefined ? '' : ` of ${session_id}`}</h1>
        <CopyCommand
          command={
            session_id === undefined ? 'statewright verify --bundle bundle.ndjson' : `statewright verify ${session_id}`
          }
        />
      </div>
      {session_id === undefined ? (
        <form className="row" onSubmit={open}>
          <label className="grow">
            Session to verify
            <input value={id} placeholder="ses_…" onChange={({ target }) => setId(target.value)} />
          </label>
          <button type="submit">Open</button>
        </form>
      ) : (
        <OnServer session_id={session_id} />
      )}
      <InBrowser session_id={session_id} />
      <section className="fine-print">
        <h2>What this does not prove</h2>
        <p>
          With both the signing key and the disk, everything could be rewritten after the last checkpoint that is kept
          elsewhere. Keep checkpoints and bundles where the server cannot reach them; then a rewritten past shows.
        </p>
      </section>
    </>
  )
}
