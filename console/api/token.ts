const place = 'statewright.token'

/**
 * The token comes in the fragment of the link that the server prints: it never
 * reaches a server log. It is kept for this tab only and taken out of the
 * address at once, so that a copied link gives nothing away.
 */
export function takeToken(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get('token')
  if (given === null) return
  sessionStorage.setItem(place, given)
  history.replaceState(history.state, '', location.pathname + location.search)
}

export const keepToken = (token: string) => sessionStorage.setItem(place, token)

export const token = () => sessionStorage.getItem(place)
