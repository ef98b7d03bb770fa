import { InteractionCard } from '../inbox/card.tsx'
import type { SessionLog } from './log.ts'

/** The open questions of this session, at the top of the page. */
export function WaitingCards({ log }: { log: SessionLog }) {
  const open = log
    .spine()
    .entries()
    .filter(({ machine }) => machine === 'interaction')
  if (open.length === 0) return null
  return (
    <section className="waiting-cards" aria-label="Waiting for you">
      {open.map(({ subject_id }, i) => (
        <InteractionCard key={subject_id} interaction_id={subject_id} isSelected={i === 0} />
      ))}
    </section>
  )
}
