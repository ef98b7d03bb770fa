/** The longest message that is taken from a server over HTTP; a local server has the same limit in its library. */
export const longestMessage = 10 * 1024 * 1024

/**
 * `fetch`, with a limit on each message of the answer. A stream of events may go on for days, so its limit counts from
 * one event to the next; any other answer is one message.
 */
export async function boundedFetch(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await withinOrigin(...request)
  if (response.body === null) return response
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const limited = response.body.pipeThrough(limiting(isStream))
  const { status, statusText, headers } = response
  return Object.defineProperty(new Response(limited, { status, statusText, headers }), 'url', { value: response.url })
}

/** How often a server may send a request on to another path of its own. */
const redirects = 5

/**
 * The configured headers hold secrets for this server alone, and \`fetch\` would
 * take them along to wherever the server sends it.
 */
async function withinOrigin(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
  let url = new URL(input instanceof Request ? input.url : input)
  for (let left = redirects; ; left--) {
    const response = await fetch(url, { ...init, redirect: 'manual' })
    const to = response.headers.get('location')
    if (response.status < 300 || response.status >= 400 || to === null) return response
    await response.body?.cancel()
    const next = new URL(to, url)
    if (next.origin !== url.origin) throw new Error(`it sends requests on to ${next.origin}, which is not configured`)
    if (left === 0) throw new Error(`it sends requests on more than ${redirects} times`)
    url = next
  }
}

function limiting(isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let length = 0
  let last = 0
  return new TransformStream({
    transform(piece, controller) {
      for (const byte of isStream ? piece : []) {
        // An empty line ends an event.
        length = byte === 10 && last === 10 ? 0 : length + 1
        if (byte !== 13) last = byte
        if (length > longestMessage) break
      }
      if (!isStream) length += piece.length
      if (length > longestMessage) controller.error(new Error(`a message has more than ${longestMessage} bytes`))
      else controller.enqueue(piece)
    },
  })
}
