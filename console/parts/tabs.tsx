import { amend } from '../route.ts'
import { useKeys } from './keys.tsx'

/** Views of one thing. Which one is open stands in the address. */
export function Tabs({
  name,
  tabs,
  open,
}: {
  name: string
  tabs: readonly (readonly [string, string])[]
  open: string
}) {
  const first = tabs[0]?.[0]
  const show = (tab: string) => amend({ tab: tab === first ? null : tab })
  useKeys(
    Object.fromEntries(
      tabs.map(([tab, label], i) => [String(i + 1), { says: `show ${label.toLowerCase()}`, does: () => show(tab) }]),
    ),
  )
  return (
    <div className="tabs" role="tablist" aria-label={name}>
      {tabs.map(([tab, label], i) => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={`tab-${tab}`}
          aria-selected={tab === open}
          aria-controls="tab-panel"
          title={`${label} (${i + 1})`}
          onClick={() => show(tab)}
        >
          {label}
        </button>
      ))}
    </div>
  )
}
