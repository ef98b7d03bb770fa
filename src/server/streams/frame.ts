/** What a reader of an event stream gets: text in the format of the HTML standard. */
export function frame(type: string, data: object, id?: number): string {
  const end = id === undefined ? '' : `id: ${id}\n`
  return `event: ${type}\ndata: ${JSON.stringify(data)}\n${end}\n`
}

/**
 * Says that the line is up, and comes to nobody as an event. It moves the
 * reader's cursor on: what lies between is not for him, and if he is cut off he
 * need not go over it again.
 */
export function heartbeat(id: number): string {
  return `: still here\nid: ${id}\n\n`
}
