import { faults } from '../../faults/catalogue.ts'
import { approve } from '../../surface/operations/inbox.ts'
import type { InteractionCard } from '../../wire/interaction.ts'
import { answering, answeringOptions, keyed, signed } from '../answering.ts'
import type { Arguments, Command } from '../command.ts'
import type { Io } from '../host.ts'
import { card, isIrreversible } from '../render/card.ts'
import { paintFor } from '../render/paint.ts'
import { badUsage } from '../usage.ts'

export const approveCommand: Command = {
  name: 'approve',
  usage: 'statewright approve ID [--yes [--digest DIGEST]]',
  summary: 'Let an action be carried out: exactly the one that is shown. What cannot be undone needs its digest typed.',
  options: {
    yes: { type: 'boolean', short: 'y', summary: 'do not ask; for what cannot be undone, only with --digest' },
    digest: { type: 'string', summary: 'the whole digest of what you have seen; anything else is refused' },
    ...answeringOptions,
  },

  run(args, io) {
    return answering(this, args, io, { done: 'approved' }, async (client, asked) => {
      if (asked.interaction_kind !== 'approval')
        throw badUsage(this, `${asked.interaction_id} is a ${asked.interaction_kind}, not an approval.`)
      const digest = await confirmed(this, asked, args, io)
      if (digest === undefined) return undefined
      const { interaction_id } = asked
      return client.call(approve, { params: { interaction_id }, body: { ...digest, ...signed(args) }, ...keyed(args) })
    })
  },
}

/** A refusal does not show the digest: it would let anyone approve unseen. */
const lookAgain = ({ interaction_id }: InteractionCard) => `Read it with "statewright inbox ${interaction_id}".`

/** The digest of what is approved, once it is certain that it was seen; undefined if it is not approved after all. */
async function confirmed(
  command: Command,
  asked: InteractionCard,
  { values }: Arguments,
  io: Io,
): Promise<{ digest?: string } | undefined> {
  const { digest, interaction_id } = asked
  const given = values.digest as string | undefined
  if (given !== undefined && given !== digest)
    throw faults.reply_unfit({
      interaction_id,
      problems: [{ pointer: '/digest', problem: `It is not the digest of this question. ${lookAgain(asked)}` }],
    })
  const seen = digest === null ? {} : { digest }
  const needsProof = isIrreversible(asked) && digest !== null
  if (values.yes) {
    if (!needsProof || given !== undefined) return seen
    throw badUsage(command, `It cannot be undone: give its digest too, --yes --digest DIGEST. ${lookAgain(asked)}`)
  }
  if (!io.terminal.isInteractive)
    throw badUsage(
      command,
      `No one can be asked here: say --yes${needsProof ? ' --digest DIGEST' : ''}. ${lookAgain(asked)}`,
    )
  for (const line of card(asked, io.host.now(), paintFor(io.terminal.hasColor))) io.err(line)
  const proof = needsProof ? digest.slice(0, 4) : 'y'
  const typed = (await io.terminal.ask(`Type ${proof} to approve: `))?.trim().toLowerCase()
  return typed === proof || (needsProof && typed === digest) ? seen : undefined
}
