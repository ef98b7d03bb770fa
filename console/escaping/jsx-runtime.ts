import { Fragment, jsx as reactJsx, jsxs as reactJsxs } from 'react/jsx-runtime'
import { escapedProps } from './escaped-props.ts'

export type { JSX } from 'react/jsx-runtime'
export { Fragment }

/**
 * As React's own, but escapes characters that cannot be seen or that turn text around. Every text of every page passes
 * through here, so none can be forgotten.
 */
export const jsx: typeof reactJsx = (type, props, key) => reactJsx(type, escapedProps(type, props), key)
/** `jsx` for several children. */
export const jsxs: typeof reactJsxs = (type, props, key) => reactJsxs(type, escapedProps(type, props), key)
