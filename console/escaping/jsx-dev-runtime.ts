import { Fragment, jsxDEV as reactJsxDEV } from 'react/jsx-dev-runtime'
import { escapedProps } from './escaped-props.ts'

export type { JSX } from 'react/jsx-runtime'
export { Fragment }

/** As in `jsx-runtime`, for the development server. */
export const jsxDEV: typeof reactJsxDEV = (type, props, ...rest) =>
  reactJsxDEV(type, escapedProps(type, props), ...rest)
