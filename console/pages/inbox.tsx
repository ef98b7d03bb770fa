import { useEffect } from 'react'
import type { InboxItem } from '../../src/wire/interaction.ts'
import { InteractionCard, kindNames } from '../inbox/card.tsx'
import { refreshInbox, useLive } from '../live.ts'
import { CopyCommand } from '../parts/copy.tsx'
import { useKeys } from '../parts/keys.tsx'
import { Link } from '../parts/link.tsx'
import { Empty } from '../parts/states.tsx'
import { Left, Since } from '../parts/time.tsx'
import { go } from '../route.ts'

/** The open questions of all sessions. An answered one stays until the person moves on. */
export function InboxPage({ only }: { only?: string }) {
  const { inbox } = useLive()
  useEffect(() => refreshInbox(0), [])
  const chosen = only ?? inbox[0]?.interaction_id
  const place = inbox.findIndex((item) => item.interaction_id === chosen)
  const step = (by: number) => {
    const next = inbox[Math.max(0, Math.min(inbox.length - 1, place + by))]
    if (next !== undefined) go(`/inbox/${next.interaction_id}`)
  }
  useKeys({
    j: { says: 'next question', does: () => step(1) },
    k: { says: 'previous question', does: () => step(-1) },
    r: {
      says: 'write an answer',
      does: () => document.querySelector<HTMLElement>('.card input, .card textarea, .card select')?.focus(),
    },
  })
  // The address names what is shown, so that it stays when the list moves on.
  const first = inbox[0]?.interaction_id
  useEffect(() => {
    if (only === undefined && first !== undefined) go(`/inbox/${first}`, 'instead')
  }, [only, first])
  return (
    <>
      <div className="head">
        <h1>Inbox</h1>
        <CopyCommand command="statewright inbox" />
      </div>
      {inbox.length === 0 && (
        <Empty title="Nothing needs you.">
          <p>When an agent asks for something, it appears here, in the title of this tab, and in the terminal.</p>
        </Empty>
      )}
      <div className="split is-inbox">
        {inbox.length > 0 && (
          <nav aria-label="Waiting">
            <ol className="inbox-list">
              {inbox.map((item) => (
                <InboxRow key={item.interaction_id} item={item} isChosen={item.interaction_id === chosen} />
              ))}
            </ol>
          </nav>
        )}
        {chosen !== undefined && (
          <InteractionCard
            key={chosen}
            interaction_id={chosen}
            version={place >= 0}
            isSelected
            onClosed={() => refreshInbox(0)}
          />
        )}
      </div>
    </>
  )
}

function InboxRow({ item, isChosen }: { item: InboxItem; isChosen: boolean }) {
  const { interaction_id, interaction_kind, prompt, title, session_id, opened_at, deadline } = item
  return (
    <li className={isChosen ? 'is-chosen' : ''}>
      <Link href={`/inbox/${interaction_id}`} aria-current={isChosen ? 'true' : undefined}>
        <span className="chip">{kindNames[interaction_kind]}</span>
        <span className="inbox-prompt">{prompt}</span>
        <span className="faint">
          {title ?? session_id} · <Since at={opened_at} ago />
          {deadline !== null && (
            <>
              {' · '}
              <Left until={deadline} /> left
            </>
          )}
        </span>
      </Link>
    </li>
  )
}
