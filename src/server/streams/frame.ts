/** What a reader of an event stream gets: text in the format of the HTML standard. */
export function frame(type: string, data: object, id?: number): string {
  const end = id === undefined ? '' : `id: ${id}\n`
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n${end}\n`
}

/**
 * Keeps the connection open without an event. It moves the cursor of the reader
 * past runes that have no events for it, so that a resumed stream skips them.
 */
export function heartbeat(id: number): string {
  return `: still here\nid: ${id}\n\n`
}
