const place = 'statewright.theme'

export type Theme = 'system' | 'light' | 'dark'

export function theme(): Theme {
  const kept = localStorage.getItem(place)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export function applyTheme(chosen: Theme = theme()): void {
  localStorage.setItem(place, chosen)
  if (chosen === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
}
