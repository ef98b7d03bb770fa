/** The compiler leaves the output of deleted sources behind; the package must not contain it. */
import { rmSync } from 'node:fs'

rmSync('dist', { recursive: true, force: true })
