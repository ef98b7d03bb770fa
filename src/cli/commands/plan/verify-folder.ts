import type { PlanProblem } from '../../../coordinator/outputs/artifacts.ts'
import { envelopeFile } from '../../../coordinator/outputs/statement.ts'
import { verifyPlan } from '../../../coordinator/outputs/verify.ts'
import { faults } from '../../../faults/catalogue.ts'
import type { Arguments, Command } from '../../command.ts'
import { exits } from '../../exits.ts'
import type { Io } from '../../host.ts'
import { safeJson } from '../../render/safe.ts'
import { take } from '../../with-store.ts'

/** Without the key anyone may have written the signature. */
const said = {
  checked: ', signed',
  not_checked: '; who signed them was not checked, give --key FILE',
  none: '',
}

export async function verifyFolder(command: Command, args: Arguments, { host, out, err }: Io): Promise<number> {
  const [folder = ''] = take(command, args, 1)
  if (!(await host.planning.isFolder(folder))) throw faults.not_found({ what: 'folder', id: folder })
  const { files, strange } = await host.planning.readPlan(folder)
  const key = args.values.key as string | undefined
  const check = key === undefined ? undefined : await host.planning.readPublicKey(key)
  const problems: readonly PlanProblem[] = [
    ...strange.map((file) => ({ file, check: 'checksum' as const, message: 'It is not a file of text.' })),
    ...verifyPlan(files, host, check),
  ]
  const is_sound = problems.length === 0
  const signature = key !== undefined ? 'checked' : envelopeFile in files ? 'not_checked' : 'none'
  if (args.values.json === true) out(safeJson({ is_sound, files: Object.keys(files).length, signature, problems }))
  else if (is_sound) out(`${folder}: ${Object.keys(files).length} files verified${said[signature]}.`)
  else for (const { file, check: kind, message } of problems) err(`${file} (${kind}): ${message}`)
  return is_sound ? exits.ok : exits.unproved
}
