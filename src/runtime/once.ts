import type { SessionState } from '../observation/session-state.ts'
import type { Sessions } from './session-cache.ts'

/**
 * The first answer that `look` has about a session: at once, or when something new was folded into it. It unsubscribes
 * when the answer is there, when the session cannot be read, or when the signal fires.
 */
export async function once<T>(
  sessions: Pick<Sessions, 'load' | 'listen'>,
  session_id: string,
  look: (state: SessionState) => T | undefined,
  signal?: AbortSignal,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const lookNow = async () => {
    try {
      const seen = look(await sessions.load(session_id))
      if (seen !== undefined) resolve(seen)
    } catch (error) {
      reject(error)
    }
  }
  const leave = () => reject(signal?.reason)
  const deaf = sessions.listen(session_id, () => void lookNow())
  signal?.addEventListener('abort', leave, { once: true })
  // What is there already is seen also by someone who may not wait.
  void lookNow().then(() => signal?.aborted && leave())
  try {
    return await promise
  } finally {
    deaf()
    signal?.removeEventListener('abort', leave)
  }
}
