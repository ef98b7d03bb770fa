import { asText } from '../../src/observation/contract.ts'
import { exactSpan } from '../../src/observation/durations.ts'
import { brief, JsonBlock } from '../parts/json.tsx'
import { Link } from '../parts/link.tsx'
import { Mark } from '../parts/mark.tsx'
import { At } from '../parts/time.tsx'
import { looks } from '../tones.ts'
import type { Entry, ToolEntry } from './transcript.ts'

interface Shown {
  readonly entry: Entry
  readonly isChosen: boolean
  readonly select: (event_id: number) => void
}

/** One entry of a transcript. Output of agents and tools is text, never markup. */
export function EntryView({ entry, isChosen, select }: Shown) {
  const className = `entry is-${entry.type}${isChosen ? ' is-chosen' : ''}`
  const where = (
    <button type="button" className="where" onClick={() => select(entry.event_id)} title={`Event ${entry.event_id}`}>
      <At at={entry.at} />
      <span className="unseen"> event {entry.event_id}</span>
    </button>
  )
  switch (entry.type) {
    case 'user':
      return (
        <div className={className}>
          <span className="who">you</span>
          <div className="said">{asText(entry.content)}</div>
          {where}
        </div>
      )
    case 'assistant':
      return (
        <div className={className}>
          <span className="who">agent</span>
          <div className="said">
            {entry.text}
            {entry.isPartial && <span className="chip">cut short</span>}
          </div>
          {where}
        </div>
      )
    case 'line':
      return (
        <div className={`${className} is-${entry.tone}`}>
          <span className="said">{entry.text}</span>
          {where}
        </div>
      )
    case 'tool':
      return (
        <div className={className}>
          <ToolCard entry={entry} />
          {where}
        </div>
      )
  }
}

function ToolCard({ entry }: { entry: ToolEntry }) {
  const { name, summary, tool, contract, isUnknown, irreversible, execution_id, at, ended_at, result, error } = entry
  return (
    <details className="tool" open={entry.error !== null || isUnknown}>
      <summary>
        {tool === null || isUnknown ? (
          <Mark machine="contract" state={contract ?? 'pending'} look={isUnknown ? 'unknown' : undefined} />
        ) : (
          <Mark machine="tool" state={tool} />
        )}
        <strong>{name}</strong>
        <span className="one-line">{error ?? (result === null ? summaryOf(entry, summary) : brief(result, 100))}</span>
        {ended_at !== null && <span className="faint number">{exactSpan(ended_at - at)}</span>}
        {irreversible && <span className="chip">irreversible</span>}
      </summary>
      <JsonBlock value={entry.arguments} name="arguments" />
      {result !== null && <JsonBlock value={result} name="result" />}
      {error !== null && <p className="wrong">{error}</p>}
      {execution_id !== null && <Link href={`/c/${execution_id}`}>Open the contract</Link>}
    </details>
  )
}

function summaryOf({ isAsking, arguments: args }: ToolEntry, summary: string): string {
  if (isAsking) return `${looks.waiting.meaning}: ${summary}`
  return summary === '' ? brief(args, 100) : summary
}
