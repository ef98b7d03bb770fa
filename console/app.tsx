import { type ReactNode, useEffect } from 'react'
import { type ConsoleAddress, consoleAddresses } from '../src/wire/console-addresses.ts'
import { Frame } from './frame.tsx'
import { match } from './match.ts'
import { AuditPage } from './pages/audit.tsx'
import { ContractPage } from './pages/contract.tsx'
import { GoalPage } from './pages/goal.tsx'
import { GoalsPage } from './pages/goals.tsx'
import { InboxPage } from './pages/inbox.tsx'
import { MachinePage } from './pages/machine.tsx'
import { MachinesPage } from './pages/machines.tsx'
import { NotFound } from './pages/not-found.tsx'
import { PlanPage } from './pages/plan.tsx'
import { PlansPage } from './pages/plans.tsx'
import { ReplayPage } from './pages/replay.tsx'
import { SessionPage } from './pages/session.tsx'
import { SessionsPage } from './pages/sessions.tsx'
import { usePlace } from './route.ts'

type Names = Readonly<Record<string, string>>

const pages: { readonly [A in ConsoleAddress]: (names: Names) => ReactNode } = {
  '/': () => <SessionsPage />,
  '/sessions': () => <SessionsPage />,
  '/s/:id': ({ id = '' }) => <SessionPage key={id} session_id={id} />,
  '/s/:id/replay': ({ id = '' }) => <ReplayPage key={id} session_id={id} />,
  '/inbox': () => <InboxPage />,
  '/inbox/:id': ({ id = '' }) => <InboxPage only={id} />,
  '/c/:id': ({ id = '' }) => <ContractPage key={id} execution_id={id} />,
  '/p': () => <PlansPage />,
  '/p/:id': ({ id = '' }) => <PlanPage key={id} coordination_id={id} />,
  '/goals': () => <GoalsPage />,
  '/g/:id': ({ id = '' }) => <GoalPage key={id} goal_id={id} />,
  '/machines': () => <MachinesPage />,
  '/machines/:name': ({ name = '' }) => <MachinePage key={name} name={name} />,
  '/audit': () => <AuditPage />,
  '/audit/:id': ({ id = '' }) => <AuditPage key={id} session_id={id} />,
}

/** The page for the current address, in its frame. */
export function App() {
  const { path } = usePlace()
  // Show a new page from its top.
  useEffect(() => void scrollTo(0, 0), [path])
  for (const address of consoleAddresses) {
    const names = match(address, path)
    if (names !== undefined) return <Frame>{pages[address](names)}</Frame>
  }
  return (
    <Frame>
      <NotFound what={path} />
    </Frame>
  )
}
