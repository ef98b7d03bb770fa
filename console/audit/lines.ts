/** The lines of a text that arrives in pieces. */
export async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = ''
  for await (const chunk of body.pipeThrough(
    new TextDecoderStream('utf-8', { ignoreBOM: true }) as ReadableWritablePair<string, Uint8Array>,
  )) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}
