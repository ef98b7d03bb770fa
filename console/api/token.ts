const place = 'statewright.token'

/**
 * The token comes in the fragment of the link that the server prints: it never reaches a server log. It is kept for
 * this tab only and taken out of the address at once, so that a copied link gives nothing away.
 */
export function takeToken(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get('token')
  if (given === null) return
  sessionStorage.setItem(place, given)
  history.replaceState(history.state, '', location.pathname + location.search)
}

const channel = new BroadcastChannel('statewright')

/** A tab that was opened from another one asks it for the token: both are of the same origin, and nothing leaves the browser. */
export function askOtherTabs(within_ms = 150): Promise<void> {
  channel.addEventListener('message', ({ data }) => {
    const known = token()
    if (data === 'who has a token?' && known !== null) channel.postMessage({ token: known })
  })
  if (token() !== null) return Promise.resolve()
  return new Promise((resolve) => {
    channel.addEventListener('message', ({ data }: MessageEvent<{ token?: string }>) => {
      if (token() === null && typeof data.token === 'string') keepToken(data.token)
      if (token() !== null) resolve()
    })
    channel.postMessage('who has a token?')
    setTimeout(resolve, within_ms)
  })
}

/** Keeps the token for this tab. */
export const keepToken = (token: string) => sessionStorage.setItem(place, token)

/** The kept token; null if there is none. */
export const token = () => sessionStorage.getItem(place)
