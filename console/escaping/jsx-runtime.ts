import { Fragment, jsx as reactJsx, jsxs as reactJsxs } from 'react/jsx-runtime'
import { escapedProps } from './escaped-props.ts'

export type { JSX } from 'react/jsx-runtime'
export { Fragment }

/**
 * React's own, but for one thing: what an element shows has characters that cannot be seen, or that turn text around,
 * written as escapes. Every text of every page passes through here, so none can be forgotten.
 */
export const jsx: typeof reactJsx = (type, props, key) => reactJsx(type, escapedProps(type, props), key)
/** `jsx` for several children. */
export const jsxs: typeof reactJsxs = (type, props, key) => reactJsxs(type, escapedProps(type, props), key)
