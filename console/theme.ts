const place = 'statewright.theme'

/** The choices of colours. */
export const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

/** The kept theme. */
export function theme(): Theme {
  const kept = localStorage.getItem(place)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

/** Applies a theme and keeps it. */
export function applyTheme(chosen: Theme = theme()): void {
  localStorage.setItem(place, chosen)
  if (chosen === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
}
