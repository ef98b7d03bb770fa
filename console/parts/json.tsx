import type { Json } from '../../src/kernel/json.ts'
import { Copy } from './copy.tsx'
import { Scroll } from './scroll.tsx'

/** A value as it is, complete: long ones scroll, nothing is cut. */
export function JsonBlock({ value, name }: { value: unknown; name: string }) {
  const text = JSON.stringify(value ?? null, null, 2)
  return (
    <div className="json">
      <Scroll name={name}>
        <pre>{text}</pre>
      </Scroll>
      <Copy text={text} label="copy" title={`Copy ${name}`} />
    </div>
  )
}

/** The beginning of a value on one line. */
export function brief(value: Json | undefined, limit = 120): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  return text.length <= limit ? text : `${text.slice(0, limit)}…`
}
