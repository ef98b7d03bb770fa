import { printable as escaped } from '../../src/kernel/printable.ts'

/** A page may show tabs; a terminal may not. */
const printable = (text: string) => text.split('\t').map(escaped).join('\t')

/** Attributes that people read. A `value`, which is typed or sent back, stays as it is. */
const shown = ['title', 'placeholder', 'alt', 'aria-label', 'aria-description', 'label'] as const

/** The properties of an element with its texts escaped; those of a component are left to the elements it makes. */
export function escapedProps<P>(type: unknown, props: P): P {
  if (typeof type !== 'string' || typeof props !== 'object' || props === null) return props
  const changed: Record<string, unknown> = {}
  const given = props as Record<string, unknown>
  if ('children' in given) {
    const children = escapedChild(given.children)
    if (children !== given.children) changed.children = children
  }
  for (const name of shown) {
    const text = given[name]
    if (typeof text === 'string' && printable(text) !== text) changed[name] = printable(text)
  }
  return Object.keys(changed).length === 0 ? props : { ...props, ...changed }
}

function escapedChild(child: unknown): unknown {
  if (typeof child === 'string') return printable(child)
  if (!Array.isArray(child)) return child
  return child.some((one) => typeof one === 'string' && printable(one) !== one)
    ? child.map((one) => (typeof one === 'string' ? printable(one) : one))
    : child
}
