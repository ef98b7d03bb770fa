const problems: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of it is not a folder',
  EISDIR: 'it is a folder',
  ELOOP: 'its links lead back to themselves',
  ENAMETOOLONG: 'its name is too long',
  EACCES: 'its permissions do not allow it',
  EPERM: 'its permissions do not allow it',
  ENOSPC: 'the disk is full',
}

/**
 * Does work on a path that a model named. Errors of the system name real paths of this machine, so the model is told
 * the path that it named, and what is wrong with it.
 */
export async function reaching<T>(given: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (code === undefined || syscall === undefined) throw error
    throw new Error(`${given} cannot be used: ${problems[code] ?? `the system refuses it (${code})`}.`)
  }
}
