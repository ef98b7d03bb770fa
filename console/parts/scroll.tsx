import type { ComponentProps } from 'react'

/** A part of the page that scrolls by itself. It has a name and can be reached by keyboard, or half of it would be lost to some. */
export function Scroll({ name, ...rest }: ComponentProps<'section'> & { readonly name: string }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: see above.
  return <section aria-label={name} tabIndex={0} {...rest} />
}
