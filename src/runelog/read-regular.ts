import { constants } from 'node:fs'
import { open } from 'node:fs/promises'

/** The bytes of a regular file. A pipe or a device would never end, and is refused before anything is read from it. */
export async function readRegular(path: string): Promise<Buffer> {
  // Without waiting: to open a pipe without a writer would take for ever.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) throw new Error('it is not a regular file')
    return await file.readFile()
  } finally {
    await file.close()
  }
}
