import type { ProviderModel } from '../../runtime/model.ts'

/**
 * What a provider's package says about a key that it cannot find, so that a
 * missing key is refused at start and not at the first message. Packages look
 * for the key when they make the headers of a request. Where that cannot be
 * asked without effects, nothing is asked, and the first request tells.
 */
export function keyProblem(model: ProviderModel): string | undefined {
  const { config } = Object(model)
  const headers = Object(config).headers
  if (typeof headers !== 'function' || headers.constructor.name === 'AsyncFunction') return undefined
  try {
    headers.call(config)?.then?.(undefined, () => {})
    return undefined
  } catch (error) {
    const { name, message } = Object(error)
    return name === 'AI_LoadAPIKeyError' || name === 'AI_LoadSettingError' ? String(message) : undefined
  }
}
