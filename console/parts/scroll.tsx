import type { ComponentProps } from 'react'

/** A part of the page that scrolls by itself. It has a name and keyboard access. */
export function Scroll({ name, ...rest }: ComponentProps<'section'> & { readonly name: string }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: see above.
  return <section aria-label={name} tabIndex={0} {...rest} />
}
